"""Who stands in line for a lock is told what for, and who has it."""

from __future__ import annotations

from collections.abc import Callable

import click

from steadhold.kit.legible import legible


def teller(name: str) -> Callable[[str | None], None]:
    """What tells that a lock is waited for, once, and again where somebody else has it."""

    def tell(holder: str | None) -> None:
        who = "it goes to whoever waits for it first" if holder is None else f"{legible(holder)} holds it"
        click.echo(f"Waiting for the lock {name}: {who}. Ctrl-C ends the waiting.", err=True)

    return tell
