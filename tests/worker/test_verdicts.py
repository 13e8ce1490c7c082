"""How each way for a handler to end is judged."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from steadhold.context import Unresolved
from steadhold.jobs.model import Complete, ConfirmCancel, Coverage, Release
from steadhold.jobs.model import Fail as Failure
from steadhold.jobs.outcomes import CancelNotRequested, Claimed, EvidenceRequired, Settled, StaleEvidence
from steadhold.kit.limits import JOB_RESULT_BYTES_MAX, TEXT_CHARS_MAX
from steadhold.worker.verdicts import (
    Cancel,
    CancelRequested,
    Done,
    Fail,
    LeaseLost,
    Permanent,
    RateLimited,
    Retry,
    Snooze,
    StageFault,
    Suspended,
    instead,
    judge,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
JOB = Claimed(
    "01980000-0000-7000-8000-000000000001", 7, 30.0, NOW, 2, "01980000-0000-7000-8000-000000000001", "report", 0, 1, 5,
    0, b"null", None, b"", None, NOW, None, None, None, None, None,
)  # fmt: skip
HALF = Coverage("partial", 10, 5)

VERDICTS = {
    "nothing": (None, Complete()),
    "a value": ({"a": [1, 0.5]}, Complete(b'{"a":[1,0.5]}')),
    "false is a value": (False, Complete(b"false")),
    "done": (Done([1], coverage=HALF, evidence_at=NOW), Complete(b"[1]", None, HALF, NOW)),
    "done elsewhere": (Done(result_ref="s3://a/b"), Complete(None, "s3://a/b")),
    "done with coverage alone": (Done(coverage=HALF), Complete(b"null", None, HALF)),
    "retry": (Retry("Not yet."), Failure("retry", "Not yet.", "transient")),
    "snooze": (Snooze(5), Release(5)),
    "cancel": (Cancel(), ConfirmCancel()),
    "fail": (Fail("no_such_account", "Gone."), Failure("no_such_account", "Gone.", "permanent")),
    "fail by class": (Fail("slow", klass="timeout"), Failure("slow", "", "timeout")),
    "any exception": (ValueError("what came"), Failure("ValueError", "what came", "transient")),
    "what came from outside": (
        AttributeError("None has no x"),
        Failure("AttributeError", "None has no x", "transient"),
    ),
    "time is up": (TimeoutError("slow"), Failure("timeout", "slow", "timeout")),
    "rate limited": (RateLimited("429"), Failure("rate_limited", "429", "rate_limited")),
    "permanent": (Permanent("bad_account", "Closed."), Failure("bad_account", "Closed.", "permanent")),
    "a bug": (NameError("x"), Failure("NameError", "x", "bug")),
    "a stage that does not fit": (StageFault("other"), Failure("StageFault", "other", "bug")),
    "leaving the process": (SystemExit(3), Failure("SystemExit", "3", "bug")),
    "cancelled": (CancelRequested("stop"), ConfirmCancel()),
    "lost": (LeaseLost("gone"), None),
    "waiting": (Suspended(), None),
    "a code that is no id": (Permanent("no such\nthing"), Failure("no_such_thing", "no such\nthing", "permanent")),
    "no code": (Fail(""), Failure("failed", "", "permanent")),
    "a code without end": (Fail("é" * 300), Failure("_" * 200, "", "permanent")),
    "text that no database holds": (ValueError("a\0\ud800b"), Failure("ValueError", "a�?b", "transient")),
    "text without end": (ValueError("x" * 99_999), Failure("ValueError", "x" * TEXT_CHARS_MAX, "transient")),
}


@pytest.mark.parametrize("result, said", VERDICTS.values(), ids=VERDICTS)
def test_an_end_is_judged(result, said):
    assert judge(JOB, result) == said


UNSAID = [
    Snooze(-5), Snooze(float("nan")), Snooze("1"), Snooze(1e9), Retry(404), Retry("x", 404), Fail(404),
    Fail("x", klass="odd"), Permanent(404), Done(evidence_at=NOW.replace(tzinfo=None)), Done(evidence_at="2026-01-01"),
    Done(evidence_at=datetime.max.replace(tzinfo=UTC)), Done(result_ref=404), Done(result_ref=""),
    Done(result_ref="\ud800"), Done(1, coverage="partial"), Done(1, coverage=Coverage("odd")),
    Done(1, coverage=Coverage("partial", "7")), Done(1, coverage=Coverage("partial", 7, -1)),
]  # fmt: skip


@pytest.mark.parametrize("result", UNSAID, ids=repr)
def test_a_verdict_that_cannot_be_said_is_a_bug(result):
    said = judge(JOB, result)
    assert (said.error_code, said.klass) == ("bad_verdict", "bug")


@pytest.mark.parametrize("result", [object(), float("nan"), {1: 2}, "\ud800", Done({1, 2})])
def test_a_result_that_is_no_json_is_a_bug(result):
    said = judge(JOB, result)
    assert (said.error_code, said.klass) == ("bad_result", "bug")
    assert "report" in said.message


def test_a_result_that_is_too_large_is_a_bug():
    assert judge(JOB, "x" * (JOB_RESULT_BYTES_MAX - 2)) == Complete(b'"%s"' % (b"x" * (JOB_RESULT_BYTES_MAX - 2)))
    said = judge(JOB, "x" * (JOB_RESULT_BYTES_MAX - 1))
    assert (said.error_code, said.klass) == ("result_too_large", "bug")


@pytest.mark.parametrize(
    "refused, code, klass",
    [
        (EvidenceRequired(NOW), "evidence_required", "bug"),
        (StaleEvidence(NOW), "stale_evidence", "transient"),
        (Unresolved("context:n"), "unknown_reference", "bug"),
        (CancelNotRequested(JOB.id), "cancel_not_requested", "bug"),
    ],
)
def test_a_job_that_still_runs_after_a_refusal_is_settled_otherwise(refused, code, klass):
    said = instead(refused)
    assert (said.error_code, said.klass) == (code, klass)


def test_what_was_settled_stays_so():
    assert instead(Settled(JOB.id, "completed", 3)) is None
    assert instead(None) is None
