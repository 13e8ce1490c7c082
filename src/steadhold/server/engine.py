"""What a server runs on, opened together and closed together: database, pool, player, keys, doors, loops."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from steadhold import access, fences
from steadhold.access.authenticate import Keyring, permits, within
from steadhold.db.pool import Pool
from steadhold.events.loops import Relay
from steadhold.inboxes.door_keeper import TALLY, Doorkeeper
from steadhold.kit.duty import Duty
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from steadhold.server import database, outward, relay, rooms
from steadhold.server.health import Health
from steadhold.server.hints import Hints
from steadhold.server.loops import TICK_SECONDS, Announcements, Duties, forever, never
from steadhold.server.receipts import receipted
from steadhold.server.settings import Settings
from steadhold.server.tallies import Tallies
from steadhold.server.trouble import trouble
from steadhold.telemetry import plainly
from steadhold.telemetry.gauges import Gauges
from steadhold.telemetry.lines import logger
from steadhold.telemetry.subscriber import Subscriber
from steadhold.web.above import Above
from steadhold.web.ask import Route
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from steadhold.webhooks.dispatch import Dispatcher

log: Final = logger("steadhold.server")

OVERDUE_SECONDS: Final = 1.0
SINGLES_MIN: Final = 2
"""Connections that are left to calls that are played alone when every other one commits for many."""

NOTE_SECONDS: Final = 5.0
HINT_SECONDS: Final = 0.01
"""How long hints are gathered after some were told: each telling is a transaction, and an inbox may never rest."""

DRAIN_SECONDS_MAX: Final = 5.0
LISTEN_AGAIN_SECONDS: Final = 1.0


@dataclass(slots=True)
class Engine:
    """The parts of a running server."""

    dsn: str
    pool: Pool
    player: Lockstep | Single
    keyring: Keyring
    doors: Doors
    hub: Hub
    flights: Flights
    health: Health
    tallies: Tallies
    told: Subscriber


def alarm(error: Exception, facts: Mapping[str, str]) -> None:
    """Log what was not foreseen, with all that helps to find it; nobody else is shown this. Known trouble is a line."""
    if trouble(error) is not None:
        log.warning("not available now", why=plainly.why(error), **facts)
        return
    log.error("unforeseen", exc_info=error, **facts)


@asynccontextmanager
async def running(
    settings: Settings, *, routes: Iterable[Route] | None = None, duties: Iterable[Duty] | None = None
) -> AsyncIterator[Engine]:
    """Open all parts, let loops run, and close all again. `routes` and `duties`: None for those of all rooms.

    Raises a DatabaseError, whose message says what to do, when the database cannot be used as it is.
    """
    async with AsyncExitStack() as stack:
        dsn = await database.opened(stack, settings)
        pool = Pool(dsn, size=settings.pool_size, statements=settings.prepared_statements)
        await stack.enter_async_context(pool)
        async with pool.connection():
            pass  # a database that cannot be used is told now, and not by the first request
        health = Pool(dsn, size=1, init=pool.house.check, statements=0, application_name="steadhold health")
        engine = _built(settings, dsn, pool, Health(await stack.enter_async_context(health)), routes)
        if isinstance(engine.player, Lockstep):
            stack.push_async_callback(_drained, engine.player, pool)
        play, told = engine.player.play, engine.told
        sending = outward.dispatcher(settings, pool, play, alarm, told.attempted) if duties is None else None
        if sending is not None:
            stack.push_async_callback(sending.close)
        hints = Hints(pool, dsn, engine.hub)
        engine.hub.tell = hints.take
        sinks = outward.sinks(settings)
        stack.push_async_callback(sinks.close)
        flow = relay.relay(play, engine.hub, sinks.target, told, alarm, None if sending is None else sending.tick)
        stack.push_async_callback(flow.close)
        tasks = [asyncio.create_task(loop) for loop in _loops(settings, engine, duties, hints, sending, flow)]
        stack.push_async_callback(_ended, engine.hub, tasks)
        stack.callback(hints.stop)
        yield engine


def _built(settings: Settings, dsn: str, pool: Pool, health: Health, routes: Iterable[Route] | None) -> Engine:
    single = Single(pool, lock_timeout_ms=settings.lock_timeout_ms)
    flushers = max(2, settings.pool_size - SINGLES_MIN)
    lockstep = Lockstep(pool, flushers=flushers, patience_ms=settings.lock_timeout_ms, gathers=settings.processes > 1)
    player = lockstep if settings.player == "lockstep" else single
    keyring, hub, flights, tallies = Keyring(single), Hub(), Flights(), Tallies()
    told, keeper = Subscriber(tallies.see), Doorkeeper(single, keyring)
    above = Above(
        play=player.play,
        authenticate=keyring.principal,
        admit=keeper.principal,
        permits=permits,
        reach=within,
        receipted=functools.partial(receipted, kept_seconds=settings.retention.receipts_seconds),
        trouble=trouble,
        rate=keeper.rate,
        known=keyring.known,
        forget=keyring.forget,
        require=fences.require,
        on=keeper.watching(told.served),
        trace=told.begin,
        alarm=alarm,
        house=access.HOUSE,
        base=settings.public_url.rstrip("/"),
    )
    if routes is None:
        routes = rooms.routes(settings.retention, outward.handed(settings))
    doors = Doors(routes, above, hub=hub, flights=flights)
    engine = Engine(dsn, pool, player, keyring, doors, hub, flights, health, tallies, told)
    stands = Gauges(health.pool, types=settings.metrics_types)
    tallies.gauges, tallies.house, tallies.refresh = functools.partial(_gauges, engine), stands.told, stands.read
    tallies.player = getattr(player, "stats", {})
    tallies.streams = doors.streams.ended
    tallies.doors = TALLY
    return engine


def _gauges(engine: Engine) -> dict[str, float]:
    house = engine.pool.house.house
    return {
        "processes": 1,
        "requests_in_flight": len(engine.flights),
        "waiters": len(engine.hub),
        "streams": len(engine.doors.streams),
        "connections": engine.pool.open,
        "connections_idle": engine.pool.idle,
        "connections_waiting": engine.pool.waiting,
        "incarnation": 0 if house is None else house.incarnation,
    }


def _loops(
    settings: Settings, engine: Engine, duties: Iterable[Duty] | None, hints: Hints, sending: Dispatcher | None,
    flow: Relay,
) -> list[Any]:  # fmt: skip
    once: dict[str, tuple[Callable[[], Awaitable[None]], float]] = {
        "overdue": (functools.partial(_end_overdue, engine.flights), OVERDUE_SECONDS),
        "keys": (engine.keyring.note, NOTE_SECONDS),
        "hints told": (hints.send, HINT_SECONDS),
        "hints heard": (hints.hear, LISTEN_AGAIN_SECONDS),
    }
    announcements = Announcements(engine.pool, settings.retention)
    if settings.background:
        engine.hub.tell = relay.noting(flow, engine.hub.tell)
        done = Duties(
            rooms.duties(settings.retention) if duties is None else duties,
            due=announcements.read,
            play=engine.player.play,
            hub=engine.hub,
            tallies=engine.tallies,
            alarm=alarm,
            acts={**relay.acts(flow), **outward.acts(sending)} if duties is None else None,
        )
        once["duties"] = (done.tick, TICK_SECONDS)
        once["relay"] = (flow.linger, relay.LINGER_SECONDS)
    known = {"duties": announcements.soon}
    return [
        forever(
            name,
            what,
            hub=engine.hub,
            tallies=engine.tallies,
            alarm=alarm,
            seconds=seconds,
            soon=known.get(name, never),
        )
        for name, (what, seconds) in once.items()
    ]


async def _end_overdue(flights: Flights) -> None:
    if ended := flights.end_overdue(time.monotonic()):
        log.warning("requests took too long", ended=ended)


async def _drained(player: Lockstep, pool: Pool) -> None:
    try:
        async with asyncio.timeout(DRAIN_SECONDS_MAX):
            await player.close()
    except TimeoutError:
        pool.terminate()  # a database that does not answer must not keep us


async def _ended(hub: Hub, tasks: list[asyncio.Task[None]]) -> None:
    hub.stop()
    _, slow = await asyncio.wait(tasks, timeout=0.5)
    for task in slow:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*slow, return_exceptions=True)
