"""`steadhold context`: files in and out as the bytes they are, and no write without saying what it replaces."""

from __future__ import annotations

import mimetypes
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from steadhold.cli.amounts import Whole, limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.exits import Said, all_taken
from steadhold.cli.naming import a_field, if_match
from steadhold.cli.show import Out, printed, raw
from steadhold.kit.legible import legible

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

INTO = click.option(
    "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", help="Write to FILE, which must not exist."
)
FROM = click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="FILE|-")


@click.group()
def context() -> None:
    """Files of bytes with revisions, inside the workspace's storage: every write names what it replaces."""


@context.command()
@click.argument("prefix", default="")
@limited()
@printed
@asks
def ls(client: Client, prefix: str, limit: int | None, out: Out) -> None:
    """List files under PREFIX. It is made of whole segments; the order is that of the paths' bytes."""
    out.many(islice(client.context.files(prefix), limit), ("path", "revision", "bytes", "content_type", "changed_at"))


@context.command()
@click.argument("path")
@click.option("--revision", type=Whole(min=1), metavar="N", help="An older revision that is still kept.")
@INTO
@asks
def get(client: Client, path: str, revision: int | None, output: str | None) -> None:
    """Write the bytes of PATH to standard output. They are exactly those that were stored, however many."""
    _write(client.context.pieces(path, revision=revision), output)


@context.command()
@click.argument("reference")
@INTO
@asks
def resolve(client: Client, reference: str, output: str | None) -> None:
    """Write the bytes that REFERENCE names. Its revision may be kept only because somebody relies on it."""
    _write([client.context.resolve(reference)], output)


@context.command()
@click.argument("path")
@FROM
@if_match("Replace this revision.")
@click.option("--create", is_flag=True, help="Write a path without a file.")
@click.option(
    "--content-type", type=a_field, metavar="TYPE", help="What the bytes are; else what the name of FILE tells."
)
@named
@printed
@changes
def put(
    client: Client, path: str, file: str, if_revision: int | None, create: bool, content_type: str | None,  # noqa: FBT001
    operation_id: str | None, out: Out,
) -> None:  # fmt: skip
    """Store the bytes of FILE at PATH. `-` reads standard input.

    Either --create or --if-match says what is replaced; exit code 3 tells that somebody else wrote first.
    """
    if create == (if_revision is not None):
        raise click.UsageError("Say what is replaced: --create where there is no file, or --if-match REVISION.")
    kind = content_type or mimetypes.guess_type(file)[0]
    if file != "-":
        out.one(client.context.upload(
            path, file, if_revision=if_revision, content_type=kind or "application/octet-stream",
            operation_id=operation_id,
        ))  # fmt: skip
        return
    out.one(client.context.write(
        path, _read(file), if_revision=if_revision, content_type=kind, operation_id=operation_id
    ))  # fmt: skip


@context.command()
@click.argument("path")
@if_match("Delete this revision.", required=True)
@named
@printed
@changes
def rm(client: Client, path: str, if_revision: int, operation_id: str | None, out: Out) -> None:
    """Delete PATH. The revision that is printed is the deletion's own."""
    out.one({"path": path, "revision": client.context.delete(path, if_revision=if_revision, operation_id=operation_id)})


@context.command()
@click.argument("source")
@click.argument("target")
@if_match("Move this revision.", required=True)
@named
@printed
@changes
def mv(client: Client, source: str, target: str, if_revision: int, operation_id: str | None, out: Out) -> None:
    """Move SOURCE to TARGET, where no file may be. Its id and history stay."""
    out.one(client.context.move(source, target, if_revision=if_revision, operation_id=operation_id))


@context.command()
@click.argument("path")
@printed
@asks
def revisions(client: Client, path: str, out: Out) -> None:
    """List the kept revisions of PATH, the newest first. Each stands under the path it was written under."""
    out.many(client.context.revisions(path), ("revision", "path", "bytes", "written_at", "deleted", "digest"))


@context.command()
@printed
@asks
def usage(client: Client, out: Out) -> None:
    """Print what files use of the workspace's storage."""
    out.one(client.context.usage())


@context.command()
@click.argument("prefix", default="")
@INTO
@asks
def export(client: Client, prefix: str, output: str | None) -> None:
    """Write all files under PREFIX as one archive. Any `tar` reads it."""
    _write(client.context.export_pieces(prefix), output)


@context.command("import")
@FROM
@click.option("--prefix", default="", help="Refuse files that are not under it.")
@printed
@changes
def import_(client: Client, file: str, prefix: str, out: Out) -> None:
    """Write the files of an archive, an outcome each. Those that are there already are left as they are.

    The exit code is 1 where a file was refused, and 3 where one was because a grant of --fence is not current.
    """
    room = client.context
    came = room.import_files(_read(file), prefix=prefix) if file == "-" else room.import_archive(file, prefix=prefix)
    out.many(came.files, ("path", "status", "revision", "code"))
    if came.detail:
        click.echo(legible(came.detail), err=True)
    all_taken([one.code for one in came.files], "files")
    if not came.complete:
        raise click.exceptions.Exit(1)


def _read(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _write(pieces: Iterable[bytes], output: str | None) -> None:
    if output is None:
        raw(pieces)
        return
    path = Path(output)
    with _new(path) as file:
        try:
            file.writelines(pieces)
        except BaseException:  # what is there looks whole, and the name is free for the next try
            path.unlink(missing_ok=True)
            raise


def _new(path: Path) -> IO[bytes]:
    try:
        return path.open("xb")
    except FileExistsError:
        why = f"{path} is there already, and nothing is written over it."
        raise Said(why, next="Remove it, or name another file with -o.") from None
