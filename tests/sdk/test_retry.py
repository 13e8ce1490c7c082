"""When a request is sent again, under which id, and what is raised when nobody can say."""

from __future__ import annotations

import httpx2
import pytest

from steadhold.kit.ids import uuid7_ms
from steadhold.sdk.errors import (
    BadAnswer,
    OutcomeUnknown,
    Problem,
    QueueFull,
    RevisionConflict,
    StaleFence,
    Unavailable,
    Unreachable,
)
from steadhold.sdk.retry import GIVE_UP_SECONDS_MAX, Patience
from steadhold.server.retention import RETRIES_SECONDS
from tests.sdk.answers import COMMITTED, READ, REPLAYED, WRITTEN
from tests.sdk.conftest import problem

LOST = [
    pytest.param(httpx2.ReadTimeout, id="timeout"),
    pytest.param(httpx2.WriteTimeout, id="timeout while sending"),
    pytest.param(httpx2.ReadError, id="reset"),
    pytest.param(httpx2.RemoteProtocolError, id="cut off"),
    pytest.param(httpx2.Response(502, text="bad gateway"), id="502"),
    pytest.param(httpx2.Response(503, text="a proxy's own"), id="503 of a proxy"),
    pytest.param(httpx2.Response(504, text="gateway timeout"), id="504"),
    pytest.param(problem(503, "outcome_unknown", next="resend"), id="outcome_unknown"),
    pytest.param(problem(409, "operation_in_flight", next="wait", headers={"retry-after": "1"}), id="in flight"),
]
UNCHANGED = [
    pytest.param(httpx2.ConnectError, id="refused"),
    pytest.param(httpx2.ConnectTimeout, id="connect timeout"),
    pytest.param(problem(429, "too_many_requests", next="wait", headers={"retry-after": "2"}), id="429"),
    pytest.param(problem(503, "unavailable", next="resend"), id="unavailable"),
    pytest.param(problem(503, "busy", next="resend"), id="busy"),
    pytest.param(problem(408, "request_timeout", next="resend"), id="408"),
]


@pytest.mark.parametrize("lost", [*LOST, *UNCHANGED])
def test_a_change_is_sent_again_under_its_one_id(each_client, server, lost):
    server.then(lost, lost, REPLAYED)
    written = each_client.state.put("a", 1, if_revision=1)
    assert (written.revision, written.replayed) == (2, True)
    assert len(server.requests) == 3
    assert len(set(server.keys)) == 1
    assert uuid7_ms(server.keys[0]) is not None
    assert len({r.content for r in server.requests}) == 1


@pytest.mark.parametrize("lost", LOST)
def test_without_an_answer_a_change_is_unknown_and_says_what_to_do(each_client, server, lost, clock):
    server.then(*[lost] * 100)
    with pytest.raises(OutcomeUnknown) as caught:
        each_client.state.put("a", 1, if_revision=1)
    assert caught.value.operation_id == server.keys[0]
    assert f"client.operations.resolve('{server.keys[0]}')" in str(caught.value)
    assert sum(clock.pauses) <= 30
    assert clock.now > 1_000 + 20


@pytest.mark.parametrize(
    "last, raised",
    [
        pytest.param(httpx2.ConnectError, Unreachable, id="refused"),
        pytest.param(problem(503, "unavailable", next="resend"), Unavailable, id="unavailable"),
        pytest.param(problem(429, "queue_full", depth=7), QueueFull, id="queue full"),
    ],
)
def test_what_changed_nothing_to_the_end_is_no_unknown(each_client, server, last, raised):
    server.then(*[last] * 100)
    with pytest.raises(raised):
        each_client.state.put("a", 1, if_revision=1)


def test_one_lost_try_among_refused_connections_stays_unknown(each_client, server):
    server.then(httpx2.ReadTimeout, *[httpx2.ConnectError] * 100)
    with pytest.raises(OutcomeUnknown):
        each_client.state.put("a", 1, if_revision=1)


@pytest.mark.parametrize("lost", [*LOST, *UNCHANGED])
def test_a_reading_is_sent_again(each_client, server, lost):
    server.then(lost, READ)
    assert each_client.state.get("a").value == 1
    assert server.keys == [None, None]


def test_a_reading_that_never_is_answered_is_unreachable(each_client, server):
    server.then(*[httpx2.ReadTimeout] * 100)
    with pytest.raises(Unreachable, match="GET /v1/state/a"):
        each_client.state.get("a")


def test_a_refusal_is_not_sent_again(each_client, server):
    server.then(problem(412, "condition_false", next="reread", current_revision=5))
    with pytest.raises(RevisionConflict) as caught:
        each_client.state.put("a", 1, if_revision=1)
    assert caught.value.current_revision == 5
    assert len(server.requests) == 1


def test_a_refusal_after_a_lost_try_asks_whether_that_one_had_won(each_client, server):
    server.then(httpx2.ReadTimeout, problem(412, "condition_false", current_revision=2), COMMITTED)
    written = each_client.state.put("a", 1, if_revision=1)
    assert (written.revision, written.replayed) == (2, True)
    assert server.asked[-1] == f"GET /v1/operations/{server.keys[0]}"


def test_a_refusal_after_a_lost_try_that_had_not_won_is_the_refusal(each_client, server):
    server.then(
        httpx2.ReadTimeout,
        problem(412, "condition_false", current_revision=9),
        problem(404, "operation_not_committed", next="wait"),
    )
    with pytest.raises(RevisionConflict) as caught:
        each_client.state.put("a", 1, if_revision=1)
    assert caught.value.current_revision == 9


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([problem(401, "no_valid_key")], id="no key any more"),
        pytest.param([problem(403, "missing_scope")], id="no scope to read it"),
        pytest.param([problem(410, "operation_expired")], id="too old"),
        pytest.param([httpx2.ReadTimeout] * 100, id="no answer"),
    ],
)
def test_a_refusal_after_a_lost_try_whose_fate_nobody_tells_is_unknown(each_client, server, told):
    server.then(httpx2.ReadTimeout, problem(412, "condition_false"), *told)
    with pytest.raises(OutcomeUnknown):
        each_client.state.put("a", 1, if_revision=1)


