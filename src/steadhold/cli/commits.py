"""`steadhold commit`: several changes, all or nothing, as one JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from steadhold.cli.connect import changes, named
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@named
@printed
@changes
def commit(client: Client, file: str, operation_id: str | None, out: Out) -> None:
    """Make all changes of FILE, if all that it requires is true; or none. `-` reads standard input.

    FILE is `{"require": [...], "apply": [...]}`, as the guide of commits tells (/docs/commits of a server); its bytes
    are sent as they are. One line for each item says what it came to. A refusal says in its brackets which item it is
    about.
    """
    raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    done = client.commits.run(raw, operation_id=operation_id)
    items = [
        {"list": part, "index": index, **msgspec.structs.asdict(item), "result": item.result or msgspec.Raw(b"null")}
        for part, items in (("require", done.require), ("apply", done.apply))
        for index, item in enumerate(items)
    ]
    out.many(items, ("list", "index", "op", "status", "revision", "result"))
