"""`steadhold workspaces`: for operators, at the database or by an operator's key."""

from __future__ import annotations

import os
from typing import Any

import click

from steadhold.cli.connect import addressed, client, named
from steadhold.cli.database import NAMES, databased
from steadhold.cli.show import Out, printed


@click.group()
def workspaces() -> None:
    """Create and list workspaces: at the database, or by an operator's key.

    --database-url or --data-dir chooses the database, --url or --api-key-file a server. Without any of them a key in
    STEADHOLD_API_KEY chooses the server, then STEADHOLD_DATABASE_URL the database.
    """


@workspaces.command()
@click.argument("name")
@click.option("--subject", default="owner", show_default=True, help="Whose the first key is.")
@named
@printed
@databased
@addressed
def create(name: str, subject: str, operation_id: str | None, out: Out, **where: Any) -> None:
    """Create a workspace and print its first key. It is shown this once; it is a person's, with every scope."""
    if (at := database(where)) is not None:
        if operation_id is not None:
            raise click.UsageError("--idempotency-key is for a server: at the database none is asked.")
        from steadhold.cli.operators import new_workspace

        out.one(new_workspace(at, name, subject))
        return
    with client(where["url"], where["api_key_file"], where["timeout"], where["workspace"]) as server:
        made = server.workspaces.create(name, subject=subject, operation_id=operation_id)
    out.one(made, if_true=("secret_shown",))


@workspaces.command()
@printed
@databased
@addressed
def ls(out: Out, **where: Any) -> None:
    """List all workspaces."""
    columns = ("name", "created_at")
    if (at := database(where)) is not None:
        from steadhold.cli.operators import all_workspaces

        out.many(all_workspaces(at), columns)
        return
    with client(where["url"], where["api_key_file"], where["timeout"], where["workspace"]) as server:
        out.many(server.workspaces.list(), columns)


def database(where: dict[str, Any]) -> dict[str, Any] | None:
    """The options of the database, where it is chosen; None where a server is."""
    at = {name: where[name] for name in (*NAMES, "config")}
    if any(at.values()):
        return at
    by_key = where["url"] or where["api_key_file"] or os.environ.get("STEADHOLD_API_KEY")
    return None if by_key or not os.environ.get("STEADHOLD_DATABASE_URL") else at
