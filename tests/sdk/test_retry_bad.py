"""Answers that are none of steadhold's, or that break the protocol, and what they say after a try that was lost."""

from __future__ import annotations

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import BadAnswer, LockLost, OutcomeUnknown, Problem, RevisionConflict, StaleFence
from tests.sdk.answers import WRITTEN
from tests.sdk.conftest import problem

PAGE = "<html>default backend"
CHANGES = {
    "a receipt": lambda client: client.state.create("a", 1),
    "its own": lambda client: client.jobs.complete("j", 1),
    "a release": lambda client: client.locks.release("a", 1),
}


def of_each_change(test):
    return pytest.mark.parametrize("act", CHANGES.values(), ids=CHANGES)(test)


FOREIGN = [404, 409, 410, 412, 422, 507]


@pytest.mark.parametrize("status", FOREIGN)
@of_each_change
def test_a_page_of_a_proxy_says_nothing_of_a_lost_try(each_client, server, act, status):
    server.then(httpx2.ReadTimeout, httpx2.Response(status, html=PAGE))
    with pytest.raises(OutcomeUnknown, match=f"http_{status}") as caught:
        act(each_client)
    assert isinstance(caught.value.__cause__, Problem)
    assert len(server.requests) == 2


def test_json_without_a_code_is_a_page_of_a_proxy(each_client, server):
    said = {"content-type": "application/problem+json"}
    server.then(httpx2.ReadTimeout, httpx2.Response(404, json={"title": "no route"}, headers=said))
    with pytest.raises(OutcomeUnknown):
        each_client.locks.release("a", 1)


@of_each_change
def test_a_page_that_answers_the_first_try_is_told_as_it_is(each_client, server, act):
    server.then(httpx2.Response(404, html=PAGE))
    with pytest.raises(Problem, match="default backend") as caught:
        act(each_client)
    assert (type(caught.value), caught.value.code) == (Problem, "http_404")


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(httpx2.Response(404, html=PAGE), id="a page"),
        pytest.param(problem(404, "not_found"), id="no such route"),
        pytest.param(httpx2.Response(302, headers={"location": "/login"}), id="a redirect"),
        pytest.param(httpx2.Response(200, html=PAGE), id="no receipt"),
    ],
)
def test_only_who_knows_the_operation_says_that_it_is_not_committed(each_client, server, told):
    server.then(httpx2.ReadTimeout, problem(412, "condition_false"), told)
    with pytest.raises(OutcomeUnknown, match="condition_false"):
        each_client.state.put("a", 1, if_revision=1)


def test_a_refusal_of_an_operation_that_is_not_committed_is_one(each_client, server):
    server.then(httpx2.ReadTimeout, problem(412, "condition_false"), problem(404, "operation_not_committed"))
    with pytest.raises(RevisionConflict):
        each_client.state.put("a", 1, if_revision=1)


BAD = {
    "a redirect": httpx2.Response(302, headers={"location": "/login"}),
    "a page": httpx2.Response(200, html=PAGE),
    "not modified": httpx2.Response(304),
}


def of_each_bad(test):
    return pytest.mark.parametrize("bad", BAD.values(), ids=BAD)(test)


@of_each_bad
@of_each_change
def test_an_answer_that_breaks_the_protocol_says_nothing_of_a_lost_try(each_client, server, act, bad):
    server.then(httpx2.ReadTimeout, bad)
    with pytest.raises(OutcomeUnknown) as caught:
        act(each_client)
    assert isinstance(caught.value.__cause__, BadAnswer)
    assert caught.value.operation_id == server.keys[0]


@of_each_bad
@of_each_change
def test_an_answer_that_breaks_the_protocol_at_once_is_a_bad_one(each_client, server, act, bad):
    server.then(bad)
    with pytest.raises(BadAnswer):
        act(each_client)


@of_each_bad
def test_nothing_is_unknown_of_a_reading(each_client, server, bad):
    server.then(httpx2.ReadTimeout, bad)
    with pytest.raises(BadAnswer):
        each_client.locks.get("a")


@pytest.mark.parametrize("make", [Client, AsyncClient])
async def test_more_than_is_allowed_says_nothing_of_a_lost_try(server, patience, make):
    server.then(httpx2.ReadTimeout, httpx2.Response(200, content=b"x" * 99))
    client = make("http://test", "k", patience=patience, transport=httpx2.MockTransport(server), answer_bytes_max=9)

    async def created():
        made = client.state.create("a", 1)
        return await made if make is AsyncClient else made

    with pytest.raises(OutcomeUnknown, match="answer_bytes_max") as caught:
        await created()
    assert isinstance(caught.value.__cause__, BadAnswer)
    await client.close() if make is AsyncClient else client.close()


@pytest.mark.parametrize("revision", ["9" * 5_000, "9" * 20])
def test_a_revision_that_is_no_revision_is_a_bad_answer(each_client, server, revision):
    server.then(httpx2.Response(200, json={"name": "a"}, headers={"revision": revision}))
    with pytest.raises(BadAnswer, match="names no revision"):
        each_client.state.put("a", 1, if_revision=1)


SILENT = {
    "inbox": lambda client: client.inboxes["i"].delete(if_revision=1),
    "consumer": lambda client: client.inboxes["i"].consumer("c").delete(if_revision=1),
    "consumer.release": lambda client: client.inboxes["i"].consumer("c").release(1),
    "door": lambda client: client.inboxes["i"].doors.delete("d", if_revision=1),
    "webhook": lambda client: client.webhooks.delete("w", if_revision=1),
    "lock.release": lambda client: client.locks.release("a", 1),
    "signal": lambda client: client.jobs.signal("j", "go"),
}


@pytest.mark.parametrize("act", SILENT.values(), ids=SILENT)
def test_what_tells_nothing_is_believed_by_its_status_alone(client, server, act):
    server.then(httpx2.Response(202 if act is SILENT["signal"] else 204), httpx2.Response(200, html=PAGE))
    act(client)
    with pytest.raises(BadAnswer, match="has status 200"):
        act(client)


ENDED = {
    "lock": (lambda client: client.locks.release("a", 1), problem(409, "lock_lost"), LockLost),
    "consumer": (SILENT["consumer.release"], problem(409, "stale_fence"), StaleFence),
}


@pytest.mark.parametrize("act, told, refused", ENDED.values(), ids=ENDED)
def test_what_is_held_no_more_may_have_been_released_by_a_lost_try(client, server, act, told, refused):
    server.then(told, httpx2.ReadTimeout, told)
    with pytest.raises(refused):
        act(client)
    with pytest.raises(OutcomeUnknown, match="Where a grant has ended, read what it touches") as caught:
        act(client)
    assert isinstance(caught.value.__cause__, refused)


def test_a_renewal_after_a_lost_one_is_still_told_of_the_loss(each_client, server):
    server.then(httpx2.ReadTimeout, problem(409, "lock_lost"))
    with pytest.raises(LockLost):
        each_client.locks.renew("a", 1)


def test_what_is_read_after_a_change_that_was_sent_twice_is_in_no_doubt(each_client, server):
    server.then(httpx2.ReadTimeout, WRITTEN, httpx2.Response(200, html=PAGE))
    each_client.state.put("a", 1, if_revision=1)
    with pytest.raises(BadAnswer):
        each_client.locks.get("a")
