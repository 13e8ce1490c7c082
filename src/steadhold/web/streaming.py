"""Bodies that are sent piece by piece: as fast as the client reads, for as long as it, its key and the server last."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any, Final

from steadhold.kit import limits
from steadhold.kit.plan import Call
from steadhold.web import wire
from steadhold.web.above import Above
from steadhold.web.ask import Problem, Reply, Rest, Stop, Stream
from steadhold.web.exchange import Exchange
from steadhold.web.hold import POLL_SECONDS, watching
from steadhold.web.hub import Hint, Hub
from steadhold.web.problem import SOON
from steadhold.web.turn import Turn

LOOK_SECONDS: Final = 1.0
"""How often it is looked whether a key is still good while it streams."""

BREATH_SECONDS: Final = 0.001
"""How long a rest is at least, for each stream that there is, up to a poll: all look 1,000 times a second at most."""

_FULL: Final = Problem("unavailable", "This server has all the streams that it takes.", headers=SOON)
_FULL_HERE: Final = Problem(
    "too_many_streams",
    "The workspace has all the streams open that it may have at one server.",
    headers=SOON,
)


class Streams:
    """The bodies that come or go piece by piece now, and how those before them ended."""

    def __init__(self, above: Above, hub: Hub) -> None:
        self._above, self._hub = above, hub
        self._open: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._open.total()

    def take(self, workspace: str) -> None:
        """Take one of the places, to be left again. Raises Stop where there is none."""
        if len(self) >= limits.STREAMS_MAX:
            raise Stop(_FULL)
        if self._open[workspace] >= limits.STREAMS_PER_WORKSPACE_MAX:
            raise Stop(_FULL_HERE)
        self._open[workspace] += 1

    def leave(self, workspace: str) -> None:
        """Leave a place that was taken."""
        self._open[workspace] -= 1
        if not self._open[workspace]:
            del self._open[workspace]

    async def send(self, turn: Turn, exchange: Exchange, reply: Reply, body: Stream) -> None:
        """Send an answer whose place is taken, and leave that. Raises what the body or a call of it raises."""
        how = "failed"
        try:
            status, fields, _ = wire.written(reply, turn.fields, self._above.base or exchange.root)
            await exchange.begin(status, fields, closes=body.endless)
            how = await self._sent(turn, exchange, body)
        finally:
            self.leave(turn.workspace)
            self.ended[how] += 1
            if how != "sent":
                await exchange.cut(whole=body.endless and how not in {"failed", "gone"})

    async def _sent(self, turn: Turn, exchange: Exchange, body: Stream) -> str:
        """Send the body, and tell how it ended: `sent`, `gone`, `stopped` or `key_ended`."""
        hub, keys = self._hub, [(turn.workspace, *topic) for topic in body.topics]
        with (
            hub.waiting(keys, alone=False) as news,
            hub.waiting((), alone=False) as bell,
            watching(exchange.receive, bell),
        ):
            pulling = asyncio.ensure_future(self._pull(exchange, body, news))
            over = asyncio.ensure_future(self._over(turn, bell))
            try:
                await asyncio.wait((pulling, over), return_when=asyncio.FIRST_COMPLETED)
                return (pulling if pulling.done() else over).result()
            finally:
                pulling.cancel()
                over.cancel()
                await asyncio.gather(pulling, over, return_exceptions=True)

    async def _over(self, turn: Turn, bell: Hint) -> str:
        """Wait until there is a reason to end."""
        while True:
            await bell.wait(LOOK_SECONDS)
            if bell.gone:
                return "gone"
            if self._hub.stopping:
                return "stopped"
            if await self._above.authenticate(turn.token) is None:
                return "key_ended"

    async def _pull(self, exchange: Exchange, body: Stream, news: Hint) -> str:
        now = asyncio.get_running_loop().time
        pieces = body.begin()
        said_at = now()
        if body.idle:
            await exchange.piece(body.idle)
        told: Any = None
        with suppress(StopIteration):
            try:
                while True:
                    wanted = pieces.send(told)
                    told = None
                    if isinstance(wanted, Call):
                        told = await asyncio.shield(self._above.play(wanted))  # cut off, it would cost its connection
                    elif not isinstance(wanted, Rest):
                        await exchange.piece(wanted)
                        said_at = now()
                        await asyncio.sleep(0)  # others have their turn, and whoever ends this is heard
                    else:
                        await self._rest(news)
                        if body.idle and now() - said_at >= limits.STREAM_IDLE_SECONDS:
                            await exchange.piece(body.idle)
                            said_at = now()
            finally:
                pieces.close()
        await exchange.piece(b"", last=True)
        return "sent"

    async def _rest(self, news: Hint) -> None:
        """Wait for news, or for the next poll. Where news come all the time, many streams do not look each time."""
        now = asyncio.get_running_loop().time
        since = now()
        await news.wait(POLL_SECONDS)
        if (left := min(len(self) * BREATH_SECONDS, POLL_SECONDS) - (now() - since)) > 0:
            await asyncio.sleep(left)
