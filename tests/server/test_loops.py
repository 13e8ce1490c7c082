"""Duties: asked for once a tick, done workspace by workspace, tried again for ever."""

from __future__ import annotations

import asyncio
import math
from collections import Counter

import msgspec
import pytest

from steadhold import schedules
from steadhold.db.pool import Pool
from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.play.single import Single
from steadhold.server.engine import running
from steadhold.server.loops import DUE, PAUSE_SECONDS_MAX, ROUNDS_MAX, Announcements, Duties, forever, pause
from steadhold.server.settings import Retention
from steadhold.server.tallies import Tallies
from steadhold.testing import Probe
from steadhold.web.hub import Hub


def call_of(workspace: str, limit: int) -> Call[int]:
    return Call(lambda: iter(()), workspace, f"sweep {limit}")


class Stage:
    """Duties with a scripted database."""

    def __init__(self, *duties: Duty, due=(("acme", "jobs.sweep"),), settles=None) -> None:
        self.hub, self.tallies, self.alarms = Hub(), Tallies(), []
        self.played: Counter[str] = Counter()
        self.settles = settles or (lambda workspace, nth: 0)
        self.due = list(due)
        self.asked = 0
        self.duties = Duties(
            duties or (Duty("jobs.sweep", call_of, limit=10),), due=self.read, play=self.play, hub=self.hub,
            tallies=self.tallies, alarm=lambda error, facts: self.alarms.append((error, facts)),
        )  # fmt: skip

    async def read(self):
        self.asked += 1
        return self.due

    async def play(self, call):
        self.played[call.workspace] += 1
        return self.settles(call.workspace, self.played[call.workspace])


async def test_nothing_due_is_one_question():
    stage = Stage(due=())
    await stage.duties.tick()
    assert (stage.asked, stage.played) == (1, Counter())


async def test_a_duty_goes_on_while_it_settles_all_it_may():
    stage = Stage(settles=lambda _, nth: 10 if nth < 3 else 4)
    await stage.duties.tick()
    assert stage.played == {"acme": 3}
    assert stage.tallies.duties["jobs.sweep"]["settled"] == 24


async def test_a_flood_in_one_workspace_leaves_others_their_turn():
    stage = Stage(
        due=[("flood", "jobs.sweep"), ("calm", "jobs.sweep")],
        settles=lambda workspace, _: 10 if workspace == "flood" else 1,
    )
    await stage.duties.tick()
    assert stage.played == {"flood": ROUNDS_MAX, "calm": 1}


async def test_one_workspaces_trouble_is_not_the_others():
    def settles(workspace, _nth):
        if workspace == "bad":
            raise RuntimeError("no")
        return 1

    stage = Stage(due=[("bad", "jobs.sweep"), ("good", "jobs.sweep")], settles=settles)
    await stage.duties.tick()
    await stage.duties.tick()
    assert stage.played == {"bad": 1, "good": 2}  # the bad one has to wait a little before its next try
    assert [facts for _, facts in stage.alarms] == [{"duty": "jobs.sweep", "workspace": "bad"}]
    assert stage.tallies.duties["jobs.sweep"]["failed"] == 1


async def test_trouble_that_lasts_is_told_once_and_again_after_it_ended(monkeypatch):
    def settles(_workspace, nth):
        if nth != 4:
            raise RuntimeError("no")
        return 1

    monkeypatch.setattr("steadhold.server.loops.pause", lambda _: 0.0)
    stage = Stage(settles=settles)
    told: list[int] = []
    for _ in range(6):
        await stage.duties.tick()
        told.append(len(stage.alarms))
    assert told == [1, 1, 1, 1, 2, 2]
    assert stage.tallies.duties["jobs.sweep"]["failed"] == 5


async def test_a_duty_that_failed_is_not_put_off_as_if_it_had_run(monkeypatch):
    def settles(_workspace, nth):
        if nth == 1:
            raise RuntimeError("no")
        return 1

    monkeypatch.setattr("steadhold.server.loops.pause", lambda _: 0.0)
    stage = Stage(Duty("jobs.sweep", call_of, every_seconds=3_600), settles=settles)
    for _ in range(3):
        await stage.duties.tick()
    assert stage.played == {"acme": 2}


async def test_a_duty_runs_no_oftener_than_it_says():
    stage = Stage(Duty("jobs.sweep", call_of, every_seconds=3_600))
    await stage.duties.tick()
    await stage.duties.tick()
    assert stage.played == {"acme": 1}


