"""schedules under rivals: ticks, edits, triggers and claims, with the clock moved past an instant at every boundary."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from steadhold import jobs, schedules
from steadhold.kit.outcome import RevisionConflict
from steadhold.schedules.ticking import KEPT_SECONDS
from tests.schedules.boundaries import at_each_boundary
from tests.schedules.conftest import spec

pytestmark = pytest.mark.races

HOUR = timedelta(hours=1)


def made(stage, id="s", **said):
    return stage.play(schedules.put.call(stage.workspace, id, hourly(**said), None)).schedule


def hourly(**said):
    """Nothing that is due is too old to run."""
    return spec(**({"missed": "all", "window_seconds": 86_400} | said))


def now(stage):
    return stage.conn.execute("select steadhold.clock()").fetchone()[0]


def due(stage, count=1, **said):
    """A schedule of whose instants so many are due, each recorded when it came but for the last."""
    first = made(stage, **said).next_at
    for n in range(count):
        move(stage, first + n * HOUR)
        if n < count - 1:
            stage.play(tick(stage))
    return first + (count - 1) * HOUR


def move(stage, moment: datetime):
    ahead = (moment - now(stage)).total_seconds() + 0.05
    stage.conn.execute("reset role")
    stage.conn.execute("update steadhold_test.clock set ahead = ahead + %s", [timedelta(seconds=ahead)])
    stage.conn.execute("set role steadhold_app")


def tick(scene):
    return schedules.tick.call(scene.workspace, 10)


def runs(scene, id="s"):
    return scene.play(schedules.runs.call(scene.workspace, id, None, 100)).items[::-1]


def waiting(scene):
    """The jobs that nobody has claimed."""
    found = scene.conn.execute(
        "select id::text from steadhold.jobs where workspace = %s and state = 0 and fence = 0", [scene.workspace]
    )
    return [id for (id,) in found.fetchall()]


def check_whole(scene):
    """Each run has one job or none, and each job that waits is a run's that says so."""
    told = runs(scene)
    assert len({(run.scheduled_at, run.kind == "manual") for run in told}) == len(told)
    assert sorted(waiting(scene)) == sorted(run.job_id for run in told if run.outcome == "waiting")
    numbers = scene.conn.execute(
        "select aggregate_revision from steadhold.events"
        " where workspace = %s and aggregate_id = 'schedule:s' order by 1",
        [scene.workspace],
    ).fetchall()
    assert [number for (number,) in numbers] == list(range(1, len(numbers) + 1))


def test_two_ticks_record_an_instant_once(explore):
    def check(scene):
        assert [run.scheduled_at for run in runs(scene)] == [scene.facts]
        assert len(waiting(scene)) == 1
        assert sorted(scene.outcomes.values()) == [0, 1]

    seen = explore(
        setup=lambda stage: due(stage, overlap="enqueue"),
        actors={"one": tick, "two": tick},
        always=check,
    )
    assert seen.interleavings >= 10


def test_an_edit_and_a_tick_lose_no_run_and_make_none_twice(explore):
    """Whoever comes first: the instant that was due runs once, by the old spec, and the new spec begins after it."""

    def check(scene):
        told = runs(scene)
        at = scene.facts
        assert [(run.scheduled_at, run.spec_revision) for run in told if run.scheduled_at <= at] == [(at, 1)]
        now_is = scene.play(schedules.get.call(scene.workspace, "s"))
        assert now_is.revision == 2
        for run in told[1:]:
            assert run.scheduled_at > at, "a surprise"
        assert now_is.next_at > at
        check_whole(scene)

    seen = explore(
        setup=lambda stage: due(stage, overlap="enqueue"),
        actors={
            "editor": lambda scene: schedules.put.call(
                scene.workspace, "s", hourly(every_seconds=1_800, overlap="enqueue"), 1
            ),
            "tick": tick,
        },
        always=check,
        clock_moves={"past the next instant": 3_600},
    )
    assert seen.interleavings >= 20
    assert {outcomes["tick"] for outcomes in seen.outcomes} >= {0, 1}


def one_due(stage):
    return due(stage, overlap="enqueue")


def a_pause(scene, _at):
    return schedules.pause.call(scene.workspace, "s")


def a_deletion(scene, _at):
    return schedules.delete.call(scene.workspace, "s", 1)


def a_tick(scene, _at):
    return tick(scene)


@pytest.mark.parametrize("seconds", [0, 3_600], ids=["", "an hour later"])
@pytest.mark.parametrize("first, second", [(a_pause, a_tick), (a_tick, a_pause)], ids=["in a pause", "in a tick"])
def test_a_pause_and_a_tick(database, clock, first, second, seconds):
    """What was due before the pause runs, what is due after it is told as paused; nothing is both or neither."""

    def check(scene, at):
        scene.play(schedules.resume.call(scene.workspace, "s"))
        until = scene.play(schedules.get.call(scene.workspace, "s")).next_at
        told = runs(scene)
        assert (told[0].scheduled_at, told[0].outcome) == (at, "waiting")
        assert sum(run.count for run in told) == (until - at) // HOUR
        check_whole(scene)

    waits = at_each_boundary(database, clock, setup=one_due, first=first, second=second, check=check, seconds=seconds)
    assert len(waits) >= 10


