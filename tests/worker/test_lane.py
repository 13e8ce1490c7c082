"""Places, leases and settlements, with a door that answers as it is told."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from steadhold.jobs.model import Complete, Release
from steadhold.jobs.outcomes import Beaten, Claimed, Settled
from steadhold.jobs.plans import EPOCH
from steadhold.kit.ids import new_id
from steadhold.kit.outcome import StaleFence
from steadhold.worker import held as helds
from steadhold.worker.attempt import Attempt, Outside
from steadhold.worker.claiming import Claimer, Floor, Terms
from steadhold.worker.door import DoorShut
from steadhold.worker.held import Held, Leases, believed
from steadhold.worker.lane import Lane
from steadhold.worker.runner import Handler, Runner
from steadhold.worker.settler import Settler
from steadhold.worker.verdicts import LeaseLost

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(lease_seconds=30.0, **more):
    id = new_id()
    fields = {
        "id": id, "fence": 1, "lease_seconds": lease_seconds, "revision": 2, "root_job_id": id, "type": "t",
        "lease_expires_at": NOW + timedelta(seconds=lease_seconds), "configuration_revision": 0, "attempt": 1,
        "priority": 5, "stage_count": 0, "input": b"null", "input_ref": None, "input_digest": b"", "inputs": None,
        "run_at": NOW, "deadline_at": None, "timeout_at": None, "evidence_not_before": None, "correlation_id": None,
        "trace": None,
    }  # fmt: skip
    return Claimed(**{**fields, **more})


class Door:
    """Answers each verb by the next of its answers, and keeps what was said."""

    wakes = False
    claim_max = 100

    def __init__(self):
        self.claims, self.settled, self.answers, self.beats = [], [], [], []
        self.jobs = asyncio.Queue()
        self.asked = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def claim(self, ask):
        self.claims.append(ask)
        self.asked.set()
        return self.jobs.get_nowait() if not self.jobs.empty() else []

    async def settle_many(self, settlements):
        self.settled.append([(settlement.id, settlement.said) for settlement in settlements])
        await self.open.wait()
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        return [Settled(settlement.id, "completed", 3) for settlement in settlements]

    async def heartbeat_many(self, beats):
        self.beats.append(beats)
        return [self.answer(beat) for beat in beats]

    def answer(self, beat):
        return Beaten(beat.id, NOW + timedelta(seconds=30), NOW, cancel_requested=False)


class Bench:
    """A lane of some places, the parts around it, and what was told."""

    def __init__(self, places=2, prefetch=0, handler=None):
        self.door, self.told = Door(), []
        self.failures = []
        self.settler = Settler(self.door, lambda verb, error: self.failures.append((verb, str(error))))
        self.leases = Leases(lambda: None)
        self.go = asyncio.Event()
        outside = Outside(self.door, self.settler, self.leases, self.tell, print, self.lose)
        handlers = {"t": Handler("t", handler or self.handler, None, raw=False)}
        self.lane = Lane(["t"], places, prefetch, Runner(handlers, outside), self.settler, self.leases, self.tell)
        self.running = []

    def lose(self, held):
        self.lane.lose(held)

    def tell(self, name, **facts):
        self.told.append((name, facts.get("job_id")))

    async def handler(self, ctx, input):
        self.running.append(ctx.job.id)
        await self.go.wait()

    def give(self, *jobs, sent=None):
        made = [Held(job, helds.CLOCK() if sent is None else sent) for job in jobs]
        self.lane.take(made)
        return made

    async def turn(self, until):
        for _ in range(200):
            if until():
                return
            await asyncio.sleep(0)
        raise AssertionError(f"it did not come: {self.told}")


async def test_no_more_handlers_run_than_there_are_places():
    bench = Bench(places=2)
    bench.give(*(claimed() for _ in range(5)))
    await bench.turn(lambda: len(bench.running) == 2)
    await asyncio.sleep(0)
    assert len(bench.running) == 2
    bench.go.set()
    await bench.turn(lambda: bench.lane.idle)
    assert len(bench.running) == 5
    assert {said for batch in bench.door.settled for _, said in batch} == {Complete()}


async def test_room_is_made_by_the_answer_to_a_settlement_not_by_the_end_of_a_handler():
    bench = Bench(places=2)
    bench.door.open.clear()
    bench.go.set()
    bench.give(claimed(), claimed())
    await bench.turn(lambda: bench.door.settled)
    assert bench.lane.room == 0
    assert len(bench.leases.all()) == 2
    bench.door.open.set()
    await bench.turn(lambda: bench.lane.room == 2)
    assert bench.leases.all() == []


async def test_what_ends_while_others_are_on_their_way_is_settled_together():
    bench = Bench(places=50)
    bench.door.open.clear()
    bench.go.set()
    bench.give(claimed())
    await bench.turn(lambda: bench.door.settled)
    bench.give(*(claimed() for _ in range(20)))
    await bench.turn(lambda: bench.running[20:])
    bench.door.open.set()
    await bench.turn(lambda: bench.lane.idle)
    assert [len(batch) for batch in bench.door.settled] == [1, 20]


async def test_a_settlement_without_an_answer_is_said_again_alike(monkeypatch):
    monkeypatch.setattr("steadhold.worker.settler.PAUSE_SECONDS", 0)
    bench = Bench()
    bench.door.answers = [DoorShut("cut"), DoorShut("cut"), None]
    bench.go.set()
    (held,) = bench.give(claimed())
    await bench.turn(lambda: bench.lane.idle)
    assert bench.door.settled == [[(held.job.id, Complete())]] * 3
    assert ("job.settled", held.job.id) in bench.told
    assert bench.failures == [("settle", "cut")] * 2


async def test_a_settlement_is_given_up_with_its_lease(monkeypatch):
    monkeypatch.setattr("steadhold.worker.settler.PAUSE_SECONDS", 0)
    bench = Bench()
    bench.door.answers = [DoorShut("cut")] * 9
    bench.go.set()
    (held,) = bench.give(claimed())
    await bench.turn(lambda: bench.door.settled)
    held.deadline = 0.0
    await bench.turn(lambda: bench.lane.idle)
    assert ("settle.refused", held.job.id) in bench.told
    assert len(bench.door.settled) < 9


async def test_one_settlement_that_cannot_be_said_does_not_take_others_along():
    bench = Bench(places=3)
    bench.door.answers = [ValueError("one of them"), None, ValueError("this one"), None]
    bench.go.set()
    made = bench.give(claimed(), claimed(), claimed())
    await bench.turn(lambda: bench.lane.idle)
    assert [("settle.refused" if n == 1 else "job.settled", held.job.id) for n, held in enumerate(made)] == [
        told for told in bench.told if told[0] in {"settle.refused", "job.settled"}
    ]


@pytest.mark.parametrize("gone, begins", [(0.0, True), (0.5, True), (0.8, False), (1.5, False)])
async def test_a_job_begins_only_with_enough_of_its_lease_left(gone, begins):
    bench = Bench()
    job = claimed(lease_seconds=40.0)
    bench.give(job, sent=helds.CLOCK() - gone * 40.0)
    await bench.turn(lambda: bench.running or bench.lane.idle)
    assert bool(bench.running) == begins
    said = [said for batch in bench.door.settled for _, said in batch]
    assert said == ([Release()] if gone == 0.8 else [])


async def test_what_waits_too_long_is_handed_back():
    bench = Bench(places=1)
    first, second = bench.give(claimed(), claimed())
    await bench.turn(lambda: bench.running)
    bench.lane.watch(second.arrived + 0.5)
    assert bench.door.settled == []
    bench.lane.watch(second.arrived + 1.5)
    await bench.turn(lambda: bench.door.settled)
    assert bench.door.settled == [[(second.job.id, Release())]]
    assert bench.running == [first.job.id]


async def test_a_handler_is_stopped_before_its_lease_ends():
    bench = Bench()
    (held,) = bench.give(claimed(lease_seconds=10.0), sent=100.0 + helds.CLOCK())
    await bench.turn(lambda: bench.running)
    bench.lane.watch(held.arrived + 8.9)
    assert ("lease.lost", held.job.id) not in bench.told
    bench.lane.watch(held.arrived + 9.0)
    await bench.turn(lambda: bench.lane.idle)
    assert ("lease.lost", held.job.id) in bench.told
    assert bench.door.settled == []


async def test_an_attempt_that_runs_too_long_is_said_to_have_timed_out_while_that_can_be_said():
    bench = Bench()
    (held,) = bench.give(claimed(lease_seconds=10.0, timeout_at=NOW + timedelta(seconds=10)))
    await bench.turn(lambda: bench.running)
    bench.lane.watch(held.arrived + 8.4)
    assert bench.door.settled == []
    bench.lane.watch(held.arrived + 8.5)
    await bench.turn(lambda: bench.door.settled)
    ((_, said),) = bench.door.settled[0]
    assert (said.error_code, said.klass) == ("timeout", "timeout")


async def test_a_handler_that_minds_no_cancelling_says_nothing_of_what_is_another_s():
    async def stubborn(ctx, input):
        bench.running.append(ctx.job.id)
        try:
            await bench.go.wait()
        except asyncio.CancelledError:
            return "I am done all the same"

    bench = Bench(handler=stubborn)
    (held,) = bench.give(claimed())
    await bench.turn(lambda: bench.running)
    bench.lane.lose(held)
    await bench.turn(lambda: bench.lane.idle)
    assert bench.door.settled == []


def test_nothing_is_done_with_a_lease_that_may_have_ended(monkeypatch):
    now = 0.0
    monkeypatch.setattr(helds, "CLOCK", lambda: now)
    held = Held(claimed(lease_seconds=10.0), 0.0)
    now = 8.9
    held.check()
    now = 9.0
    with pytest.raises(LeaseLost):
        held.check()
    held.renewed(8.5, 10.0, cancel_requested=False)
    held.check()
    held.renewed(1.0, 10.0, cancel_requested=False)
    now = 17.4
    held.check()
    assert held.renew_at == 1.0 + 10.0 / 3


async def test_a_stage_is_not_committed_with_a_lease_that_may_have_ended(monkeypatch):
    bench = Bench()
    held = Held(claimed(), helds.CLOCK() - 29.0)
    outside = Outside(bench.door, bench.settler, bench.leases, bench.tell, print, print)
    with pytest.raises(LeaseLost):
        await Attempt(held, outside).commit("a", None, 1)  # the door knows no checkpoints: it is not asked


@pytest.mark.parametrize("length, believes", [(1.0, 0.9), (10.0, 9.0), (30.0, 28.0), (3_600.0, 3_598.0)])
def test_a_lease_is_believed_a_little_shorter_than_it_is(length, believes):
    assert believed(100.0, length) == pytest.approx(100.0 + believes)


class Claims:
    """A claimer at work."""

    def __init__(self, bench, **terms):
        self.bench = bench
        terms = Terms("w", (), None, **{"poll_seconds_max": 60.0, **terms})
        self.claimer = Claimer(bench.lane, bench.door, terms, bench.tell, lambda verb, error: None)

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
