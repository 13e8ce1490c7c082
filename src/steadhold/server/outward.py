"""Webhooks of this server: what seals their secrets, where they may lead, and the dispatcher that sends to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from steadhold.db.pool import Pool
from steadhold.kit import ids
from steadhold.play.single import roll_back
from steadhold.server.settings import Settings
from steadhold.webhooks import guard, seal
from steadhold.webhooks.dispatch import Dispatcher, Play

DUE: Final = "select workspace, webhook::text from steadhold.due_deliveries()"
TICK_SECONDS: Final = 0.25


def handed(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """What doors of rooms are given beside their windows. Raises ValueError where a setting cannot be read."""
    sealing, rules = seal.read_keys(settings.sealing_key), guard.read_rules(settings.webhooks_allow)
    return {"webhooks": {"sealing": sealing, "rules": rules}}


def dispatcher(
    settings: Settings, pool: Pool, play: Play, alarm: Callable[[Exception, Mapping[str, str]], None]
) -> Dispatcher | None:
    """The dispatcher of this process; None where it has no background, or no key to open secrets with."""
    if not settings.background or not settings.sealing_key:
        return None

    async def due() -> Iterable[tuple[str, str]]:
        async with pool.connection() as conn:
            await conn.execute("begin read only; set local role steadhold_app")
            found = await conn.fetch(DUE)
            await roll_back(conn)
        return [(row["workspace"], row["webhook"]) for row in found]

    at = handed(settings)["webhooks"]
    return Dispatcher(play, due, at["sealing"], at["rules"], f"sender-{ids.new_id()}", alarm)
