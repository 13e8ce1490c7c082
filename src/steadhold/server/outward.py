"""What leaves this server: what seals secrets, where webhooks may lead, their dispatcher, and the sinks of events."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from steadhold.db.pool import Pool
from steadhold.kit import ids, seal
from steadhold.play.transaction import roll_back
from steadhold.server.loops import Act
from steadhold.server.settings import Settings
from steadhold.sinks import Sinks, read_sinks
from steadhold.webhooks import guard
from steadhold.webhooks.dispatch import Dispatcher, Play, Trace

DUE: Final = "select workspace, webhook::text from steadhold.due_deliveries()"
DISPATCH: Final = "webhooks.dispatch"
"""What `steadhold.due()` says where something is to be sent: without it nothing is asked."""

LOOKED_SECONDS: Final = 0.1
"""For how long a look where something is to be sent stands for others that were due with it."""


def handed(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """What doors of rooms are given beside their windows. Raises ValueError where a setting cannot be read."""
    sealing, rules = seal.read_keys(settings.sealing_key), guard.read_rules(settings.webhooks_allow)
    return {
        "events": {"sinks": frozenset(read_sinks(settings.sinks))},
        "inboxes": {"sealing": sealing, "base": settings.public_url.rstrip("/")},
        "webhooks": {"sealing": sealing, "rules": rules},
    }


def sinks(settings: Settings) -> Sinks:
    """The sinks of this process. Raises SinkFault where the setting cannot be read."""
    return Sinks(read_sinks(settings.sinks))


def acts(of: Dispatcher | None) -> Mapping[str, Act]:
    """Send where that is due, by the name of that duty. The relay asks for a look where it matched something."""
    if of is None:
        return {}

    looked_at = -math.inf

    async def dispatch(_workspace: str) -> int:
        nonlocal looked_at
        now = asyncio.get_running_loop().time()
        if now - looked_at < LOOKED_SECONDS:
            return 0  # a look is at all workspaces, and each of them that is due asks for one
        looked_at = now
        return await of.tick()

    return {DISPATCH: dispatch}


def dispatcher(
    settings: Settings, pool: Pool, play: Play, alarm: Callable[[Exception, Mapping[str, str]], None], trace: Trace
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
    return Dispatcher(play, due, at["sealing"], at["rules"], f"sender-{ids.new_id()}", alarm, trace=trace)