@pytest.mark.parametrize(
    "receipt, raised",
    [
        pytest.param(COMMITTED, None, id="committed"),
        pytest.param(problem(404, "operation_not_committed"), Problem, id="not committed"),
        pytest.param(problem(410, "operation_expired"), OutcomeUnknown, id="too old"),
    ],
)
def test_a_server_that_failed_is_asked_for_the_receipt(each_client, server, receipt, raised):
    server.then(problem(500, "internal"), receipt)
    if raised is None:
        assert each_client.state.put("a", 1, if_revision=1).revision == 2
    else:
        with pytest.raises(raised):
            each_client.state.put("a", 1, if_revision=1)


def test_what_answers_for_itself_and_failed_is_unknown(each_client, server):
    server.then(problem(500, "internal"))
    with pytest.raises(OutcomeUnknown):
        each_client.jobs.complete("j", 1)
    assert len(server.requests) == 1


EARLY = [("no_valid_key", 401), ("missing_scope", 403), ("bad_json", 400)]


@pytest.mark.parametrize("make", ["put", "complete"])
@pytest.mark.parametrize("code, status", EARLY)
def test_what_is_said_before_the_operation_is_looked_for_leaves_it_unknown(each_client, server, make, code, status):
    server.then(httpx2.ReadTimeout, problem(status, code))
    with pytest.raises(OutcomeUnknown, match=code):
        each_client.state.put("a", 1, if_revision=1) if make == "put" else each_client.jobs.complete("j", 1)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "code, status",
    [("operation_mismatch", 422), ("operation_abandoned", 409), ("operation_expired", 410), ("operation_clock", 422)],
)
def test_another_request_under_the_same_id_is_not_taken_for_ours(each_client, server, code, status):
    server.then(httpx2.ReadTimeout, problem(status, code), COMMITTED)
    with pytest.raises(Problem) as caught:
        each_client.state.put("a", 1, if_revision=1, operation_id="x")
    assert caught.value.code == code
    assert len(server.requests) == 2


def test_what_answers_for_itself_is_refused_for_good(each_client, server):
    server.then(httpx2.ReadTimeout, problem(409, "stale_fence", subject="job:j"))
    with pytest.raises(StaleFence) as caught:
        each_client.jobs.complete("j", 1)
    assert caught.value.subject == "job:j"


def test_retry_after_is_waited_for(each_client, server, clock):
    server.then(problem(429, "too_many_requests", next="wait", headers={"retry-after": "7"}), WRITTEN)
    each_client.state.put("a", 1, if_revision=1)
    assert clock.pauses == [7.0]


def test_a_retry_after_beyond_the_time_left_ends_at_once(each_client, server, clock):
    server.then(problem(429, "queue_full", next="wait", headers={"retry-after": "3600"}, depth=9))
    with pytest.raises(QueueFull) as caught:
        each_client.jobs.submit("a")
    assert (caught.value.retry_after, caught.value.depth, clock.pauses) == (3600.0, 9, [])


def test_pauses_double_up_to_a_cap_and_are_spread(clock):
    whole = Patience(clock=clock, chance=lambda: 1.0)
    none = Patience(clock=clock, chance=lambda: 0.0)
    assert [round(whole.pause(n), 3) for n in (1, 2, 3, 4, 7, 1_000)] == [0.1, 0.2, 0.4, 0.8, 5.0, 5.0]
    assert [none.pause(n) for n in (1, 7)] == [0.0, 0.0]


def test_one_call_may_have_less_time(each_client, server):
    server.then(httpx2.ReadTimeout)
    with pytest.raises(OutcomeUnknown):
        each_client.jobs.heartbeat("j", 1, give_up_seconds=0)
    assert len(server.requests) == 1


def test_an_own_operation_id_is_kept(each_client, server):
    server.then(httpx2.ReadTimeout, WRITTEN)
    each_client.state.put("a", 1, if_revision=1, operation_id="order-7")
    assert server.keys == ["order-7", "order-7"]


def test_an_operation_id_that_is_none_is_refused_before_anything_is_sent(each_client, server):
    with pytest.raises(ValueError, match="operation_id"):
        each_client.state.put("a", 1, if_revision=1, operation_id="order 7")
    assert server.requests == []


def test_two_calls_are_two_operations(each_client, server):
    server.then(WRITTEN, WRITTEN)
    each_client.state.put("a", 1, if_revision=1)
    each_client.state.put("a", 1, if_revision=1)
    assert len(set(server.keys)) == 2


def test_receipts_outlive_the_longest_retries():
    assert GIVE_UP_SECONDS_MAX <= RETRIES_SECONDS
    with pytest.raises(ValueError, match="receipts"):
        Patience(give_up_seconds=GIVE_UP_SECONDS_MAX + 1)


def test_a_redirect_is_not_followed(each_client, server):
    server.then(httpx2.Response(308, headers={"location": "https://elsewhere/"}))
    with pytest.raises(BadAnswer, match="https://elsewhere/"):
        each_client.state.get("a")
    assert len(server.requests) == 1


def test_an_answer_that_is_not_ours_says_so(each_client, server):
    server.then(httpx2.Response(403, text="<html>firewall"))
    with pytest.raises(Problem) as caught:
        each_client.state.get("a")
    assert (caught.value.code, caught.value.status) == ("http_403", 403)
    assert "firewall" in str(caught.value)
