"""The relay of this server: which targets and takers it knows, which the rooms above events bring."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from steadhold import inboxes, webhooks
from steadhold.db.pool import Pool
from steadhold.events.flow import Inside, Taker, Target
from steadhold.events.loops import Relay
from steadhold.events.publishing import Alarm, silent
from steadhold.kit import ids
from steadhold.kit.plan import Call
from steadhold.play.single import roll_back
from steadhold.server.loops import Act
from steadhold.web.hub import Hub

INBOX: Final = Inside(inboxes.publish)

TAKERS: Final[tuple[Taker, ...]] = (webhooks.fan_out,)
"""Who else is given what was matched."""

MATCH: Final = "events.match"
PUBLISH: Final = "events.publish"
"""What `steadhold.due()` says where something is to be matched, or to be published."""

FLOW: Final = (
    "select unmatched_seconds as events_unmatched_seconds, pending_seconds as publications_pending_seconds, "
    "pending as publications_pending, blocked as publications_blocked, parked as publications_parked "
    "from steadhold.event_flow()"
)
FRESH_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 3.0

LINGER_SECONDS: Final = 0.05
"""How often the relay looks again where something happened just now."""


def relay(
    play: Callable[[Call[Any]], Awaitable[Any]], hub: Hub, sinks: Target, alarm: Alarm = silent,
    then: Callable[[], Awaitable[Any]] | None = None,
) -> Relay:  # fmt: skip
    """The relay of a server; whoever reads of a target it was given something for is told by `hub`."""

    def told(workspace: str, target: str) -> None:
        kind, _, name = target.partition(":")
        hub.touch((workspace, kind, name))

    targets: Mapping[str, Target] = {"inbox": INBOX, "sink": sinks}
    return Relay(play, targets, name=f"relay-{ids.new_id()}", takers=TAKERS, told=told, alarm=alarm, then=then)


class Gauges:
    """How events flow in all workspaces, as the database says it: every server tells the same.

    They are asked for when metrics are read. While the database does not answer there are none.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool, self._read_at = pool, -math.inf
        self.values: Mapping[str, float] = {}

    async def read(self) -> None:
        """Ask the database, at most once in a second."""
        now = asyncio.get_running_loop().time()
        if now - self._read_at < FRESH_SECONDS:
            return
        self._read_at = now
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._pool.connection() as conn:
                await conn.execute("begin read only; set local role steadhold_app")
                row = await conn.fetchrow(FLOW)
                await roll_back(conn)
        except Exception:  # noqa: BLE001 - metrics without these say that it does not answer
            self.values = {}
            return
        self.values = {} if row is None else {name: float(value) for name, value in row.items()}


def noting(of: Relay, then: Callable[[tuple[str, ...]], None]) -> Callable[[tuple[str, ...]], None]:
    """Let it hear of what is touched, beside whoever heard of it before."""

    def tell(key: tuple[str, ...]) -> None:
        of.note(key[0])
        then(key)

    return tell


def acts(of: Relay) -> Mapping[str, Act]:
    """What it does in several transactions where that is due: by the name of its duty."""
    return {MATCH: of.matching, PUBLISH: of.publish}
