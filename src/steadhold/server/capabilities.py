"""What this server can do and how far: told without a key, so that a client can adapt before it has one."""

from __future__ import annotations

import functools
from importlib import metadata
from typing import Any, Final

import msgspec

from steadhold.db import migrate
from steadhold.db.house import Watch
from steadhold.kit import limits
from steadhold.server import agents, people, rooms
from steadhold.server.retention import ORDERS, RETRIES_SECONDS
from steadhold.server.settings import Retention, Settings
from steadhold.webhooks import guard

VERSION: Final = metadata.version("steadhold")
DOCUMENTS: Final = {"pages": "/docs", "index": "/llms.txt", "openapi": "/openapi.json"}


def capabilities(settings: Settings, watch: Watch) -> dict[str, Any]:
    """Versions, the rooms, where people, agents and readers come in, what is set up, limits, windows, the incarnation.

    `schema` is the newest migration that this program knows; `secrets` says whether webhooks and doors can be made
    here, `sinks` whether events may leave to one, `ports` to which of an address webhooks may lead (null: to any).
    Rooms add what is theirs.
    """
    return {
        "name": "steadhold",
        "version": VERSION,
        "api_versions": ["v1"],
        "rooms": rooms.with_doors(),
        "schema": _schema(),
        "documents": DOCUMENTS,
        "dashboard": people.PATH if settings.dashboard and people.there() else None,
        "mcp": agents.PATH if agents.there() else None,
        "secrets": bool(settings.sealing_key),
        "sinks": bool(settings.sinks),
        "ports": _ports(settings),
        "limits": limits.ALL,
        "retention": _retention(settings.retention),
        "incarnation": None if watch.house is None else watch.house.incarnation,
        "inbox_epochs": "stay" if watch.keeps else "rotate",
        **rooms.facts(),
    }


@functools.cache
def _schema() -> str:
    """The newest migration: what a database has that this program is content with."""
    return str(migrate.files()[-1])


def _ports(settings: Settings) -> dict[str, list[int] | None]:
    """By scheme, the ports of some address or other that webhooks may lead to; None: all."""
    found: dict[str, set[int | None]] = {}
    for rule in guard.read_rules(settings.webhooks_allow):
        found.setdefault(rule.scheme, set()).add(rule.port)
    return {scheme: None if None in ports else sorted(filter(None, ports)) for scheme, ports in sorted(found.items())}


def _retention(retention: Retention) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(retention),
        "client_retries_seconds": RETRIES_SECONDS,
        "orders": [{"longer": order.longer, "at_least": list(order.shorter), "why": order.why} for order in ORDERS],
    }
