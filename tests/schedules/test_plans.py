"""schedules on PostgreSQL: what is recorded, what runs, and what an edit, a pause or a deletion leaves alone."""

from __future__ import annotations

from datetime import timedelta

import pytest

from steadhold import jobs
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.schedules import Deleted, Job, NeverDue, RunsPruned, instants, ticking
from steadhold.schedules import spec as specs
from tests.schedules.conftest import HOUR, spec

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)


def test_a_run_has_its_job(desk):
    """The instant, its window and its job are one; the job knows which run it is of."""
    made = desk.made(job=Job("t", b'{"of": 1.10}', inputs=("a",), tags=("x",), priority=2), freshness_seconds=600)
    at = desk.pass_()
    assert at == made.next_at
    run = desk.newest()
    assert (run.scheduled_at, run.window_start, run.outcome, run.spec_revision) == (at, at - HOUR, "waiting", 1)
    assert run.trigger_id == specs.trigger_id("s", at)
    (claimed,) = desk.claim()
    assert (claimed.id, claimed.input, claimed.priority) == (run.job_id, b'{"of": 1.10}', 2)
    assert (claimed.correlation_id, claimed.evidence_not_before) == (run.trigger_id, at - timedelta(minutes=10))
    first, reference = jobs.verdicts.msgspec.json.decode(claimed.inputs)
    assert first == "a"
    assert reference.startswith(f"schedule:s?trigger_id={run.trigger_id}&scheduled_at={at:%Y-%m-%dT%H}:00:00.000000Z")
    assert reference.endswith(f"&window_end={at:%Y-%m-%dT%H}:00:00.000000Z")
    assert desk.newest().outcome == "started"
    assert desk.read().next_at == at + HOUR
    assert desk.events() == ["waiting"]


def test_nothing_before_it_was_made_runs(desk):
    desk.made()
    assert desk.tick(10) == 0
    assert desk.told() == []


def test_a_condition_is_tested(desk):
    made = desk.made()
    assert desk.put("s", spec(), None) == RevisionConflict(1)
    assert desk.put("s", spec(paused=True), 2) == RevisionConflict(1)
    assert desk.put("other", spec(), 1) == Missing(None)
    assert desk.delete("s", 2) == RevisionConflict(1)
    assert desk.pause("s", revision=2) == desk.trigger("s", "o", revision=2) == RevisionConflict(1)
    assert desk.read() == made


@pytest.mark.parametrize("verb", ["put", "delete", "pause", "resume", "trigger", "backfill"])
def test_a_fence_is_obeyed(desk, verb):
    desk.made()
    now, held = desk.clock.now(), {"fences_held": [FenceRef("lock:a", 1)]}
    said = {"put": [spec(paused=True), 1], "delete": [1], "trigger": ["o"], "backfill": [now - DAY, now, "o"]}
    assert getattr(desk, verb)("s", *said.get(verb, []), **held) == StaleFence("lock:a")
    assert desk.told() == []


def test_the_same_put_changes_nothing(desk):
    """Not its revision, not its cursor, and nothing that is due is recorded by it."""
    made = desk.made()
    desk.to(made.next_at)
    again = desk.put("s", spec(), made.revision)
    assert (again.changed, again.schedule) == (False, made)
    assert desk.told() == []
    desk.tick(10)
    assert desk.told() == [("waiting", 1)]


def test_what_has_no_instant_to_come_is_refused(desk):
    now = desk.clock.now().replace(microsecond=0)
    assert desk.put("s", spec(every_seconds=None, at=now - DAY), None) == NeverDue()
    assert desk.put("s", spec(starts_at=now - 2 * DAY, ends_at=now - DAY), None) == NeverDue()
    assert desk.read() == Missing(None)


def test_it_ends(desk):
    start = desk.clock.now().replace(microsecond=0)
    desk.made(starts_at=start + 2 * HOUR, ends_at=start + 4 * HOUR)
    assert desk.pass_() == start + 2 * HOUR
    assert desk.newest().window_start == start + 2 * HOUR
    assert desk.pass_() == start + 3 * HOUR
    assert desk.read().next_at is None


def test_an_edit_records_what_was_due_by_the_old_spec(desk):
    """Then it begins anew: no run of the new spec is due before it was told, and none of the old one is lost."""
    made = desk.made(overlap="enqueue")
    desk.to(made.next_at, 1_800)
    told = desk.put("s", spec(every_seconds=900, overlap="enqueue"), 1).schedule
    run = desk.newest()
    assert (run.scheduled_at, run.spec_revision, told.revision) == (made.next_at, 1, 2)
    assert told.next_at > desk.clock.now()
    assert desk.tick(10) == 0
    desk.pass_()
    assert desk.newest().spec_revision == 2
    assert desk.newest().window_start == desk.newest().scheduled_at - timedelta(minutes=15)


