"""What only somebody at the database can do: the first operator's key, and workspaces without one."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from steadhold import access
from steadhold.cli.database import played, reached, reaching, settings
from steadhold.cli.exits import CONFLICT, USAGE, Said
from steadhold.kit import ids

PAGE: Final = 1_000


def operator_key(at: dict[str, Any], subject: str) -> dict[str, Any]:
    """Make an operator's key at the database that options name."""
    token = _fresh()
    call = access.import_key.call(
        access.HOUSE, token.key_id, token.hash, env="live", subject=subject, kind="operator", scopes=("*:*",)
    )
    _at(at, call)
    return {"key_id": token.key_id, "subject": subject, "kind": "operator", "scopes": ["*:*"], "key": token.text}


def new_workspace(at: dict[str, Any], name: str, subject: str) -> dict[str, Any]:
    """Create a workspace at the database that options name, with the key of its first person."""
    if (fault := access.workspace_fault(name)) is not None:
        raise Said(f"{name!r} names no workspace: {fault}", USAGE)
    token = _fresh()
    call = access.create_workspace.call(
        name, token.key_id, token.hash, subject=subject, by=access.Actor("operator", None)
    )  # fmt: skip
    if isinstance(_at(at, call)[0], access.Taken):
        next = "`steadhold workspaces ls` lists those that there are, with the same options."
        raise Said(f"There is a workspace {name!r} already. [workspace_exists]", CONFLICT, next=next)
    return {"workspace": name, "key_id": token.key_id, "subject": subject, "kind": "person", "key": token.text}


def all_workspaces(at: dict[str, Any]) -> list[access.Workspace]:
    """Every workspace of the database that options name."""
    found: list[access.Workspace] = []
    while True:
        after = found[-1].name if found else ""
        page = cast("list[access.Workspace]", _at(at, access.workspaces.call(access.HOUSE, after, PAGE))[0])
        found += page
        if len(page) < PAGE:
            return found


def _fresh() -> access.Token:
    return access.Token("live", access.key_id_of(ids.new_id()), access.secret_of(ids.new_secret()))


def _at(at: dict[str, Any], *calls: Any) -> list[Any]:
    flags = {name: value for name, value in at.items() if name != "config"}
    with reaching(), reached(settings(flags, at["config"])) as dsn:
        return asyncio.run(played(dsn, *calls))
