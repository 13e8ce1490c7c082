"""`steadhold keys rewrap`: seal each name under a prefix anew, with the key that seals now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steadhold.cli.connect import changes
from steadhold.cli.exits import ERROR, Said
from steadhold.cli.private import loaded
from steadhold.cli.show import Out, printed
from steadhold.kit.legible import legible

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.grammar import Sync
    from steadhold.sdk.private import Private

EVERY = 100


@click.command()
@click.argument("prefix")
@click.option(
    "--keyring", "file", required=True, envvar="STEADHOLD_KEYRING_FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The keyring. [env: STEADHOLD_KEYRING_FILE]",
)  # fmt: skip
@click.option("--kind", type=click.Choice(["state", "context"]), default="state", show_default=True)
@printed
@changes
def rewrap(client: Client, prefix: str, file: Path, kind: str, out: Out) -> None:
    """Seal all under PREFIX with the newest key. That is the keyring's primary one; names of state or files of context.

    Names are rewritten one by one under compare-and-swap, so others may go on writing. It can be run again at any time:
    what is sealed with that key already is passed over. A name that cannot be opened, or not be written, is named, and
    the rest goes on.
    """
    from steadhold.sdk.errors import BadAnswer, EnvelopeMismatch, PlaintextRefused, RevisionConflict

    seen = rewrapped = 0
    refused: list[str] = []
    for name, sealed_anew in _names(client.private(loaded(file)), kind, prefix):
        seen += 1
        try:
            rewrapped += sealed_anew()
        except (ValueError, BadAnswer, EnvelopeMismatch, PlaintextRefused, RevisionConflict) as why:
            refused.append(name)
            click.echo(legible(f"{name}: {why}"), err=True)
        if seen % EVERY == 0:
            click.echo(f"{seen} names seen, {rewrapped} rewrapped", err=True)
    out.one({"prefix": prefix, "seen": seen, "rewrapped": rewrapped, "refused": refused})
    if refused:
        raise Said(f"{len(refused)} of {seen} names could not be opened with this keyring, or not be written.", ERROR)


def _names(private: Private[Sync], kind: str, prefix: str) -> Iterator[tuple[str, Callable[[], bool]]]:
    if kind == "context":
        yield from ((one.path, partial(private.context.rewrap, one.path)) for one in private.context.files(prefix))
    else:
        yield from ((one.name, partial(private.state.rewrap, one.name)) for one in private.state.names(prefix))