def test_a_pause_is_one_range_and_no_burst(desk):
    made = desk.made()
    desk.to(made.next_at)
    paused = desk.pause("s").schedule
    assert desk.told() == [("waiting", 1)], "what was due before it is not lost"
    assert (paused.spec.paused, paused.next_at, desk.pause("s").changed) == (True, None, False)
    desk.to(made.next_at + 100 * HOUR)
    assert desk.tick(10) == 0
    resumed = desk.resume("s").schedule
    assert desk.told() == [("waiting", 1), ("skipped:paused", 100)]
    assert resumed.next_at == made.next_at + 101 * HOUR
    desk.pass_()
    assert desk.told()[1:] == [("skipped:paused", 100), ("waiting", 1)]
    assert desk.resume("s").changed is False


def test_an_edit_while_paused_tells_the_pause(desk):
    made = desk.made(paused=True)
    first = made.cursor.replace(minute=0, second=0, microsecond=0) + HOUR
    desk.to(first + 4 * HOUR)
    desk.put("s", spec(every_seconds=1_800), made.revision)
    assert desk.told() == [("skipped:paused", 5)]


def test_a_deleted_id_keeps_its_cursor(desk):
    """Made again, it runs nothing up to there, though its clock may have gone back; and says so."""
    desk.made()
    at = desk.pass_()
    assert desk.delete("s", 1) == Deleted(2)
    assert (desk.read(), desk.told()) == (Missing(2), [("waiting", 1)])
    assert desk.put("s", spec(), 2) == Missing(2)
    desk.to(at - 2 * HOUR)
    again = desk.put("s", spec(), None)
    assert (again.created, again.made_again, again.schedule.revision) == (True, True, 3)
    assert again.schedule.cursor >= at
    assert again.schedule.next_at == at + HOUR
    desk.to(at)
    assert desk.tick(10) == 0
    assert desk.told() == [("waiting", 1)]


def test_deleting_records_what_was_due(desk):
    made = desk.made()
    desk.to(made.next_at)
    desk.delete("s", 1)
    assert desk.told() == [("waiting", 1)]


def test_a_clock_that_steps_back_runs_nothing_again(desk):
    desk.made(overlap="enqueue")
    at = desk.pass_(3)
    desk.to(at - 3 * HOUR)
    assert desk.tick(10) == 0
    desk.put("s", spec(overlap="enqueue", every_seconds=1_800), 1)
    desk.to(at)
    assert desk.tick(10) == 0
    assert desk.told() == [("waiting", 1)] * 3
    assert desk.pass_() == at + HOUR / 2
    assert desk.told() == [("waiting", 1)] * 4


@pytest.mark.parametrize("every", [60, 1])
def test_ten_days_down(desk, every):
    """One pass, a few rows, one job, and every instant told."""
    made = desk.made(every_seconds=every, overlap="skip")
    desk.to(made.next_at + 10 * DAY)
    assert desk.tick(10) == 1
    told = desk.told()
    assert sum(count for _, count in told) == 10 * 86_400 // every + 1
    assert len(told) <= 4
    assert [outcome for outcome, _ in told if not outcome.startswith("skipped")] == ["waiting"]
    assert desk.work() == 1
    assert desk.tick(10) == 0


def test_a_pass_is_bounded(desk):
    """Schedules that would go beyond are left as they were, for the next pass."""
    for n in range(6):
        desk.made(f"s{n}", every_seconds=60, missed="all", overlap="enqueue", window_seconds=86_400)
    desk.to(desk.get("s0").next_at + HOUR * 3)
    passes = []
    while settled := desk.tick(100):
        passes.append(settled)
    assert passes == [100, 2]
    counts = [sum(run.count for run in desk.runs(f"s{n}", None, 200).items) for n in range(6)]
    assert counts == [181] * 6
    queued = desk.conn.execute("select count(*) from steadhold.jobs where workspace = %s", [desk.workspace])
    assert queued.fetchone() == (6 * 101,)


