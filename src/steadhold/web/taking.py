"""Bodies that a route takes piece by piece: no more of one is in memory than it pulls at once."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import replace
from typing import Any, Final

from steadhold.kit import limits
from steadhold.kit.plan import Call
from steadhold.web import body as bodies
from steadhold.web.above import Above
from steadhold.web.ask import Answer, Ask, Problem, Pull, Stop, Taking, Whole
from steadhold.web.auth import refuse
from steadhold.web.exchange import Exchange
from steadhold.web.hub import Hub
from steadhold.web.problem import SOON, stop
from steadhold.web.turn import Turn

LOOK_SECONDS: Final = 1.0
"""How often it is looked whether a body may still come."""

_STOPPING: Final = Problem("unavailable", "The server stops; send it to another, or a little later.", headers=SOON)


class Incoming:
    """The body of a request that is still coming, of `most` bytes at most."""

    def __init__(self, turn: Turn, exchange: Exchange, most: int, above: Above, hub: Hub) -> None:
        self._turn, self._most, self._above, self._hub = turn, most, above, hub
        self._held = bytearray()
        self._more = True
        self._hash = hashlib.sha256()
        self._length = 0
        self._now, self._receive = time.monotonic, exchange.receive
        self._began = self._looked = self._now()
        exchange.take_slowly()

    async def pull(self, most: int) -> bytes | Whole:
        """The next bytes, or the word that there are no more. Raises Stop."""
        while self._more and len(self._held) < most:
            await self._gather()
        if not self._held:
            return Whole(self._length, self._hash.digest())
        with memoryview(self._held) as held, held[:most] as wanted:
            piece = bytes(wanted)
        del self._held[:most]
        self._hash.update(piece)
        return piece

    async def _gather(self) -> None:
        message = await self._received()
        piece = bodies.piece(message, self._most - self._length, self._most)
        self._held += piece
        self._length += len(piece)
        self._more = message.get("more_body", False)

    async def _received(self) -> Any:
        since = self._now()
        if since - self._looked >= LOOK_SECONDS:
            await self._look(since)
        while True:
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    return await self._receive()
            except TimeoutError:
                await self._look(since)

    async def _look(self, silent_since: float) -> None:
        """Raise Stop where the body is too slow, or where nothing comes of it any more."""
        now = self._looked = self._now()
        if now - silent_since > limits.BODY_SECONDS_MAX:
            stop("request_timeout", f"Nothing of the body came for {limits.BODY_SECONDS_MAX} seconds.")
        if now - self._began > limits.UPLOAD_SECONDS_MAX:
            stop("request_timeout", f"The body did not arrive within {limits.UPLOAD_SECONDS_MAX} seconds.")
        self._turn.go_on(now)
        if self._hub.stopping:
            raise Stop(_STOPPING)
        if await self._above.authenticate(self._turn.token) is None:
            refuse()

    async def play(self, call: Call[Any]) -> Any:
        """Play a call between two pulls; it has as long as a request has."""
        self._turn.go_on(self._now())
        return await self._above.play(call)


async def taken(taking: Taking[Any], incoming: Incoming) -> tuple[Ask[Any] | Answer, bytes]:
    """Do what a route wants done with a body; what it asks then, and the digest of the body that it asks it for."""
    steps = taking.steps()
    told: Any = None
    digest = b""
    try:
        while True:
            wanted = steps.send(told)
            told = await (incoming.pull(wanted.most) if isinstance(wanted, Pull) else incoming.play(wanted))
            if isinstance(told, Whole):
                digest = b"sha-256:" + told.sha256
    except StopIteration as end:
        asked: Ask[Any] | Answer = end.value
        if isinstance(asked, Ask) and not digest:
            raise AssertionError(f"{asked.call.name} was asked before the body had ended") from None
        return asked, digest
    finally:
        steps.close()


def noted(asked: Ask[Any], came_to: list[Any]) -> Ask[Any]:
    """The same, with its outcome written down."""

    def render(outcome: Any) -> Answer:
        came_to.append(outcome)
        return asked.render(outcome)

    return replace(asked, render=render)


async def ended(taking: Taking[Any], came_to: list[Any], above: Above) -> None:
    """Play what is left to do after a body, however it ended; where that fails, the room's own sweep finds it."""
    last = taking.after(came_to[0] if came_to else None)
    if last is not None:
        try:
            await above.play(last)
        except Exception as error:  # noqa: BLE001 - the answer is another, and is not to be lost by this
            above.alarm(error, {"call": last.name})