@pytest.mark.parametrize("seconds", [0, 3_600], ids=["", "an hour later"])
@pytest.mark.parametrize(
    "first, second", [(a_deletion, a_tick), (a_tick, a_deletion)], ids=["in a deletion", "in a tick"]
)
def test_deleting_and_a_tick(database, clock, first, second, seconds):
    """What was due is recorded before the schedule goes, and nothing runs after it, nor once it is made again."""

    def check(scene, at):
        told = runs(scene)
        assert told[0].scheduled_at == at
        again = scene.play(schedules.put.call(scene.workspace, "s", spec(overlap="enqueue"), None))
        assert again.made_again
        assert again.schedule.next_at > max(run.scheduled_at for run in told)
        check_whole(scene)

    waits = at_each_boundary(database, clock, setup=one_due, first=first, second=second, check=check, seconds=seconds)
    assert len(waits) >= 10


def two_due(stage):
    return due(stage, 2)


def a_trigger(scene, _at):
    return schedules.trigger.call(scene.workspace, "s", "o")


def a_backfill(scene, at):
    return schedules.backfill.call(scene.workspace, "s", at - 6 * HOUR, at - 4 * HOUR, "o")


def a_claim(scene, _at):
    return jobs.claim.call(scene.workspace, "w", ["t"], 1)


PAIRS = {
    "claim": (a_tick, a_claim),
    "trigger": (a_tick, a_trigger),
    "backfill": (a_tick, a_backfill),
    "tick in a claim": (a_claim, a_tick),
    "tick in a trigger": (a_trigger, a_tick),
    "tick in a backfill": (a_backfill, a_tick),
    "claim in a trigger": (a_trigger, a_claim),
}


@pytest.mark.parametrize("seconds", [0, 3_600], ids=["", "an hour later"])
@pytest.mark.parametrize("first, second", PAIRS.values(), ids=PAIRS)
def test_one_waits_at_most(database, clock, first, second, seconds):
    """Whoever comes at whatever point of a tick, a trigger or a claim: one place to wait in, no window left alone."""

    def check(scene, _at):
        assert len(waiting(scene)) <= 1
        check_whole(scene)
        told = runs(scene)
        covered = sum(span.count for run in told if run.outcome in ("waiting", "started") for span in run.covers)
        assert covered == sum(run.count for run in told if run.outcome == "coalesced" or run.reason == "superseded")
        busy = [run for run in told if run.outcome in ("waiting", "started")]
        assert len({run.job_id for run in busy}) == len(busy) >= 1

    waits = at_each_boundary(database, clock, setup=two_due, first=first, second=second, check=check, seconds=seconds)
    assert len(waits) >= 5


@pytest.mark.parametrize("first, second", [(a_tick, a_trigger), (a_trigger, a_tick)], ids=["in a tick", "in a trigger"])
def test_skip_never_lets_two_run(database, clock, first, second):
    """A manual run and a due instant: whichever comes second is skipped, and says so."""

    def check(scene, _at):
        assert sorted(run.outcome for run in runs(scene)) == ["skipped", "waiting"]
        check_whole(scene)

    def skipping(stage):
        return due(stage, overlap="skip")

    assert len(at_each_boundary(database, clock, setup=skipping, first=first, second=second, check=check)) >= 10


def an_old_range(stage):
    """A schedule that is paused, and the row of its pause, which was last written longer ago than rows are kept."""
    first = made(stage, overlap="enqueue").next_at
    stage.play(schedules.pause.call(stage.workspace, "s"))
    move(stage, first + HOUR)
    stage.play(schedules.trigger.call(stage.workspace, "s", "first"))
    move(stage, first + HOUR + timedelta(seconds=KEPT_SECONDS + 60))
    return first


def a_retention(scene, _at):
    return schedules.forget.call(scene.workspace, 10)


@pytest.mark.parametrize("first, second", [(a_retention, a_trigger), (a_trigger, a_retention)], ids=["in", "around"])
def test_a_range_that_grows_while_it_is_forgotten(database, clock, first, second):
    """Retention that saw it when it was old does not remove what has been added since."""

    def check(scene, at):
        until = now(scene)
        told = [run for run in runs(scene) if run.reason == "paused"]
        assert told[-1].last_at == at + (until - at) // HOUR * HOUR
        check_whole(scene)

    assert len(at_each_boundary(database, clock, setup=an_old_range, first=first, second=second, check=check)) >= 3


def test_one_makes_it(explore):
    """Of two who create it, one does, and the other learns the revision; edits of one revision likewise."""

    def check(scene):
        refusals = [said for said in scene.outcomes.values() if isinstance(said, RevisionConflict)]
        assert refusals == [RevisionConflict(1)]

    def creating(seconds):
        return lambda scene: schedules.put.call(scene.workspace, "s", spec(every_seconds=seconds), None)

    seen = explore(setup=lambda stage: None, actors={"one": creating(60), "two": creating(3_600)}, always=check)
    assert seen.interleavings >= 4
