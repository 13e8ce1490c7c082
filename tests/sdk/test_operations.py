"""client.operations: an unknown outcome becomes a definite one."""

from __future__ import annotations

import httpx2
import pytest

from steadhold.sdk.errors import NotFound, OperationExpired, OutcomeUnknown
from tests.sdk.answers import ABANDONED, COMMITTED, WRITTEN
from tests.sdk.conftest import problem


def test_resolve_gives_the_receipt(each_client, server):
    server.then(COMMITTED)
    receipt = each_client.operations.resolve("x")
    assert (receipt.committed, receipt.revision, receipt.result) == (True, 2, {"name": "a", "revision": 2})
    assert server.asked == ["GET /v1/operations/x?wait_seconds=5"]


@pytest.mark.parametrize("came, committed", [(ABANDONED, False), (COMMITTED, True)])
def test_resolve_abandons_what_is_not_committed_and_the_receipt_says_which(each_client, server, came, committed):
    server.then(problem(404, "operation_not_committed"), came)
    assert each_client.operations.resolve("x").committed is committed
    assert server.asked[-1] == "POST /v1/operations/x/abandon"


def test_resolve_may_send_again_instead(each_client, server):
    server.then(*[httpx2.ReadTimeout] * 11)
    with pytest.raises(OutcomeUnknown) as caught:
        each_client.state.put("a", 1, if_revision=1)
    tries = len(server.requests)
    server.answers.clear()
    server.then(problem(404, "operation_not_committed"), WRITTEN, COMMITTED)
    assert each_client.operations.resolve(caught.value, resend=True).committed
    again = server.requests[tries + 1]
    first = server.requests[0]
    assert (again.method, again.url, again.content, again.headers["if-match"], again.headers["idempotency-key"]) == (
        first.method, first.url, first.content, first.headers["if-match"], first.headers["idempotency-key"],
    )  # fmt: skip


@pytest.mark.parametrize("came", [httpx2.Response(404, html="<h1>gone</h1>"), httpx2.Response(302)])
def test_what_was_sent_again_and_answered_by_a_stranger_stays_unknown(each_client, server, came):
    server.then(*[httpx2.ReadTimeout] * 11)
    with pytest.raises(OutcomeUnknown) as first:
        each_client.state.put("a", 1, if_revision=1)
    server.answers.clear()
    server.then(problem(404, "operation_not_committed"), came)
    with pytest.raises(OutcomeUnknown) as second:
        each_client.operations.resolve(first.value, resend=True)
    assert second.value.operation_id == first.value.operation_id


def test_to_send_again_needs_the_request(each_client):
    with pytest.raises(TypeError, match="resend"):
        each_client.operations.resolve("x", resend=True)


def test_what_has_no_receipt_is_not_abandoned(each_client, server):
    """A settlement may have taken effect: to call it abandoned would be a lie."""
    server.then(*[httpx2.ReadTimeout] * 100)
    with pytest.raises(OutcomeUnknown, match="call the verb again") as caught:
        each_client.jobs.complete("0198c0de-0000-7000-8000-00000000002a", 7, give_up_seconds=1.0)
    tries = len(server.requests)
    with pytest.raises(TypeError, match="no receipt"):
        each_client.operations.resolve(caught.value)
    assert len(server.requests) == tries


def test_what_has_its_receipt_in_no_workspace_is_not_abandoned_in_one(each_client, server):
    server.then(*[httpx2.ReadTimeout] * 11)
    with pytest.raises(OutcomeUnknown) as caught:
        each_client.workspaces.create("acme")
    tries = len(server.requests)
    for resend in (False, True):
        with pytest.raises(TypeError, match="under this operation_id"):
            each_client.operations.resolve(caught.value, resend=resend)
    assert len(server.requests) == tries


def test_abandoning_whose_answer_was_lost_is_resolved(each_client, server):
    server.then(*[httpx2.ReadTimeout] * 100)
    with pytest.raises(OutcomeUnknown) as caught:
        each_client.operations.abandon("x")
    server.answers.clear()
    server.then(ABANDONED)
    assert not each_client.operations.resolve(caught.value).committed


def test_what_is_too_old_to_know_is_said(each_client, server):
    server.then(problem(410, "operation_expired", server_time="2026-01-01T00:00:00Z"))
    with pytest.raises(OperationExpired):
        each_client.operations.resolve("x")


def test_a_missing_thing_is_found_missing(each_client, server):
    server.then(problem(404, "not_found", last_revision=4))
    with pytest.raises(NotFound) as caught:
        each_client.state.get("a")
    assert caught.value.last_revision == 4
