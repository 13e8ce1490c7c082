"""`steadhold locks`: who holds what, and taking, renewing and releasing it by hand."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import msgspec

from steadhold.cli.amounts import FENCE, Measure, limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.naming import an_id
from steadhold.cli.show import Out, printed
from steadhold.cli.standing import teller

if TYPE_CHECKING:
    from steadhold.sdk.client import Client

SECONDS = Measure(min=1)


@click.group()
def locks() -> None:
    """Locks expire, and their fences only rise: whatever is written under an old one is refused."""


@locks.command()
@click.argument("prefix", default="")
@limited()
@printed
@asks
def ls(client: Client, prefix: str, limit: int | None, out: Out) -> None:
    """List locks whose names begin with PREFIX."""
    out.many(islice(client.locks.list(prefix), limit), ("name", "held", "owner", "fence", "waiting", "expires_at"))


@locks.command()
@click.argument("name")
@printed
@asks
def show(client: Client, name: str, out: Out) -> None:
    """Show who holds NAME, and how many wait for it."""
    out.one(client.locks.get(name))


@locks.command()
@click.argument("name", type=an_id)
@click.option("--owner", metavar="ID", help="In whose name. [default: this machine and process]")
@click.option("--ttl", type=SECONDS, default=30.0, show_default=True, metavar="SECONDS", help="How long.")
@click.option("--wait", type=Measure(min=0, max=30), default=0.0, metavar="SECONDS", help="Stand in line so long.")
@named
@printed
@changes
def acquire(
    client: Client, name: str, owner: str | None, ttl: float, wait: float, operation_id: str | None, out: Out
) -> None:
    """Take NAME, and print the fence. Nobody renews it: `steadhold lock run` does.

    Under an --idempotency-key it is one grant, for one owner: whoever asks again in another process says --owner, too.
    """
    grant = client.locks.acquire(
        name, owner=owner, ttl=ttl, wait_seconds=wait, on_wait=teller(name), operation_id=operation_id
    )
    told: dict[str, Any] = msgspec.structs.asdict(grant)
    del told["relied_until"]  # on a clock that means nothing to others
    out.one(told)


@locks.command()
@click.argument("name")
@click.argument("fence", type=FENCE)
@click.option("--ttl", type=SECONDS, default=30.0, show_default=True, metavar="SECONDS", help="How long from now.")
@printed
@changes
def renew(client: Client, name: str, fence: int, ttl: float, out: Out) -> None:
    """Hold NAME, taken under FENCE, for longer."""
    out.one(client.locks.renew(name, fence, ttl=ttl))


@locks.command()
@click.argument("name")
@click.argument("fence", type=FENCE)
@changes
def release(client: Client, name: str, fence: int) -> None:
    """Give back NAME, taken under FENCE. Saying it again does nothing."""
    client.locks.release(name, fence)
