"""Problems as exceptions: every class stands for a code of the server, and every code becomes an exception."""

from __future__ import annotations

import pickle

import pytest

from steadhold.sdk import errors
from steadhold.sdk.grammar import Got
from steadhold.web import problem
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS

MEDIA = {"content-type": problem.MEDIA_TYPE}


def answered(code, **extras):
    body = problem.encode(Problem(code, "Because.", extras))
    return Got(PROBLEMS[code].status, {**MEDIA, "retry-after": "3", "operation-id": "op"}, body)


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_code_of_the_server_is_an_exception(code):
    made = errors.problem_of(answered(code, current_revision=4))
    kind = PROBLEMS[code]
    assert (made.code, made.status, made.title, made.next) == (code, kind.status, kind.title, kind.next)
    assert (made.detail, made.extras, made.retry_after, made.operation_id) == (
        "Because.", {"current_revision": 4}, 3.0, "op",
    )  # fmt: skip
    assert type(made) is errors.Problem.codes.get(code, errors.Problem)
    assert str(made) == f"{kind.status} {code}: Because. (current_revision=4)"


@pytest.mark.parametrize("code", errors.Problem.codes)
def test_every_class_stands_for_a_code_that_the_server_has(code):
    assert code in PROBLEMS


@pytest.mark.parametrize(
    "body, media",
    [
        (b"<html>", "text/html"), (b"{", problem.MEDIA_TYPE), (b"[]", problem.MEDIA_TYPE),
        (b"\xff", problem.MEDIA_TYPE), (b'{"code": 7}', problem.MEDIA_TYPE), (b'{"code": "busy"}', "application/json"),
    ],
)  # fmt: skip
def test_what_is_no_problem_of_ours_has_the_status_for_a_code(body, media):
    made = errors.problem_of(Got(418, {"content-type": media}, body))
    assert (type(made), made.code, made.status) == (errors.Problem, "http_418", 418)
    assert "none of steadhold's" in made.detail


def test_members_of_another_type_are_not_given_out():
    made = errors.problem_of(answered("condition_false", current_revision="seven"))
    assert isinstance(made, errors.RevisionConflict)
    assert made.current_revision is None


@pytest.mark.parametrize("text, seconds", [("7", 7.0), ("", None), ("soon", None), ("-1", None), (None, None)])
def test_retry_after_is_a_number_of_seconds(text, seconds):
    headers = {} if text is None else {"retry-after": text}
    assert errors.problem_of(Got(429, headers)).retry_after == seconds


@pytest.mark.parametrize(
    "error",
    [errors.problem_of(answered("stale_fence", subject="job:j")), errors.OutcomeUnknown("op", "It broke.")],
    ids=["problem", "unknown"],
)
def test_errors_cross_processes(error):
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (type(error), str(error))


def test_a_problem_is_one_line_with_all_that_it_says():
    made = errors.problem_of(answered("artifact_mismatch", artifact={"hash": "h", "at": {"n": 7}}, list=""))
    assert str(made) == "409 artifact_mismatch: Because. (artifact.hash='h', artifact.at.n=7)"