async def test_what_was_settled_wakes_waiters():
    stage = Stage(Duty("jobs.sweep", call_of, touches=(("jobs",),)), settles=lambda *_: 1)
    with (
        stage.hub.waiting([("acme", "jobs")], alone=False) as mine,
        stage.hub.waiting([("other", "jobs")], alone=False) as other,
    ):
        await stage.duties.tick()
        assert (mine.woken, other.woken) == (True, False)


async def test_what_another_version_announces_is_passed_over():
    stage = Stage(due=[("acme", "unknown.duty")])
    await stage.duties.tick()
    assert not stage.played


async def test_a_loop_outlives_failures_tells_the_first_and_marks_successes():
    hub, tallies, probe, alarms = Hub(), Tallies(), Probe(), []
    tries = 0

    async def once():
        nonlocal tries
        tries += 1
        probe("tried", n=tries)
        if tries <= 3:
            raise OSError("away")

    loop = asyncio.ensure_future(
        forever("duties", once, hub=hub, tallies=tallies, alarm=lambda *told: alarms.append(told), seconds=0.001)
    )
    await probe.seen("tried", n=5)
    assert len(alarms) == 1
    assert "duties" in tallies.successes
    hub.stop()
    await loop


async def test_a_loop_is_punctual_for_what_it_knows_is_coming():
    hub, probe = Hub(), Probe()

    async def once():
        probe("tried")

    loop = asyncio.ensure_future(
        forever("duties", once, hub=hub, tallies=Tallies(), alarm=print, seconds=3600.0, soon=lambda: 0.0)
    )
    await probe.seen("tried", times=3)
    assert not loop.done()
    hub.stop()
    await loop


async def test_the_next_instant_is_known_from_the_database(fresh_database):
    workspace = fresh_database.new_workspace()
    hourly = schedules.Spec(job=schedules.Job("report"), every_seconds=3600)
    async with Pool(fresh_database.dsn, size=1) as pool:
        announcements = Announcements(pool, Retention())
        await announcements.read()
        assert announcements.soon() == math.inf
        await Single(pool).play(schedules.put.call(workspace, "hourly", hourly, None))
        await announcements.read()
        assert 0 < announcements.soon() <= 3600


def test_pauses_grow_to_a_bound_and_differ():
    assert all(0.5 < pause(0) < 0.8 for _ in range(100))
    assert all(pause(n) <= PAUSE_SECONDS_MAX * 1.1 for n in range(100))
    assert pause(5) > pause(1)
    assert len({pause(0) for _ in range(20)}) > 1


async def test_a_tick_is_one_query_that_leaves_no_settings_on_its_connection(dsn):
    async with Pool(dsn, size=1) as pool:
        announcements = Announcements(pool, Retention(receipts_seconds=777_777))
        said: list[str] = []
        async with pool.connection() as conn:
            conn.add_query_logger(lambda record: said.append(record.query))
        await announcements.read()
        await asyncio.sleep(0)  # the driver tells loggers in its next turn
        begun, asked, ended = said
        assert begun.startswith("begin read only; select ")
        assert "set_config('steadhold.receipts_seconds', '777777', true)" in begun
        assert (asked, ended) == (DUE, "rollback")
        async with pool.connection() as conn:
            assert not await conn.fetchval("select current_setting('steadhold.receipts_seconds', true)")


async def test_windows_reach_the_rooms_whichever_connection_asks(dsn, database, workspace):
    with database.connect() as conn:
        conn.execute(
            "insert into steadhold.receipts (workspace, key, abandoned, kind, scope, scoped, subject, status, body,"
            " content_type, headers, committed_at)"
            " values (%s, 'old', false, '', '', '', '', 200, '', '', '', steadhold.clock() - interval '2 days')",
            (workspace,),
        )
    async with Pool(dsn, size=1) as pool:
        due = (workspace, "operations.purge")
        assert due not in await Announcements(pool, Retention()).read()
        assert due in await Announcements(pool, Retention(receipts_seconds=86_400)).read()
        assert due not in await Announcements(pool, Retention()).read()


@pytest.mark.parametrize("settings", ["lockstep"], indirect=True)
async def test_a_server_runs_its_loops_and_ends_them(settings):
    async with running(msgspec.structs.replace(settings, background=True)) as engine:
        async with asyncio.timeout(10):
            while set(engine.tallies.successes) < {"duties", "keys", "overdue"}:
                await asyncio.sleep(0)
    assert engine.hub.stopping
