"""`steadhold private` and `steadhold keyring`: where nothing but envelopes lies, and the keys that open them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from steadhold.cli.connect import asks, changes, named
from steadhold.cli.exits import USAGE, Said
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from collections.abc import Callable

    from steadhold.envelopes import Keyring
    from steadhold.sdk.client import Client

KIND = click.argument("kind", type=click.Choice(["state", "context"]))
CRYPTO = "pip install 'steadhold[crypto]'"


@click.group()
def private() -> None:
    """Prefixes under which the server stores nothing but envelopes, which you seal and it cannot open."""


@private.command()
@KIND
@click.argument("prefix")
@named
@printed
@changes
def make(client: Client, kind: Literal["state", "context"], prefix: str, operation_id: str | None, out: Out) -> None:
    """Make PREFIX private. Exit code 3: names under it hold what can be read."""
    out.one(client.prefixes.make(kind, prefix, operation_id=operation_id))


@private.command()
@KIND
@printed
@asks
def ls(client: Client, kind: Literal["state", "context"], out: Out) -> None:
    """List private prefixes."""
    out.many(client.prefixes.list(kind), ("prefix", "revision", "made_at"))


@private.command()
@KIND
@click.argument("prefix")
@if_match("Lift this revision.", required=True)
@named
@changes
def lift(
    client: Client, kind: Literal["state", "context"], prefix: str, if_revision: int, operation_id: str | None
) -> None:  # fmt: skip
    """Let anything be stored under PREFIX again. What is sealed there stays sealed."""
    client.prefixes.lift(kind, prefix, if_revision=if_revision, operation_id=operation_id)


@click.group()
def keyring() -> None:
    """Files of keys, which never leave this machine. Keep a copy: without its key an envelope is lost."""


def _changed(file: Path, change: Callable[[Keyring], Keyring]) -> Keyring:
    made: Keyring = _module().Keyring.changed(file, change)
    return made


@keyring.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@printed
def new(file: Path, out: Out) -> None:
    """Make a keyring of one new key. FILE must not be there."""
    keys = _module().Keyring.generate()
    try:
        keys.save(file, over=False)
    except FileExistsError:
        why = f"{file} is there already; a keyring is never written over."
        raise Said(why, USAGE, next="`keyring rotate` adds a key.") from None
    out.one(_shown(keys))


@keyring.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@printed
def rotate(file: Path, out: Out) -> None:
    """Seal with a new key from now on; those before it only open. Then `steadhold keys rewrap` each prefix."""
    loaded(file)
    out.one(_shown(_changed(file, lambda keys: keys.rotated())))


@keyring.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("kid")
@printed
def forget(file: Path, kid: str, out: Out) -> None:
    """Leave a key out that opens only. What it sealed, and was not rewrapped, is lost."""
    if loaded(file).key(kid) is None:
        raise Said(f"There is no key {kid} in {file}.", USAGE)
    try:
        left = _changed(file, lambda keys: keys.without(kid))
    except ValueError as wrong:
        raise Said(str(wrong), USAGE) from None
    out.one(_shown(left))


@keyring.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@printed
def show(file: Path, out: Out) -> None:
    """Show the names of the keys, and nothing else of them."""
    out.one(_shown(loaded(file)))


def _shown(keys: Keyring) -> dict[str, Any]:
    return {"primary": keys.primary.kid, "decrypt_only": [key.kid for key in keys.decrypt_only]}


def _module() -> Any:
    try:
        import steadhold.envelopes as module
    except ModuleNotFoundError as absent:
        raise Said(f"This needs {absent.name}.", USAGE, next=f"{CRYPTO}.") from None
    return module


def loaded(file: Path) -> Keyring:
    """The keyring of a file. Raises Said where it is none, or others can read it."""
    try:
        found: Keyring = _module().Keyring.load(file)
    except (ValueError, OSError) as wrong:
        raise Said(str(wrong), USAGE) from None
    return found
