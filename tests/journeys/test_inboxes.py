"""Eight writers, some of whom roll back, beside readers at two servers: all see what was committed, in one order."""

from __future__ import annotations

import asyncio
import random

import psycopg
import pytest

from steadhold import inboxes
from steadhold.inboxes.items import Envelope, item
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

JSON = {"content-type": "application/json"}
EACH = 40
WRITERS = 8


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


async def over_http(client, writer, chance):
    """Append one by one, some twice; what was accepted, and where."""
    sent = []
    for n in range(EACH):
        named = f"w{writer}-{n}"
        body = b'{"type":"t","data":%d}' % n
        for _ in range(chance.choice([1, 1, 2])):
            headers = {"idempotency-key": named, **JSON}
            got = await client.post("/v1/inboxes/a/events", content=body, headers=headers)
            assert got.status_code in {200, 201}, got.text
            place_of = got.json()["sequence"]
        sent.append((place_of, got.json()["event_id"]))
        for _ in range(chance.randrange(40)):
            await asyncio.sleep(0)
    return sent


async def by_library(dsn, workspace, writer, chance):
    """Append in transactions of its own that take their time, and roll every third back."""
    sent = []
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        for n in range(EACH):
            named = f"w{writer}-{n}"
            (placed,) = await inboxes.append(conn, workspace, "a", [item(named, Envelope("t"), b"1")])
            await conn.execute("select pg_sleep(%s)", [chance.random() / 200])
            if n % 3:
                await conn.commit()
                sent.append((placed.sequence, placed.event_id))
            else:
                await conn.rollback()
    return sent


async def follow(client, until):
    """Poll and wait, from the beginning, until somebody says that all is written and nothing is left."""
    seen, epoch, after = [], None, 0
    while True:
        ended = until.is_set()
        where = f"&epoch={epoch}&after={after}&wait_seconds=0.2" if epoch else ""
        page = (await client.get(f"/v1/inboxes/a/events?limit=7{where}")).json()
        assert page["gaps"] == []
        assert [event["sequence"] for event in page["events"]] == list(range(after + 1, page["next_after"] + 1))
        seen += [(event["sequence"], event["event_id"]) for event in page["events"]]
        epoch, after = page["epoch"], page["next_after"]
        if ended and not page["events"]:
            return seen


async def test_readers_see_what_was_committed_in_order(clients, house, place):  # noqa: F811
    made = await clients[0].put("/v1/inboxes/a", content=b"{}", headers={"if-none-match": "*", **JSON})
    assert made.status_code == 201
    chance, written = random.Random(7), asyncio.Event()
    readers = [asyncio.create_task(follow(clients[n % 2], written)) for n in range(3)]
    writers = [
        by_library(house.dsn, place, n, chance) if n % 4 == 3 else over_http(clients[n % 2], n, chance)
        for n in range(WRITERS)
    ]
    sent = sorted(pair for each in await asyncio.gather(*writers) for pair in each)
    written.set()
    seen = await asyncio.gather(*readers)
    assert [number for number, _ in sent] == list(range(1, len(sent) + 1))
    assert len({id for _, id in sent}) == len(sent)
    assert seen == [sent] * 3


async def test_a_long_transaction_with_a_send_stops_no_inbox(clients, house, place):  # noqa: F811
    first, second = clients
    await first.put("/v1/inboxes/b", content=b"{}", headers={"if-none-match": "*", **JSON})
    async with await psycopg.AsyncConnection.connect(house.dsn) as conn:
        for n in range(3):
            sending = inboxes.Sending(type="sent", data=b"%d" % n, id=f"s{n}")
            assert not (await inboxes.send(conn, place, "b", sending)).again
            assert (await inboxes.send(conn, place, "b", sending)).again
        for n in range(5):
            headers = {"idempotency-key": f"k{n}", **JSON}
            body = b'{"type":"t","data":1}'
            assert (await second.post("/v1/inboxes/b/events", content=body, headers=headers)).status_code == 201
        await conn.commit()
        await inboxes.send(conn, place, "b", inboxes.Sending(type="never"))
        await conn.rollback()
        assert await inboxes.send(conn, place, "none", inboxes.Sending(type="t")) == inboxes.NoInbox("none")
    page = (await first.get("/v1/inboxes/b")).json()
    async with asyncio.timeout(60):
        while page["last_sequence"] < 8:
            where = f"epoch={page['epoch']}&after={page['last_sequence']}&wait_seconds=5"
            page = (await first.get(f"/v1/inboxes/b/events?{where}")).json()
    events = (await second.get("/v1/inboxes/b/events")).json()["events"]
    assert [event["type"] for event in events[:5]] == ["t"] * 5
    assert sorted(event["event_id"] for event in events[5:]) == [f"inbox:b:send:s{n}@1" for n in range(3)]
    assert {(event["source"], event["type"]) for event in events[5:]} == {("relay", "sent")}


async def test_what_happens_reaches_an_inbox_once_and_in_order(clients):
    """A subscription leads jobs' events into an inbox; both servers relay."""
    first, second = clients
    assert (
        await first.put("/v1/inboxes/ops", content=b"{}", headers={"if-none-match": "*", **JSON})
    ).status_code == 201
    subscription = b'{"types": ["job.*"], "target": {"inbox": "ops"}}'
    made = await first.put("/v1/subscriptions/s", content=subscription, headers={"if-none-match": "*", **JSON})
    assert made.status_code == 201, made.text
    ids = []
    for n in range(20):
        headers = {"idempotency-key": f"j{n}", **JSON}
        got = await clients[n % 2].post("/v1/jobs", content=b'{"type":"t"}', headers=headers)
        ids.append(got.json()["job_id"])
        await second.post(f"/v1/jobs/{ids[-1]}/cancel", content=b"{}", headers=JSON)
    seen: list[tuple[str, int]] = []
    epoch, after = None, 0
    async with asyncio.timeout(60):
        while len(seen) < 40:
            where = f"?epoch={epoch}&after={after}&wait_seconds=5" if epoch else ""
            page = (await second.get(f"/v1/inboxes/ops/events{where}")).json()
            seen += [(event["aggregate_id"], event["aggregate_revision"]) for event in page["events"]]
            epoch, after = page["epoch"], page["next_after"]
    assert len(set(seen)) == len(seen) == 40
    for job in ids:
        assert [revision for aggregate, revision in seen if aggregate == f"job:{job}"] == [1, 2]
