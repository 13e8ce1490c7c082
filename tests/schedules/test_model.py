"""What is decided of instants: each in exactly one decision, bounded work, and runs that answer for what they cover."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.limits import MISSED_RUNS_MAX, SCHEDULE_LATE_SECONDS_MAX
from steadhold.schedules import model
from steadhold.schedules import spec as specs
from steadhold.schedules.model import Place, Range, Skip, Span, Standing, Start, Widen, settle
from steadhold.schedules.spec import Job, Spec

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECOND, MINUTE, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(days=1)
IDLE = Standing(NOON - 30 * DAY)


def spec(**said):
    return Spec(job=Job("t"), **({"every_seconds": 60} | said))


def place(at, **said):
    return Place(at, manual=False, job_id="j", trigger_id="r", window_start=at - MINUTE, **said)


def instants_of(told, decision):
    """Every instant that a decision is about, walked."""
    if isinstance(decision, Skip):
        found = [one.at for one in specs.between(told, decision.span.first - SECOND, decision.span.last)]
        assert len(found) == decision.span.count
        return found
    fresh = [*decision.absorbs, *([decision.fresh] if isinstance(decision, Start) else [])]
    return [run.scheduled_at for run in fresh]


def outcomes(told, decisions):
    """What each instant came to, in a word."""
    words = {}
    for decision in decisions:
        for at in instants_of(told, decision):
            own = isinstance(decision, Start) and decision.fresh.scheduled_at == at
            words[at] = decision.reason if isinstance(decision, Skip) else "run" if own else "coalesced"
    return [words[at] for at in sorted(words)]


CADENCES = st.sampled_from(
    [
        {"every_seconds": 1}, {"every_seconds": 7}, {"every_seconds": 60}, {"every_seconds": 86_400},
        {"every_seconds": None, "cron": "* * * * *", "time_zone": "UTC"},
        {"every_seconds": None, "cron": "*/5 * * * *", "time_zone": "America/New_York"},
        {"every_seconds": None, "cron": "30 1,2 * * *", "time_zone": "Europe/Berlin", "fold": "both"},
        {"every_seconds": None, "at": NOON + MINUTE},
    ]
)  # fmt: skip
BOUNDS = st.sampled_from([{}, {"starts_at": NOON + MINUTE}, {"ends_at": NOON + 5 * MINUTE}])
POLICIES = st.fixed_dictionaries(
    {
        "missed": st.sampled_from(["skip", "latest", "all"]),
        "window_seconds": st.sampled_from([1, 90, 3_600]),
        "max_runs": st.integers(1, 5),
        "overlap": st.sampled_from(["skip", "coalesce", "enqueue"]),
        "paused": st.booleans(),
    }
)
STANDINGS = st.sampled_from(
    [
        IDLE,
        Standing(NOON, busy=True),
        Standing(NOON, waiting=(place(NOON - MINUTE),), busy=True),
        Standing(NOON, waiting=(place(NOON - MINUTE), place(NOON + 3 * DAY)), busy=True),
    ]
)


@given(CADENCES, BOUNDS, POLICIES, STANDINGS, st.integers(0, 7_300))
def test_each_due_instant_is_in_exactly_one_decision(cadence, bounds, policies, standing, seconds):
    """Whatever the policies, nothing due is lost, doubled, or run before its time; the cursor ends at the last."""
    told = spec(**cadence, **bounds, **policies)
    now = NOON + timedelta(seconds=seconds)
    due = [one.at for one in specs.between(told, NOON, now)]
    said = settle(told, NOON, now, standing)
    decided = [at for decision in said.decisions for at in instants_of(told, decision)]
    assert decided == due
    assert said.cursor == (due[-1] if due else NOON)
    assert said.next_at is None or said.next_at > now
    again = settle(told, said.cursor, now, standing)
    assert again.decisions == ()


@given(CADENCES, POLICIES, STANDINGS, st.integers(0, 7_300))
def test_runs_are_few_and_the_newest(cadence, policies, standing, seconds):
    """However many were missed, at most `max_runs` late ones run, within the window; paused, none does."""
    told = spec(**cadence, **policies)
    now = NOON + timedelta(seconds=seconds)
    late, kept = now - timedelta(seconds=SCHEDULE_LATE_SECONDS_MAX), now - timedelta(seconds=told.window_seconds)
    decisions = settle(told, NOON, now, standing).decisions
    started = [at for said in decisions if not isinstance(said, Skip) for at in instants_of(told, said)]
    old = [at for at in started if at <= late]
    most = {"skip": 0, "latest": 1, "all": told.max_runs}[told.missed]
    assert len(old) <= most
    assert all(at > kept for at in old)
    assert not (told.paused and started)


@given(CADENCES, POLICIES, STANDINGS, st.integers(0, 7_300), st.integers(1, 7_300))
def test_it_does_not_matter_when_it_is_looked_at_while_all_is_on_time(cadence, policies, standing, seconds, more):
    """A clock that steps back, or a pass that finds nothing due, decides nothing."""
    told = spec(**cadence, **policies)
    now = NOON + timedelta(seconds=seconds)
    said = settle(told, NOON, now, standing)
    back = settle(told, said.cursor, now - timedelta(seconds=more), standing)
    assert (back.decisions, back.cursor) == ((), said.cursor)


@pytest.mark.parametrize("every", [60, 1])
@pytest.mark.parametrize(
    "policy, runs, reasons",
    [("skip", 1, ["missed"]), ("latest", 1, ["missed_window", "superseded"]), ("all", 101, ["missed_window", "cap"])],
)
def test_ten_days_down_are_a_few_rows(every, policy, runs, reasons):
    """Bounded work, policy obeyed, every instant told, in ranges where it did not run."""
    told = spec(every_seconds=every, missed=policy, overlap="enqueue", window_seconds=86_400)
    decisions = settle(told, NOON - 10 * DAY, NOON, IDLE).decisions
    skips = [said for said in decisions if isinstance(said, Skip)]
    started = [said for said in decisions if isinstance(said, Start)]
    on_time = SCHEDULE_LATE_SECONDS_MAX // every
    assert [skip.reason for skip in skips] == reasons
    assert len(started) == runs - 1 + on_time
    assert sum(skip.span.count for skip in skips) + len(started) == 10 * 86_400 // every
    assert started[-1].fresh.scheduled_at == NOON


def test_a_cron_of_every_minute_is_counted_without_walking():
    told = spec(every_seconds=None, cron="* * * * *", time_zone="Europe/Berlin")
    (window, newer, run) = settle(told, NOON - 3_650 * DAY, NOON, IDLE).decisions
    assert window.span.count + newer.span.count + 1 == 3_650 * 1_440
    assert run.covers == (newer.span,)


def test_who_comes_a_little_late_is_on_time():
    """What is recorded within the bound runs by its overlap alone, whatever is done about missed instants."""
    told = spec(missed="skip", overlap="enqueue")
    assert outcomes(told, settle(told, NOON, NOON + MINUTE + 59 * SECOND, IDLE).decisions) == ["run"]
    assert outcomes(told, settle(told, NOON, NOON + 2 * MINUTE, IDLE).decisions) == ["missed", "run"]


def test_the_latest_stands_for_what_was_missed():
    told = spec(overlap="enqueue")
    skip, run = settle(told, NOON, NOON + 10 * MINUTE + SECOND, IDLE).decisions
    assert (skip.reason, skip.span) == ("superseded", Span(NOON + MINUTE, NOON + 9 * MINUTE, 9))
    assert (run.window_start, run.covers) == (NOON, (skip.span,))


def test_all_run_in_their_order():
    told = spec(missed="all", max_runs=3, overlap="enqueue")
    decisions = settle(told, NOON, NOON + 10 * MINUTE + SECOND, IDLE).decisions
    assert outcomes(told, decisions) == ["cap"] * 6 + ["run"] * 4
    assert [said.window_start for said in decisions[1:]] == [NOON + n * MINUTE for n in range(6, 10)]


@pytest.mark.parametrize("busy, words", [(True, ["overlap"] * 3), (False, ["run", "overlap", "overlap"])])
def test_skip_lets_one_run(busy, words):
    told = spec(every_seconds=10, overlap="skip")
    decisions = settle(told, NOON, NOON + 31 * SECOND, Standing(NOON, busy=busy)).decisions
    assert outcomes(told, decisions) == words


def test_coalesce_leaves_one_place():
    """The newest takes the place of all that wait, and stands for them and for what came due with it."""
    told = spec(every_seconds=10)
    waiting = (place(NOON - 10 * SECOND, covers=(Span(NOON - 30 * SECOND, NOON - 20 * SECOND, 2),)),)
    (run,) = settle(told, NOON, NOON + 31 * SECOND, Standing(NOON, waiting=waiting)).decisions
    assert [fresh.scheduled_at for fresh in run.absorbs] == [NOON + 10 * SECOND, NOON + 20 * SECOND]
    assert run.replaces == waiting
    assert run.covers == (
        Span(NOON - 30 * SECOND, NOON - 10 * SECOND, 3),
        Span(NOON + 10 * SECOND, NOON + 20 * SECOND, 2),
    )
    assert run.window_start == NOON - 10 * SECOND - MINUTE


def test_older_instants_join_the_one_that_waits():
    """What is backfilled takes no place from a newer run: that one stands for it too, by another job."""
    told, newer = spec(), place(NOON)
    runs = [model.fresh(told, one, NOON) for one in specs.between(told, NOON - 5 * MINUTE, NOON - 3 * MINUTE)]
    (said,) = model.overlapped(told, runs, Standing(NOON, waiting=(newer, place(NOON - 2 * MINUTE))))
    assert isinstance(said, Widen)
    assert (said.place, said.absorbs) == (newer, tuple(runs))
    assert said.covers == (Span(NOON - 4 * MINUTE, NOON - 2 * MINUTE, 3),)
    assert [place.scheduled_at for place in said.replaces] == [NOON - 2 * MINUTE]
    assert said.window_start == NOON - 5 * MINUTE


def test_covers_stay_few():
    """Spans that do not touch each other are told as one once they are too many: none is lost."""
    told = spec()
    spans = [Span(NOON + 2 * n * MINUTE, NOON + 2 * n * MINUTE, 1) for n in range(300)]
    found = model.merged(told, spans)
    assert len(found) == model.COVERS_MAX
    assert sum(span.count for span in found) == 300
    assert (found[0].first, found[-1].last) == (spans[0].first, spans[-1].last)


@pytest.mark.parametrize(
    "reason, grows", [("overlap", True), ("paused", False)], ids=["the same reason", "another reason"]
)
def test_a_range_goes_on_for_the_same_reason(reason, grows):
    told = spec(overlap="skip")
    before = Range(reason, NOON - 3 * MINUTE, NOON, 4)
    (skip,) = settle(told, NOON, NOON + MINUTE, Standing(NOON, before, busy=True)).decisions
    assert (skip.reason, skip.grows) == ("overlap", grows)


def test_what_runs_once_answers_from_its_beginning():
    told = spec(every_seconds=None, at=NOON + DAY)
    (run,) = settle(told, NOON, NOON + DAY, Standing(NOON)).decisions
    assert (run.window_start, run.fresh.scheduled_at) == (NOON, NOON + DAY)
    assert settle(told, NOON, NOON + DAY, Standing(NOON)).next_at is None


@given(st.integers(0, 10_000), st.sampled_from([1, 10, 600]))
def test_jitter_is_the_same_each_time_and_never_passes_the_next(n, seconds):
    told = spec(jitter_seconds=seconds)
    at = NOON + n * MINUTE
    put_off = specs.delayed(told, "s", at)
    assert put_off == specs.delayed(told, "s", at)
    assert at <= put_off < at + min(MINUTE, timedelta(seconds=seconds))


def test_a_run_has_one_identity_and_a_manual_one_another():
    one = specs.trigger_id("s", NOON)
    assert one == specs.trigger_id("s", NOON.astimezone(UTC))
    assert (
        len({one, specs.trigger_id("t", NOON), specs.trigger_id("s", NOON + SECOND), specs.trigger_id("s", "op")}) == 4
    )
    assert specs.job_id(one, NOON) == specs.job_id(one, NOON) != specs.job_id(one, NOON, 1)


def test_a_spec_is_kept_whole():
    told = spec(
        starts_at=NOON, ends_at=NOON + DAY, overlap="enqueue", sequential=True, freshness_seconds=9,
    )  # fmt: skip
    told = msgspec.structs.replace(told, job=Job("t", b'{"a": 1.10}', tags=("x",), deadline_seconds=4))
    assert specs.read(specs.stored(told)) == told
    assert told.max_runs == MISSED_RUNS_MAX


def test_large_specs_are_not_kept_in_memory():
    small, large = (specs.stored(Spec(job=Job("t", b"1" * size), every_seconds=9)) for size in (10, 10_000))
    assert specs.read(small) is specs.read(bytes(small))
    assert specs.read(large) is not specs.read(large)
    assert specs.read(large) == specs.read(large)