def test_new_zone_tables_move_what_is_to_come(desk, monkeypatch):
    made = desk.made()
    desk.conn.execute("select set_config('steadhold.zone_tables', %s, true)", [made.tables])
    due = "select duty from steadhold.due() where workspace = %s"
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == []
    monkeypatch.setattr("steadhold.schedules.instants.tables_version", lambda: "9999z")
    desk.conn.execute("select set_config('steadhold.zone_tables', '9999z', true)")
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == [("schedules.tables",)]
    assert desk.replan(10) == 1
    assert (desk.read().tables, desk.read().next_at) == ("9999z", made.next_at)
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == []


def test_old_runs_go_and_are_never_run_again(desk):
    """What is removed is remembered as a line before which nothing is backfilled."""
    made = desk.made(overlap="enqueue")
    first = desk.pass_(2) - HOUR
    desk.to(first, ticking.KEPT_SECONDS - 100)
    assert desk.forget(10) == 0
    desk.tick(10)
    desk.to(first, ticking.KEPT_SECONDS + 100)
    assert desk.forget(10) == 0, "their jobs have not ended"
    desk.work()
    assert desk.forget(10) == 1
    assert desk.forget(10) == 0
    assert desk.told()[0] == ("started", 1)
    assert desk.backfill("s", first, first + HOUR, "o") == RunsPruned(first)
    assert len(desk.backfill("s", first + SECOND, first + 2 * HOUR, "o").existing) == 1
    assert desk.read().made_at == made.made_at


def test_who_runs_longer_than_runs_are_kept_still_holds_others_up(desk):
    desk.made(overlap="skip")
    at = desk.pass_()
    desk.claim()
    desk.to(at, ticking.KEPT_SECONDS + 100)
    assert desk.forget(10) == 0
    desk.tick(10)
    assert "waiting" not in dict(desk.told())


def test_an_operation_asks_for_one_run(desk):
    """The same call again, as after a crash before its transaction was known to have committed, is the same run."""
    desk.made(overlap="enqueue")
    first = desk.trigger("s", "by-hand-1")
    desk.clock.move(60)
    assert desk.trigger("s", "by-hand-1") == first
    assert desk.trigger("s", "by-hand-2").run.job_id != first.run.job_id
    assert desk.told() == [("waiting", 1)] * 2


def test_what_an_older_server_cannot_read_holds_nobody_up(desk, monkeypatch):
    """A zone that its tables do not have yet: the schedule waits for a server that knows it, and others go on."""
    desk.made("a", every_seconds=None, cron="* * * * *", time_zone="Europe/Riga")
    at = desk.made("b", every_seconds=60).next_at
    desk.to(at)
    specs.cadence(spec(every_seconds=1))
    with monkeypatch.context() as older:
        older.setattr(specs, "_cadence", specs._cadence.__wrapped__)
        older.setattr(instants, "zone", lambda name: instants.ZoneFault(name, "not in these tables"))
        assert desk.tick(10) == 1
        assert desk.tick(10) == 0
    assert (desk.told("a"), desk.told("b")) == ([], [("waiting", 1)])
    assert desk.tick(10) == 1


def test_it_is_due_once_its_instant_is(desk):
    made = desk.made()
    due = "select duty from steadhold.due() where workspace = %s"
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == []
    desk.to(made.next_at)
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == [("schedules.tick",)]
    desk.tick(10)
    assert desk.conn.execute(due, [desk.workspace]).fetchall() == []


def test_the_list_is_by_id(desk):
    for id in ("b", "a", "c"):
        desk.made(id)
    desk.delete("c", 1)
    assert [found.id for found in desk.schedules("", 10).items] == ["a", "b"]
    assert [found.id for found in desk.schedules("", 10, ["b"]).items] == ["b"]
    page = desk.schedules("", 1)
    assert ([found.id for found in page.items], page.next_cursor is None) == (["a"], False)


def test_runs_come_in_pages(desk):
    desk.made(overlap="enqueue")
    at = desk.pass_(3)
    page = desk.runs("s", None, 2)
    assert [run.scheduled_at for run in page.items] == [at, at - HOUR]
    rest = desk.runs("s", (at - HOUR, False), 2)
    assert ([run.scheduled_at for run in rest.items], rest.next_cursor) == ([at - 2 * HOUR], None)
    assert desk.runs("other", None, 2) == Missing()


def test_a_job_may_begin_later_by_jitter(desk):
    made = desk.made(jitter_seconds=3_600)
    at = desk.pass_()
    run = desk.newest()
    assert run.scheduled_at == at == made.next_at
    assert desk.job(run.job_id).run_at == specs.delayed(spec(jitter_seconds=3_600), "s", at)
