"""Fifty at once against two server processes on one database: one winner, one effect, one answer."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

JSON = {"content-type": "application/json"}
MANY = 50


@pytest.fixture(scope="module", params=["lockstep", "single"])
def pair(request, house):  # noqa: F811
    """Two servers over one database, with loops running."""
    with server(house.dsn, player=request.param) as one, server(house.dsn, player=request.param) as two:
        yield one, two


@pytest.fixture
async def clients(pair, key):  # noqa: F811
    one, two = pair
    async with one.aclient(key) as first, two.aclient(key) as second:
        yield first, second


async def at_once(clients, send):
    """Let many send at once, each second one to the other server; the answers."""
    return await asyncio.gather(*(send(clients[n % 2], n) for n in range(MANY)))


async def alike(clients, send):
    """Send one operation many times at once, until each has its answer: waiting for a twin may take too long."""
    first = await at_once(clients, lambda client, _: send(client))
    late = [got for got in first if got.status_code in {409, 503}]
    assert {got.json()["code"] for got in late} <= {"operation_in_flight", "busy"}
    assert len(first) - len(late) >= 1
    return [got for got in first if got not in late] + [await send(clients[0]) for _ in late]


def replace(headers, client, n):
    return client.put("/v1/state/a", content=b"%d" % n, headers=headers)


async def test_of_many_writers_under_one_etag_one_wins(clients):
    made = await clients[0].put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON})
    for _ in range(5):
        headers = {"if-match": made.headers["etag"], **JSON}
        got = await at_once(clients, functools.partial(replace, headers))
        [made] = [answer for answer in got if answer.status_code == 200]
        lost = [answer for answer in got if answer is not made]
        assert {(answer.status_code, answer.json()["code"]) for answer in lost} == {(412, "condition_false")}
        assert {answer.json()["current_revision"] for answer in lost} == {int(made.headers["revision"])}
        read = await clients[1].get("/v1/state/a")
        assert (read.headers["etag"], read.content) == (made.headers["etag"], b"%d" % got.index(made))
    assert made.headers["revision"] == "6"


async def test_of_many_creators_of_one_name_one_wins(clients):
    headers = {"if-none-match": "*", **JSON}
    got = await at_once(clients, lambda client, n: client.put("/v1/state/new", content=b"%d" % n, headers=headers))
    assert Counter(answer.status_code for answer in got) == {201: 1, 412: MANY - 1}


async def test_of_a_writer_and_a_deleter_under_one_etag_one_wins(clients):
    await clients[0].put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON})

    def send(client, n):
        headers = {"if-match": '"1"', **JSON}
        if n % 4 < 2:
            return client.delete("/v1/state/a", headers=headers)
        return client.put("/v1/state/a", content=b"1", headers=headers)

    got = await at_once(clients, send)
    won = [answer.status_code for answer in got if answer.is_success]
    assert won in ([200], [204])
    assert {answer.status_code for answer in got} <= {won[0], 412, 404}
    assert (await clients[1].get("/v1/state/a")).status_code == (200 if won == [200] else 404)


async def test_many_under_one_operation_id_have_one_effect_and_equal_answers(clients):
    """A write under a condition, which any but the first would fail."""
    operation = new_id()
    headers = {"if-none-match": "*", "idempotency-key": operation, **JSON}
    got = await alike(clients, lambda client: client.put("/v1/state/a", content=b"1.10", headers=headers))
    assert {(answer.status_code, answer.content, answer.headers["etag"]) for answer in got} == {
        (201, b'{"name":"a","revision":1}', '"1"')
    }
    assert sum("idempotent-replayed" not in answer.headers for answer in got) == 1
    assert (await clients[0].get("/v1/state/a?view=revisions")).json()["items"][1:] == []


async def test_many_that_make_something_new_make_one(clients):
    operation = new_id()
    headers = {"idempotency-key": operation, **JSON}
    got = await alike(clients, lambda client: client.post("/v1/jobs", content=b'{"type":"t"}', headers=headers))
    assert {answer.status_code for answer in got} == {202}
    [job] = {answer.json()["job_id"] for answer in got}
    assert len({answer.content for answer in got}) == 1
    assert [item["job_id"] for item in (await clients[1].get("/v1/jobs")).json()["items"]] == [job]
    receipts = [await client.get(f"/v1/operations/{operation}") for client in clients]
    assert receipts[0].json() == receipts[1].json()
    assert receipts[0].json()["result"] == got[0].json()


async def test_another_body_under_the_same_id_is_refused_by_both(clients):
    headers = {"idempotency-key": new_id(), **JSON}
    assert (await clients[0].post("/v1/jobs", content=b'{"type":"t"}', headers=headers)).status_code == 202
    got = await at_once(
        clients, lambda client, n: client.post("/v1/jobs", content=b'{"type":"t","input":%d}' % n, headers=headers)
    )
    assert {(answer.status_code, answer.json()["code"]) for answer in got} == {(422, "operation_mismatch")}
    assert len((await clients[0].get("/v1/jobs")).json()["items"]) == 1


async def test_two_bodies_at_once_under_one_id_are_one_effect_and_refusals(clients):
    headers = {"idempotency-key": new_id(), **JSON}

    def send(client, n):
        return client.post("/v1/jobs", content=b'{"type":"t","input":%d}' % (n // 2 % 2), headers=headers)

    got = await at_once(clients, send)
    told = Counter((answer.status_code, answer.json().get("code")) for answer in got)
    assert set(told) <= {(202, None), (422, "operation_mismatch"), (409, "operation_in_flight")}
    assert told[202, None] >= 1
    assert told[422, "operation_mismatch"] >= 1
    [job] = {answer.json()["job_id"] for answer in got if answer.status_code == 202}
    assert [item["job_id"] for item in (await clients[0].get("/v1/jobs")).json()["items"]] == [job]


async def test_refusals_under_an_id_leave_it_free(clients):
    """Many are refused under the id of one that comes later, and that one takes effect."""
    headers = {"if-match": '"1"', "idempotency-key": new_id(), **JSON}
    got = await at_once(clients, lambda client, _: client.put("/v1/state/a", content=b"1", headers=headers))
    refused = [answer for answer in got if answer.status_code == 412]
    assert len(refused) >= 1
    assert {answer.status_code for answer in got} <= {412, 409}
    made = await clients[0].put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON})
    assert made.status_code == 201
    late = await clients[1].put("/v1/state/a", content=b"1", headers=headers)
    assert (late.status_code, late.headers["revision"]) == (200, "2")
    assert "idempotent-replayed" not in late.headers


async def test_nothing_to_replace_is_a_false_condition_and_nothing_to_delete_is_missing(clients):
    client = clients[0]
    for last in ({}, {"last_revision": 2}):
        headers = {"if-match": '"1"', **JSON}
        put = await client.put("/v1/state/a", content=b"1", headers=headers)
        delete = await client.delete("/v1/state/a", headers=headers)
        told = [(got.status_code, got.json()["code"]) for got in (put, delete)]
        assert told == [(412, "condition_false"), (404, "not_found")]
        assert all(last.items() <= got.json().items() for got in (put, delete))
        items = [{"op": "put", "name": "a", "value": 1, "if_match": 1}, {"op": "delete", "name": "a", "if_match": 1}]
        batch = await client.post("/v1/state:batch", json={"items": items}, headers={"idempotency-key": new_id()})
        assert [(item["status"], item["code"]) for item in batch.json()["outcomes"]] == told
        await client.put("/v1/state/a", content=b"1", headers={"if-none-match": "*", **JSON})
        await client.delete("/v1/state/a", headers={"if-match": '"1"', **JSON})
    assert (await client.get("/v1/state/a")).headers["revision"] == "3"  # the second deletion named the first revision
