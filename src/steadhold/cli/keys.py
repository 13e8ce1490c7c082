"""`steadhold keys`: who may do what in a workspace. A key is shown when it is made, and never again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from steadhold.cli.amounts import Whole
from steadhold.cli.connect import addressed, asks, changes, client, fenced, named, relying
from steadhold.cli.database import NAMES, databased
from steadhold.cli.keys_rewrap import rewrap
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.kit.fields import FenceRef
    from steadhold.sdk.client import Client


@click.group()
def keys() -> None:
    """Keys name a workspace, a subject and its scopes. None can make one that may do more than itself."""


keys.add_command(rewrap)


@keys.command()
@click.argument("subject")
@click.option("--kind", type=click.Choice(["service", "person"]), help="[default: service]")
@click.option("--scope", "scopes", multiple=True, metavar="ROOM:VERB[:PREFIX]", help="Several may be given.")
@click.option("--expires-in-seconds", type=Whole(min=1), metavar="N", help="Default: its maker's expiry.")
@click.option("--operator", is_flag=True, help="Make an operator's key, which makes workspaces: at the database.")
@named
@printed
@databased
@fenced
@addressed
def create(
    subject: str, kind: str | None, scopes: tuple[str, ...], expires_in_seconds: int | None, operator: bool,  # noqa: FBT001
    operation_id: str | None, fences: tuple[FenceRef, ...], out: Out, **where: Any,
) -> None:  # fmt: skip
    """Make a key for SUBJECT and print it, this once.

    With --operator it is made at the database that STEADHOLD_DATABASE_URL or --data-dir names: no key can make it.
    """
    at = {name: where.pop(name) for name in (*NAMES, "config")}
    if operator:
        if kind or scopes or fences or operation_id or expires_in_seconds:
            raise click.UsageError(
                "--operator goes with no kind, scope, expiry, fence or idempotency key: no server is asked."
            )
        from steadhold.cli.operators import operator_key

        out.one(operator_key(at, subject))
        return
    if not scopes:
        raise click.UsageError("Say what it may do, as in --scope state:read --scope 'state:write:orders'.")
    with client(where["url"], where["api_key_file"], where["timeout"], where["workspace"]) as server:
        made = relying(server, fences).keys.create(
            subject, kind or "service", scopes, expires_in_seconds=expires_in_seconds, operation_id=operation_id
        )  # fmt: skip
    out.one(made, if_true=("secret_shown",))


@keys.command()
@printed
@asks
def ls(client: Client, out: Out) -> None:
    """List the keys of the workspace, without their secrets."""
    out.many(client.keys.list(), ("key_id", "subject", "kind", "state", "scopes", "expires_at", "last_used_at"))


@keys.command()
@click.argument("key_id")
@printed
@asks
def show(client: Client, key_id: str, out: Out) -> None:
    """Show a key, without its secret."""
    out.one(client.keys.get(key_id))


@keys.command()
@click.argument("key_id")
@click.option("--grace-seconds", type=Whole(min=0), default=0, show_default=True, metavar="N",
              help="How long the secret before it still serves.")  # fmt: skip
@named
@printed
@changes
def rotate(client: Client, key_id: str, grace_seconds: int, operation_id: str | None, out: Out) -> None:
    """Give a key a new secret and print it, this once."""
    made = client.keys.rotate(key_id, grace_seconds=grace_seconds, operation_id=operation_id)
    out.one(made, if_true=("secret_shown",))


@keys.command()
@click.argument("key_id")
@named
@printed
@changes
def revoke(client: Client, key_id: str, operation_id: str | None, out: Out) -> None:
    """End a key for good, everywhere within seconds."""
    out.one(client.keys.revoke(key_id, operation_id=operation_id))
