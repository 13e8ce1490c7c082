"""The pages of inboxes: events from a position on, gaps that are said, consumers with their lag."""

from __future__ import annotations

import msgspec
import pytest

from steadhold.kit.ids import new_id
from tests.dashboard.hostile import HOSTILE, shows


@pytest.fixture
async def inbox(door):
    made = await door("PUT", "/v1/inboxes/orders", b"{}", if_none_match="*")
    assert made.status == 201, made.body


@pytest.fixture
def send(door, inbox):
    async def sent(data, type="order.placed"):
        body = msgspec.json.encode({"type": type, "data": msgspec.Raw(data)})
        got = await door("POST", "/v1/inboxes/orders/events", body, idempotency_key=new_id())
        assert got.status == 201, got.body

    return sent


async def consume(door, name="billing", position=0):
    assert (await door("PUT", f"/v1/inboxes/orders/consumers/{name}", b"{}", if_none_match="*")).status == 201
    if position:
        epoch = (await door("GET", "/v1/inboxes/orders")).json["epoch"]
        body = msgspec.json.encode({"epoch": epoch, "sequence": position})
        got = await door("POST", f"/v1/inboxes/orders/consumers/{name}/acknowledge", body)
        assert got.status == 200, got.body


async def test_events_are_shown_as_they_were_sent(seat, send):
    await send(b'{"total":1.10,"n":9007199254740993}')
    page = (await seat.get("/inboxes/orders")).text
    for token in ("1.10", "9007199254740993", "order.placed"):
        assert token in page
    assert 'href="/ui/inboxes/orders"' in (await seat.get("/inboxes")).text


async def test_events_are_read_from_a_position_on(seat, send):
    for n in range(60):
        await send(b"%d" % n)
    newest = (await seat.get("/inboxes/orders")).text
    assert ("<strong>60</strong>" in newest, "<strong>10</strong>" in newest) == (True, False)
    first = (await seat.get("/inboxes/orders?after=0")).text
    assert ("<strong>1</strong>" in first, "<strong>51</strong>" in first) == (True, False)
    assert 'rel="next" href="/ui/inboxes/orders?after=50"' in first


async def test_consumers_tell_how_far_they_are(seat, send, door):
    for n in range(5):
        await send(b"%d" % n)
    await consume(door, position=2)
    for page in ("/inboxes/orders", "/inboxes/orders/consumers"):
        text = (await seat.get(page)).text
        assert "billing: 3 of 5 to come" in text


async def test_a_consumer_is_deleted_as_it_was_seen(seat, inbox, door):
    await consume(door)
    seen = (await door("GET", "/v1/inboxes/orders/consumers/billing")).json["revision"]
    assert (await seat.post("/inboxes/orders/consumers/billing/delete", revision=seen + 1)).status == 412
    done = await seat.post("/inboxes/orders/consumers/billing/delete", revision=seen)
    assert (done.status, done.location) == (303, "/ui/inboxes/orders")
    assert (await door("GET", "/v1/inboxes/orders/consumers/billing")).status == 404
    assert "dashboard.inboxes.delete" in (await seat.get("/audit")).text


async def test_reading_acknowledges_nothing(seat, send, door):
    await send(b"1")
    await consume(door)
    await seat.get("/inboxes/orders?after=0")
    assert (await door("GET", "/v1/inboxes/orders/consumers/billing")).json["position"] == 0


async def test_data_is_hidden_without_the_scope_of_payloads(seated, send):
    await send(b'"ZEBRA"')
    reader = await seated("inboxes:read")
    page = await reader.get("/inboxes/orders")
    assert (page.status, "ZEBRA" in page.text, "order.placed" in page.text) == (200, False, True)
    refused = await reader.post("/inboxes/orders/consumers/billing/delete", revision=1)
    assert (refused.status, refused.code) == (403, "missing_scope")


async def test_types_and_data_are_text(seat, send):
    text = HOSTILE.replace('"', "").replace("'", "")
    await send(msgspec.json.encode(text))
    assert shows(await seat.get("/inboxes/orders"), text)
    assert (await seat.get("/inboxes/orders?after=" + "9" * 30)).status < 500
