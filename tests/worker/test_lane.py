"""Places, leases and settlements, with a door that answers as it is told."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from steadhold.jobs.model import Complete, Release
from steadhold.worker import held as helds
from steadhold.worker.attempt import Attempt, Outside
from steadhold.worker.door import DoorShut
from steadhold.worker.held import Held, Leases, believed
from steadhold.worker.verdicts import LeaseLost
from tests.worker.bench import NOW, Bench, claimed


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


async def test_a_row_that_a_stranger_holds_delays_only_its_own_job():
    bench = Bench(places=9)
    bench.go.set()
    held = claimed()
    bench.door.jammed.add(held.id)
    bench.give(held, *(claimed() for _ in range(4)))
    await bench.turn(lambda: bench.lane.room == 8)
    bench.give(claimed())
    await bench.turn(lambda: bench.lane.room == 8 and len(bench.running) == 6)
    assert [open_.job.id for open_ in bench.leases.all()] == [held.id]
    bench.door.freed.set()
    await bench.turn(lambda: bench.lane.idle)


async def test_what_is_said_when_the_last_flight_has_just_ended_is_settled_too():
    bench = Bench()
    first, second = Held(claimed(), helds.CLOCK()), Held(claimed(), helds.CLOCK())
    answered = []

    def say_more(held, outcome):
        answered.append(held)
        # It runs after the flight has found nothing more, and before anybody is told that the flight is over.
        asyncio.get_running_loop().call_soon(bench.settler.say, second, Release(), lambda *_: answered.append(second))

    bench.settler.say(first, Release(), say_more)
    await bench.turn(lambda: answered == [first, second])
    await bench.settler.finish()
    assert [len(batch) for batch in bench.door.settled] == [1, 1]


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


def test_a_lease_that_is_due_before_renewal_wakes_hurries_it():
    hurried = []
    leases = Leases(lambda: hurried.append(True))
    leases.add([Held(claimed(), 0.0)])
    assert not hurried  # it is awake
    assert leases.soonest(60.0) == 5.0
    leases.add([Held(claimed(), 1.0)])
    assert not hurried
    leases.add([short := Held(claimed(lease_seconds=1.0), 1.0)])
    assert hurried == [True]
    assert leases.soonest(60.0) == short.renew_at
    leases.drop(short)
    assert leases.soonest(2.0) == 2.0


async def test_a_stage_is_not_committed_with_a_lease_that_may_have_ended(monkeypatch):
    bench = Bench()
    held = Held(claimed(), helds.CLOCK() - 29.0)
    outside = Outside(bench.door, bench.settler, bench.leases, bench.tell, print, print)
    with pytest.raises(LeaseLost):
        await Attempt(held, outside).commit("a", None, 1)  # the door knows no checkpoints: it is not asked


@pytest.mark.parametrize("length, believes", [(1.0, 0.9), (10.0, 9.0), (30.0, 28.0), (3_600.0, 3_598.0)])
def test_a_lease_is_believed_a_little_shorter_than_it_is(length, believes):
    assert believed(100.0, length) == pytest.approx(100.0 + believes)
