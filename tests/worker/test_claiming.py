"""Claims: when, how many, from where, and what comes too late."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from steadhold.jobs.model import Release
from steadhold.jobs.plans import EPOCH
from steadhold.kit.outcome import StaleFence
from steadhold.worker.claiming import Claimer, Floor, Terms
from steadhold.worker.door import DoorShut
from steadhold.worker.outage import Outage
from tests.worker.bench import NOW, Bench, Door, claimed


class Claims:
    """A claimer at work."""

    def __init__(self, bench, **terms):
        self.bench = bench
        terms = Terms("w", (), None, **{"poll_seconds_max": 60.0, **terms})
        outage = Outage()
        self.claimer = Claimer(bench.lane, bench.door, terms, bench.tell, outage.failed, outage)

    async def __aenter__(self):
        self.task = asyncio.create_task(self.claimer.run())
        return self.claimer

    async def __aexit__(self, failed, *_):
        if failed:
            self.task.cancel()
        else:
            self.claimer.stop()
        await asyncio.gather(self.task, return_exceptions=bool(failed))


async def test_a_hint_wakes_a_claimer_that_would_wait(monkeypatch):
    monkeypatch.setattr("steadhold.worker.claiming.POLL_SECONDS_MIN", 60.0)
    bench = Bench()
    async with Claims(bench) as claimer:
        await bench.door.asked.wait()
        bench.door.jobs.put_nowait([claimed()])
        claimer.wake()
        await bench.turn(lambda: bench.running)
        bench.go.set()
        await bench.turn(lambda: bench.lane.idle)
    assert len(bench.door.claims) == 3


async def test_an_outage_is_logged_when_it_begins_and_when_it_is_over(caplog):
    bench, errors = Bench(), [DoorShut("gone"), DoorShut("gone"), DoorShut("gone"), None, None]
    bench.door.wakes = True
    asked = []

    async def claim(ask):
        asked.append(ask.wait_seconds)
        if not errors:
            await asyncio.Event().wait()
        if error := errors.pop(0):
            raise error
        return []

    bench.door.claim = claim
    async with Claims(bench, poll_seconds_max=0.0):
        await bench.turn(lambda: len(asked) == 6)
        bench.door.claim = Door().claim
    assert caplog.messages == ["claim was not answered, and all is said again until it is: gone", "Answers come again."]
    assert asked == [20.0, 0.0, 0.0, 0.0, 20.0, 20.0]


def test_an_outage_is_one_for_both_threads_and_other_errors_are_none(caplog):
    outage = Outage()
    outage.failed("heartbeat", TimeoutError())
    outage.failed("settle", DoorShut("gone"))
    outage.failed("settle", ValueError("refused"))
    outage.over()
    outage.over()
    assert caplog.messages == [
        "heartbeat was not answered, and all is said again until it is: it took too long",
        "settle failed, and is said again: refused",
        "Answers come again.",
    ]


async def test_claims_ask_for_as_many_as_there_is_room_for():
    bench = Bench(places=3)
    bench.door.jobs.put_nowait([claimed(), claimed()])
    async with Claims(bench):
        await bench.turn(lambda: len(bench.running) == 2 and len(bench.door.claims) == 2)
        bench.go.set()
    assert [ask.limit for ask in bench.door.claims] == [3, 1]


async def test_what_is_claimed_while_stopping_is_handed_back():
    bench = Bench()
    bench.door.jobs.put_nowait([job := claimed()])
    claims = Claims(bench)
    async with claims:
        bench.door.claim = _late(bench.door.claim, claims.claimer)
        await bench.turn(lambda: bench.door.settled)
    assert bench.door.settled == [[(job.id, Release())]]
    assert bench.running == []


def _late(claim, claimer):
    async def late(ask):
        got = await claim(ask)
        claimer.stop()
        return got

    return late


@pytest.mark.parametrize("stale", [False, True])
async def test_an_answer_that_took_long_is_validated_before_a_handler_begins(monkeypatch, stale):
    now = 0.0
    for module in ("held", "lane", "claiming", "runner"):
        monkeypatch.setattr(f"steadhold.worker.{module}.CLOCK", lambda: now)
    bench = Bench()
    if stale:
        bench.door.answer = lambda beat: StaleFence(f"job:{beat.id}")

    async def slow(ask):
        nonlocal now
        now += 25.0
        return [claimed()] if now < 26.0 else await asyncio.Event().wait()

    bench.door.claim = slow
    async with Claims(bench) as claimer:
        await bench.turn(lambda: bench.running or (stale and bench.door.beats))
        bench.go.set()
        await bench.turn(lambda: bench.lane.idle)
        bench.door.claim = Door().claim
        claimer._request.cancel()
        claimer.stop()
    assert len(bench.door.beats) == 1
    assert bool(bench.running) != stale


def test_the_floor_lags_behind_what_was_seen_and_everything_is_looked_at_often():
    floor, later = Floor(0.8), NOW + timedelta(seconds=100)
    assert floor.next(0.0) is EPOCH
    floor.saw(EPOCH, [claimed(run_at=later)], 10, 0.0)
    assert floor.next(0.5) == later - timedelta(seconds=2)
    floor.saw(floor.next(0.5), [], 10, 0.5)
    assert floor.next(0.6) == later - timedelta(seconds=2)
    assert floor.next(0.8) is EPOCH


def test_a_floor_that_finds_few_where_some_were_left_looks_at_everything():
    floor = Floor(0.8)
    floor.saw(EPOCH, [claimed(run_at=NOW)] * 10, 10, 0.0)
    assert floor.next(0.1) != EPOCH
    floor.saw(floor.next(0.1), [claimed(run_at=NOW)] * 10, 10, 0.1)
    assert floor.next(0.2) != EPOCH
    floor.saw(floor.next(0.2), [claimed(run_at=NOW)], 10, 0.2)
    assert floor.next(0.3) is EPOCH
