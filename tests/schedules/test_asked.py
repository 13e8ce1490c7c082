"""What somebody asks a schedule for: a run now, or those of the past that nothing was recorded of."""

from __future__ import annotations

from steadhold.kit.outcome import Missing
from steadhold.schedules import TooManyInstants
from steadhold.schedules import spec as specs
from tests.schedules.conftest import HOUR


def test_a_trigger_runs_now(desk):
    """It answers for the time since the last instant, and its cadence goes on."""
    made = desk.made(overlap="enqueue", paused=True)
    run = desk.trigger("s", "by-hand").run
    assert (run.kind, run.operation_id, run.outcome) == ("manual", "by-hand", "waiting")
    assert run.trigger_id == specs.trigger_id("s", "by-hand")
    assert run.window_start == made.cursor.replace(minute=0, second=0, microsecond=0)
    assert desk.read() == made
    assert desk.trigger("s", "again").run.scheduled_at > run.scheduled_at
    assert desk.trigger("other", "o") == Missing(None)


def test_a_trigger_takes_the_waiting_place_and_gives_it_up(desk):
    desk.made()
    desk.pass_()
    assert desk.trigger("s", "o").run.covers[0].count == 1
    assert desk.told() == [("coalesced", 1), ("waiting", 1)]
    desk.pass_()
    assert desk.told() == [("coalesced", 1), ("coalesced", 1), ("waiting", 1)]
    assert desk.newest().covers[0].count == 2


def test_a_trigger_may_be_skipped(desk):
    desk.made(overlap="skip")
    desk.pass_()
    run = desk.trigger("s", "o").run
    assert (run.outcome, run.reason, run.job_id) == ("skipped", "overlap", None)


def test_a_trigger_records_what_was_due_first(desk):
    made = desk.made(overlap="enqueue")
    desk.to(made.next_at)
    desk.trigger("s", "o")
    assert desk.told() == [("waiting", 1)] * 2
    assert desk.read().cursor == made.next_at


def test_a_backfill_runs_what_nothing_was_recorded_of(desk):
    made = desk.made(overlap="enqueue")
    at = desk.pass_()
    found = desk.backfill("s", at - 3 * HOUR, at + HOUR, "back")
    assert [run.scheduled_at for run in found.runs] == [at - 3 * HOUR, at - 2 * HOUR, at - HOUR]
    assert {(run.kind, run.operation_id, run.outcome) for run in found.runs} == {("backfill", "back", "waiting")}
    assert [(run.scheduled_at, run.kind) for run in found.existing] == [(at, "schedule")]
    again = desk.backfill("s", at - 3 * HOUR, at + HOUR, "again")
    assert (again.runs, len(again.existing)) == ((), 4)
    assert desk.read().cursor == made.next_at


def test_what_was_skipped_is_not_backfilled(desk):
    made = desk.made()
    desk.pause("s")
    desk.to(made.next_at + 3 * HOUR)
    desk.resume("s")
    found = desk.backfill("s", made.next_at, made.next_at + 4 * HOUR, "o")
    assert found.runs == ()
    assert [(run.outcome, run.count) for run in found.existing] == [("skipped", 4)]


def test_backfilled_instants_join_the_run_that_waits(desk):
    """It stands for them too, by a new job; there is still one that waits."""
    desk.made()
    at = desk.pass_()
    before = desk.newest().job_id
    found = desk.backfill("s", at - 2 * HOUR, at, "o")
    assert [run.outcome for run in found.runs] == ["coalesced", "coalesced"]
    run = desk.newest()
    assert (run.scheduled_at, run.outcome, run.window_start) == (at, "waiting", at - 3 * HOUR)
    assert sum(span.count for span in run.covers) == 2
    assert [desk.job(job).state for job in (before, run.job_id)] == ["cancelled", "accepted"]
    desk.pass_()
    assert sum(span.count for span in desk.newest().covers) == 3


def test_a_backfill_is_bounded(desk):
    desk.made()
    now = desk.clock.now()
    assert desk.backfill("s", now - 501 * HOUR, now, "o") == TooManyInstants(501, 500)
    assert desk.told() == []


def test_a_backfill_skips_around_what_was_there(desk):
    """What it skips is told in ranges that hold nothing else."""
    desk.made(overlap="skip")
    at = desk.pass_()
    desk.backfill("s", at - 2 * HOUR, at - HOUR, "one")
    found = desk.backfill("s", at - 4 * HOUR, at, "two")
    assert [(run.scheduled_at, run.outcome, run.count) for run in found.runs] == [
        (at - 4 * HOUR, "skipped", 2),
        (at - HOUR, "skipped", 1),
    ]
    assert [run.scheduled_at for run in found.existing] == [at - 2 * HOUR]
