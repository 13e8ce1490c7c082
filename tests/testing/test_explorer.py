"""The explorer finds planted faults, passes sound statements, and never stops early without saying so."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest

from steadhold.kit.plan import rows
from steadhold.kit.sql import Sql
from steadhold.testing import Incomplete, Violation

pytestmark = [pytest.mark.races, pytest.mark.usefixtures("lab")]

MINE = "workspace = :workspace::text and id = 1"
LOCK = Sql("lab.lock", f"select 1 from lab.jobs where {MINE} for no key update", "jobs")
FINISH_UNFENCED = Sql("lab.finish_unfenced", f"update lab.jobs set state = 'completed' where {MINE}", "jobs")
FINISH_FENCED = Sql(
    "lab.finish_fenced",
    f"update lab.jobs set state = 'completed' where {MINE} and fence = :fence::int and state = 'running' returning id",
    "jobs",
)
RESCUE = Sql("lab.rescue", f"update lab.jobs set state = 'accepted' where {MINE} and state = 'running'", "jobs")
CLAIM = Sql(
    "lab.claim",
    f"update lab.jobs set state = 'running', fence = fence + 1 where {MINE} and state = 'accepted' returning fence",
    "jobs",
)
LATE = Sql("lab.late", "select 'an event'", "read")


def running_job(stage):
    stage.conn.execute(
        "insert into lab.jobs values (%s, 1, 'running', 1, steadhold.clock() + '60 s')", (stage.workspace,)
    )


def now(scene):
    return scene.conn.execute("select state, fence from lab.jobs where workspace = %s", (scene.workspace,)).fetchone()


def finish_unfenced(scene):
    yield from rows(FINISH_UNFENCED, workspace=scene.workspace)
    yield from rows(LATE)


def finish_fenced(scene):
    done = yield from rows(FINISH_FENCED, workspace=scene.workspace, fence=1)
    yield from rows(LATE)
    return bool(done)


def rescue_and_claim(scene):
    yield from rows(RESCUE, workspace=scene.workspace)
    got = yield from rows(CLAIM, workspace=scene.workspace)
    return got[0][0] if got else None


def old_holder_never_completes(scene):
    state, fence = now(scene)
    assert not (state == "completed" and fence == 2), "the old holder completed what another holds"


def test_sound_statements_pass_in_every_interleaving(explore):
    seen = explore(
        setup=running_job,
        actors={"old": finish_fenced, "new": rescue_and_claim},
        always=old_holder_never_completes,
    )
    assert (seen.interleavings, seen.waits) == (6, 4)  # whoever is second waits from one of three boundaries on
    assert {(outcome["old"], outcome["new"]) for outcome in seen.outcomes} == {(True, None), (False, 2)}


def test_a_planted_fault_is_found_told_and_played_again(explore):
    race = {
        "setup": running_job,
        "actors": {"old": finish_unfenced, "new": rescue_and_claim},
        "always": old_holder_never_completes,
    }
    with pytest.raises(Violation) as found:
        explore(**race)
    told = str(found.value)
    assert "the old holder completed what another holds" in told
    assert "waits for new" in told
    assert "…" in told, "that the actor held up went on by itself is recorded"
    assert "old ended with None" in told
    with pytest.raises(Violation) as again:
        explore(**race, schedule=found.value.schedule)
    assert again.value.schedule == found.value.schedule


def test_a_limit_that_cuts_the_walk_short_fails_it(explore):
    race = {
        "setup": running_job,
        "actors": {"old": finish_fenced, "new": rescue_and_claim},
        "always": old_holder_never_completes,
    }
    every = explore(**race).interleavings
    assert explore(**race, limit=every).interleavings == every
    with pytest.raises(Incomplete, match=f"{every - 1} schedules ran and more wait"):
        explore(**race, limit=every - 1)


def test_without_locks_all_interleavings_are_played(explore):
    def two_readings(scene):
        for _ in range(2):
            yield from rows(LATE)

    seen = explore(setup=running_job, actors={"a": two_readings, "b": two_readings}, always=lambda _: True)
    assert (seen.interleavings, seen.waits) == (20, 0)  # 6 over 3: two statements and a COMMIT each
    three = explore(setup=running_job, actors=dict.fromkeys("abc", lambda _: rows(LATE)), always=lambda _: True)
    assert three.interleavings == 90  # 6! / 2!³


FINISH_IN_TIME = Sql(
    "lab.finish_in_time",
    f"update lab.jobs set state = 'completed' where {MINE} and until > steadhold.clock()"
    " returning until, steadhold.clock()",  # evaluated once the row is locked
    "jobs",
)


def completes_in_time(scene):
    for until, completed_at in scene.outcomes["old"]:
        assert completed_at < until, "completed after its lease had ended"


def stranger(scene):
    yield from rows(LOCK, workspace=scene.workspace)


def test_the_clock_moves_while_an_actor_waits_for_a_lock(explore):
    """A WHERE is not evaluated again after a wait unless the row changed: law 2's reason, found by the explorer."""

    def tested_in_where(scene):
        return (yield from rows(FINISH_IN_TIME, workspace=scene.workspace))

    def tested_under_the_lock(scene):
        yield from rows(LOCK, workspace=scene.workspace)
        return (yield from rows(FINISH_IN_TIME, workspace=scene.workspace))

    race = {"setup": running_job, "always": completes_in_time, "clock_moves": {"past lease": 61}}
    with pytest.raises(Violation, match="completed after its lease had ended") as found:
        explore(actors={"old": tested_in_where, "stranger": stranger}, **race)
    assert "past lease" in found.value.schedule
    seen = explore(actors={"old": tested_under_the_lock, "stranger": stranger}, **race)
    assert seen.clock_moves > 0
    assert {len(outcome["old"]) for outcome in seen.outcomes} == {0, 1}


