"""`steadhold keys rewrap`: seal each name under a prefix anew, with the key that seals now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from steadhold.cli.connect import asks
from steadhold.cli.exits import ERROR, Said
from steadhold.cli.private import loaded
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

EVERY = 100


@click.command()
@click.argument("prefix")
@click.option(
    "--keyring", "file", required=True, envvar="STEADHOLD_KEYRING_FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The keyring. [env: STEADHOLD_KEYRING_FILE]",
)  # fmt: skip
@printed
@asks
def rewrap(client: Client, prefix: str, file: Path, out: Out) -> None:
    """Seal each name of state under PREFIX with the primary key of the keyring.

    Names are rewritten one by one under compare-and-swap, so others may go on writing. It can be run again at any time:
    what is sealed with that key already is passed over. A name that cannot be opened is named, and the rest goes on.
    """
    room = client.private(loaded(file)).state
    seen = rewrapped = 0
    refused: list[str] = []
    for name in room.names(prefix):
        seen += 1
        try:
            rewrapped += room.rewrap(name.name)
        except ValueError as why:
            refused.append(name.name)
            click.echo(f"{name.name}: {why}", err=True)
        if seen % EVERY == 0:
            click.echo(f"{seen} names seen, {rewrapped} rewrapped", err=True)
    out.one({"prefix": prefix, "seen": seen, "rewrapped": rewrapped, "refused": refused})
    if refused:
        raise Said(f"{len(refused)} of {seen} names could not be opened with this keyring.", ERROR)
