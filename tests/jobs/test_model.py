"""The decisions, each a table; and that none leads off the graph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold import jobs
from steadhold.jobs import admission, answers, model, outcomes, settling, steering, verdicts
from steadhold.jobs.model import MOVES, STATES, Complete, Concurrency, Configuration, Coverage, Fail, Retry
from steadhold.jobs.verdicts import Standing
from steadhold.kit.limits import LAPSES_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE, AFTER = NOW - timedelta(seconds=1), NOW + timedelta(seconds=1)
EVEN = Retry(1, 10, 0)
CLASSES = ("transient", "timeout", "rate_limited", "interrupted", "permanent", "bug")


def standing(attempt=1, attempts_max=3, lapses=0, asked=False, deadline=None, timeout=None):
    return Standing("j", attempt, attempts_max, lapses, asked, deadline, timeout, NOW)


STANDINGS = st.builds(
    standing,
    attempt=st.integers(1, 4),
    attempts_max=st.integers(1, 4),
    lapses=st.integers(0, 4),
    asked=st.booleans(),
    deadline=st.sampled_from([None, BEFORE, NOW, AFTER]),
    timeout=st.sampled_from([None, BEFORE, NOW, AFTER]),
)


def permitted(move):
    return move.cause in MOVES["running", STATES[move.state]]


@given(at=STANDINGS, klass=st.sampled_from(CLASSES), progressed=st.booleans(), after=st.floats(0, 1e6))
def test_no_verdict_leaves_the_graph(at, klass, progressed, after):
    """Every verdict about a running job is an edge of the table, with a cause that the table names."""
    assert permitted(verdicts.failed(at, "x", "", klass, EVEN))
    assert permitted(verdicts.lapsed(at, EVEN, progressed=progressed))
    assert permitted(verdicts.released(after, cancel_requested=at.cancel_requested))
    assert permitted(verdicts.overdue())


@given(at=STANDINGS, klass=st.sampled_from(CLASSES), progressed=st.booleans())
def test_a_job_asked_to_cancel_is_never_due_again(at, klass, progressed):
    moves = [
        verdicts.failed(at, "x", "", klass, EVEN),
        verdicts.lapsed(at, EVEN, progressed=progressed),
        verdicts.released(0, cancel_requested=at.cancel_requested),
    ]
    assert not at.cancel_requested or all(move.state != model.ACCEPTED for move in moves)


def test_terminal_states_are_left_by_none():
    assert {source for source, _ in MOVES} == {"accepted", "running", "waiting"}
    assert {state for move in MOVES for state in move} == set(STATES)


def test_every_state_is_reached():
    reached, ahead = set(), ["accepted"]
    while ahead:
        state = ahead.pop()
        reached.add(state)
        ahead += [target for source, target in MOVES if source == state and target not in reached]
    assert reached == set(STATES)


@pytest.mark.parametrize(
    ("klass", "attempt", "state", "refund"),
    [
        ("transient", 1, "accepted", False),
        ("transient", 3, "failed", False),
        ("timeout", 2, "accepted", False),
        ("timeout", 3, "failed", False),
        ("rate_limited", 3, "accepted", True),
        ("interrupted", 3, "accepted", True),
        ("permanent", 1, "failed", False),
        ("bug", 1, "failed", False),
    ],
)
def test_what_a_failure_comes_to(klass, attempt, state, refund):
    move = verdicts.failed(standing(attempt), "x", "why", klass, EVEN)
    assert (STATES[move.state], move.refund) == (state, refund)
    assert (move.error_code, move.message, move.klass) == ("x", "why", klass)


@pytest.mark.parametrize(
    ("at", "progressed", "state", "code"),
    [
        (standing(), False, "accepted", None),
        (standing(lapses=1), False, "accepted", None),
        (standing(lapses=2), False, "failed", "poison"),
        (standing(lapses=2), True, "accepted", None),
        (standing(attempt=3), False, "failed", "lapsed"),
        (standing(attempt=3, lapses=2), False, "failed", "poison"),
        (standing(asked=True, lapses=2, deadline=BEFORE), False, "cancelled", None),
        (standing(deadline=NOW), True, "failed", "deadline"),
        (standing(deadline=AFTER), False, "accepted", None),
        (standing(timeout=NOW), False, "accepted", "timeout"),
        (standing(timeout=NOW, attempt=3), False, "failed", "timeout"),
        (standing(timeout=NOW, deadline=NOW), False, "failed", "deadline"),
    ],
)
def test_what_a_lapse_comes_to(at, progressed, state, code):
    move = verdicts.lapsed(at, EVEN, progressed=progressed)
    assert (STATES[move.state], move.error_code) == (state, code)


@given(lapses=st.integers(0, LAPSES_MAX - 2), attempt=st.integers(1, 100))
def test_a_lapse_alone_fails_no_job_with_attempts_left(lapses, attempt):
    move = verdicts.lapsed(standing(attempt, attempt + 1, lapses), EVEN, progressed=False)
    assert (move.state, move.lapses) == (model.ACCEPTED, lapses + 1)


@pytest.mark.parametrize(
    ("state", "outcome", "to"),
    [
        ("accepted", "cancelled", "cancelled"), ("waiting", "cancelled", "cancelled"), ("running", "requested", None),
        ("completed", "too_late", None), ("failed", "too_late", None), ("cancelled", "cancelled", None),
    ],
)  # fmt: skip
def test_what_a_request_to_cancel_comes_to(state, outcome, to):
    verdict = verdicts.cancelling(STATES.index(state))
    assert (verdict.outcome, None if verdict.state is None else STATES[verdict.state]) == (outcome, to)


def test_backoff_doubles_up_to_its_cap():
    assert [verdicts.backoff(EVEN, "j", attempt) for attempt in (1, 2, 3, 4, 5, 500)] == [1, 2, 4, 8, 10, 10]


@given(
    retry=st.builds(Retry, st.floats(0.01, 100), st.floats(0.01, 1e6), st.floats(0, 1)),
    id=st.uuids().map(str),
    attempt=st.integers(1, 10_000),
)
def test_jitter_only_shortens_and_by_no_more_than_its_share(retry, id, attempt):
    whole = verdicts.backoff(Retry(retry.base_seconds, retry.cap_seconds, 0), id, attempt)
    spread = verdicts.backoff(retry, id, attempt)
    assert whole * (1 - retry.jitter) * (1 - 1e-9) <= spread <= whole <= retry.cap_seconds
    assert spread == verdicts.backoff(retry, id, attempt)


@pytest.mark.parametrize(
    ("not_before", "at", "fault"),
    [
        (None, None, None), (None, BEFORE, None), (NOW, NOW, None), (NOW, AFTER, None),
        (NOW, None, outcomes.EvidenceRequired(NOW)), (NOW, BEFORE, outcomes.StaleEvidence(NOW)),
    ],
)  # fmt: skip
def test_evidence(not_before, at, fault):
    assert verdicts.evidence_fault(not_before, at) == fault


def test_the_union_reads_as_the_seed_writes_it():
    told = [jobs.Accepted("1"), jobs.Waiting("2"), jobs.Completed("3", "r"), jobs.Failed("4", "e"), jobs.Cancelled("5")]
    for job in told:
        assert msgspec.json.decode(msgspec.json.encode(job), type=model.Job) == job
    assert msgspec.to_builtins(told[2]) == {"job_id": "3", "state": "completed", "result_ref": "r"}
    assert msgspec.to_builtins(told[3]) == {"job_id": "4", "state": "failed", "error_code": "e"}


def test_other_words_have_another_digest():
    said = [
        Complete(), Complete(b"1"), Complete(None, "r"), Complete(coverage=Coverage("partial")),
        Complete(evidence_at=NOW), Fail("x"), Fail("x", "m"), Fail("x", klass="bug"), jobs.ConfirmCancel(),
        jobs.Release(), jobs.Release(1), jobs.Wait("s", jobs.Timer(1)), jobs.Wait("s", jobs.Signal("n"), NOW),
        jobs.Wait("s", jobs.JobEnd("n"), NOW),
    ]  # fmt: skip
    digests = [settling.words(each) for each in said]
    assert len(set(digests)) == len(said)
    assert digests == [settling.words(each) for each in said]


@pytest.mark.parametrize(
    ("reference", "content"),
    [
        (f"s3://x#sha256:{'ab' * 32}", bytes.fromhex("ab" * 32)),
        ("s3://x", model.digest(b"s3://x")),
        (f"s3://x#sha256:{'AB' * 32}", model.digest(f"s3://x#sha256:{'AB' * 32}".encode())),
        ("s3://x#sha256:ab", model.digest(b"s3://x#sha256:ab")),
    ],
)
def test_a_reference_may_bring_its_digest(reference, content):
    assert admission.input_digest(jobs.Submission("t", None, reference)) == content


@given(
    st.builds(
        Configuration,
        input_schema=st.sampled_from([None, b'{"type": "object"}', b"false"]),
        lease_seconds=st.floats(1, 3600),
        attempts_max=st.integers(1, 1000),
        timeout_seconds=st.none() | st.floats(0.1, 1e6),
        retry=st.builds(Retry, st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 1)),
        concurrency=st.builds(Concurrency, st.none() | st.integers(1, 9), st.integers(1, 9)),
        retention_seconds=st.none() | st.floats(0.1, 1e6),
        versions=st.lists(st.sampled_from(["1", "2"]), max_size=2).map(tuple),
    )
)
def test_a_configuration_is_read_as_it_was_written(configuration):
    assert verdicts.configuration(verdicts.stored(configuration)) == configuration


def refusals(*modules):
    named = (getattr(module, name) for module in modules for name in vars(module))
    return {kind for kind in named if isinstance(kind, type) and issubclass(kind, Refusal) and kind is not Refusal}


def test_every_refusal_of_the_room_is_a_problem():
    """Nothing that a verb can refuse lacks an answer."""
    whole = {admission.NothingAdmitted}  # a batch, answered item by item
    assert refusals(outcomes, steering, settling, admission) - whole - answers._SAID.keys() == set()


@pytest.mark.parametrize(
    "refusal",
    [
        StaleFence("job:x"), RevisionConflict(3), Missing(), outcomes.KeyConflict("x"),
        outcomes.InvalidInput((("/a", "no"),)), outcomes.JobEnded("x", "failed"), outcomes.StaleEvidence(NOW),
        outcomes.CheckpointConflict("s", b"d"), outcomes.SignalsFull("x", 3), outcomes.CountChanged(3),
    ],
)  # fmt: skip
def test_a_refusal_says_what_it_is(refusal):
    said = answers.refused(refusal)
    assert said.detail.endswith(".")
    assert answers.refused_item("x", refusal).code == said.code


def test_causes_are_told_once_each():
    assert all(len(set(causes)) == len(causes) for causes in MOVES.values())