def test_the_clock_moves_at_each_boundary_where_it_can_matter(explore):
    """Before all, after each step that asked for the time, and never: at other boundaries it changes nothing."""
    ask = Sql("lab.ask", "select steadhold.clock()", "read")
    race = {"setup": running_job, "always": lambda _: True, "clock_moves": {"later": 61}}
    asking = explore(actors={"a": lambda _: rows(ask), "b": lambda _: rows(ask)}, **race)
    assert (asking.interleavings, asking.clock_moves) == (6 * 4, 6 * 3)
    silent = explore(actors={"a": lambda _: rows(LATE), "b": lambda _: rows(LATE)}, **race)
    assert (silent.interleavings, silent.clock_moves) == (6 * 2, 6)


def test_each_schedule_begins_at_the_real_time(explore):
    def on_time(conn):
        return conn.execute("select abs(extract(epoch from steadhold.clock() - clock_timestamp())) < 30").fetchone()[0]

    def setup(stage):
        assert on_time(stage.conn)

    def moved_as_told(scene):
        assert on_time(scene.conn) is not any(line.who == "later" for line in scene.trace)

    race = {"setup": setup, "actors": {"a": lambda _: rows(LATE)}, "clock_moves": {"later": 61}}
    seen = explore(always=moved_as_told, **race)
    assert (seen.interleavings, seen.clock_moves) == (2, 1)


def test_several_clock_moves_come_in_each_order_that_differs(explore):
    ask = Sql("lab.ask", "select steadhold.clock()", "read")
    moves = {"on": 61, "back": -5}
    seen = explore(setup=running_job, actors={"a": lambda _: rows(ask)}, always=lambda _: True, clock_moves=moves)
    assert seen.interleavings == 3 * 3  # each before the question, after it, or never


def test_several_turns_commit_one_after_the_other(explore):
    def claims(scene):
        def rescue():
            yield from rows(RESCUE, workspace=scene.workspace)
            return "rescued"

        def claim(before):
            assert before == "rescued"
            return rows(CLAIM, workspace=scene.workspace)

        return [rescue(), claim]

    seen = explore(setup=running_job, actors={"new": claims}, always=lambda scene: now(scene) == ("running", 2))
    assert seen.interleavings == 1
    assert seen.outcomes == [{"new": [(2,)]}]


