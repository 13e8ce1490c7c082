"""What this server can do and how far: told without a key, so that a client can adapt before it has one."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

import msgspec

from steadhold.db.house import House
from steadhold.kit import limits
from steadhold.server import agents, rooms
from steadhold.server.retention import ORDERS, RETRIES_SECONDS
from steadhold.server.settings import Retention, Settings

VERSION: Final = metadata.version("steadhold")


def capabilities(settings: Settings, house: House | None) -> dict[str, Any]:
    """Versions, where agents come in, limits, windows and orders of retention, the incarnation, and what rooms add."""
    return {
        "name": "steadhold",
        "version": VERSION,
        "api_versions": ["v1"],
        "rooms": rooms.with_doors(),
        "mcp": agents.PATH if agents.there() else None,
        "limits": limits.ALL,
        "retention": _retention(settings.retention),
        "incarnation": None if house is None else house.incarnation,
        **rooms.facts(),
    }


def _retention(retention: Retention) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(retention),
        "client_retries_seconds": RETRIES_SECONDS,
        "orders": [{"longer": order.longer, "at_least": list(order.shorter), "why": order.why} for order in ORDERS],
    }