def test_a_deadlock_is_a_violation_unless_expected(explore):
    def two(stage):
        running_job(stage)
        stage.conn.execute("insert into lab.jobs values (%s, 2, 'running', 1, now())", (stage.workspace,))

    take = Sql("lab.take", "select 1 from lab.jobs where workspace = :w::text and id = :id::int for update", "jobs")

    def in_order(*ids):
        def part(scene):
            for id_ in ids:
                yield from rows(take, w=scene.workspace, id=id_)

        return part

    race = {"setup": two, "always": lambda _: True}
    with pytest.raises(Violation, match="DeadlockDetected"):
        explore(actors={"a": in_order(1, 2), "b": in_order(2, 1)}, **race)
    assert explore(actors={"a": in_order(1, 2), "b": in_order(1, 2)}, **race).waits > 0


def test_three_may_queue_for_one_row(explore):
    def accepted_job(stage):
        stage.conn.execute("insert into lab.jobs values (%s, 1, 'accepted', 0, now())", (stage.workspace,))

    def one_claims(scene):
        assert sorted(map(len, scene.outcomes.values())) == [0, 0, 1]

    claims = dict.fromkeys("abc", lambda scene: rows(CLAIM, workspace=scene.workspace))
    seen = explore(setup=accepted_job, actors=claims, always=one_claims)
    # An UPDATE that waited holds the row even when it then passes it by, so the third waits for the second's COMMIT.
    assert (seen.interleavings, seen.waits) == (3 * 14, 3 * 10)
    assert {name for outcome in seen.outcomes for name, got in outcome.items() if got} == set("abc")


def test_an_actor_that_waits_for_a_stranger_proves_nothing(explore, database, monkeypatch):
    knock = Sql("lab.knock", "select pg_advisory_xact_lock(77)", "jobs")
    waits = "select count(*) * 3600 from pg_locks where locktype = 'advisory' and not granted and objid = 77"
    with database.connect() as outsider:
        passed = itertools.accumulate(outsider.execute(waits).fetchone()[0] for _ in itertools.count())
        monkeypatch.setattr("steadhold.testing.schedule.time", SimpleNamespace(monotonic=passed.__next__))
        outsider.execute("select pg_advisory_lock(77)")
        with pytest.raises(Incomplete, match=r"stuck, though no actor is in the way[^$]*advisory"):
            explore(setup=running_job, actors={"a": lambda _: rows(knock)}, always=lambda _: True)


def test_an_error_in_a_promise_names_its_schedule(explore):
    with pytest.raises(ZeroDivisionError) as found:
        explore(setup=running_job, actors={"new": rescue_and_claim}, always=lambda _: 1 / 0)
    assert found.value.__notes__ == ['in the schedule "new, new, new"']


def test_a_promise_between_steps_sees_what_is_committed(explore):
    seen_states = set()

    def between(scene):
        seen_states.add(now(scene))

    explore(setup=running_job, actors={"new": rescue_and_claim}, always=lambda _: True, between=between)
    assert seen_states == {("running", 1), ("running", 2)}


def test_plans_that_differ_each_time_are_refused(explore):
    turns = iter(range(100))

    def fickle(scene):
        for _ in range(next(turns) % 3 + 1):
            yield from rows(LATE)

    with pytest.raises(Incomplete, match="must do the same each time"):
        explore(setup=running_job, actors={"a": fickle, "b": fickle}, always=lambda _: True)


@pytest.mark.parametrize("told", [False, "no"])
def test_a_promise_may_answer_what_is_wrong(explore, told):
    with pytest.raises(Violation, match=str(told)):
        explore(setup=running_job, actors={"new": rescue_and_claim}, always=lambda _: told)
