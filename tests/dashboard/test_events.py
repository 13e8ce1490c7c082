"""Events in the dashboard: what happened, what led to it, where it goes, and what waits for somebody."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest

from steadhold.kit.ids import new_id
from tests.dashboard.test_escaping import HOSTILE, harmless

NUMBER = b"12345678901234567890.50"


async def append(door, aggregate="order-1", expect=None, **event):
    body = {"events": [{"type": "order.placed", "data": {"n": msgspec.Raw(NUMBER)}, **event}], "state": "placed"}
    guard = {"if_none_match": "*"} if expect is None else {"if_match": f'"{expect}"'}
    made = await door("POST", f"/v1/aggregates/{aggregate}/events", msgspec.json.encode(body), **guard)
    assert made.status == 201, made.body
    return made.json["event_ids"][0]


async def inbox(door, name="mail"):
    assert (await door("PUT", f"/v1/inboxes/{name}", b"{}", if_none_match="*")).status in {200, 201}


async def subscribed(seat, **fields):
    form = {"name": "sub", "types": "order.*", "kind": "inbox", "target": "mail", "ordered": "on"}
    return await seat.post("/subscriptions:new", **(form | fields))


@pytest.fixture
def parked(committed, workspace):
    """A publication that waits for somebody."""

    def park(state=2, revision=1):
        (id,) = committed.execute(
            "insert into steadhold.publications (workspace, aggregate_id, aggregate_revision, subscription, id, target,"
            " lane, key, state, why, made_at) values (%s, 'order-1', %s, 'sub', gen_random_uuid(), 'inbox:mail', 0,"
            " 'order-1', %s, '<b>full</b>', steadhold.clock()) returning id::text",
            (workspace, revision, state),
        ).fetchone()
        return id

    return park


async def test_an_event_is_found_with_its_data_and_its_causes(seat, door):
    first = await append(door)
    second = await append(door, expect=1, causation_id=first, event_id="second")
    assert (await seat.get("/events?id=second")).location == "/ui/events/second"
    page = await seat.get("/events/second")
    assert NUMBER.decode() in page.text
    assert f'href="/ui/events/{first}"' in page.text
    assert "The last of these names no cause." in page.text
    whole = await seat.get(f"/events/{second}/data")
    assert (whole.body, whole.headers["content-type"]) == (b'{"n":' + NUMBER + b"}", "application/octet-stream")


async def test_data_is_hidden_without_its_scope(door, seated):
    await append(door, event_id="one")
    blind = await seated("events:read")
    page = await blind.get("/events/one")
    assert "this key lacks the scope" in page.text
    assert NUMBER.decode() not in page.text
    assert (await blind.get("/events/one/data")).code == "missing_scope"


async def test_an_aggregate_shows_where_it_stands_and_what_happened(seat, door):
    await append(door)
    await append(door, expect=1, type="order.paid")
    assert (await seat.get("/events?aggregate=order-1")).location == "/ui/aggregates/order-1"
    assert "order-1" in (await seat.get("/aggregates")).text
    page = await seat.get("/aggregates/order-1")
    assert "placed" in page.text
    assert (page.text.count("order.placed"), page.text.count("order.paid")) == (1, 1)
    later = await seat.get("/aggregates/order-1?after=1")
    assert (later.text.count("order.placed"), later.text.count("order.paid")) == (0, 1)


async def test_the_events_of_a_job_are_those_of_its_aggregate(seat, door):
    made = await door("POST", "/v1/jobs", b'{"type": "t"}', idempotency_key=new_id())
    page = await seat.get(f"/aggregates/job:{made.json['job_id']}")
    assert "job.accepted" in page.text


async def test_a_subscription_is_made_replayed_and_deleted(seat, door):
    await inbox(door)
    page = await subscribed(seat)
    assert page.location == "/ui/subscriptions/sub", page.text
    shown = (await door("GET", "/v1/subscriptions/sub")).json
    assert (shown["types"], shown["target"], shown["ordered_by"]) == (["order.*"], {"inbox": "mail"}, "aggregate")
    assert 'href="/ui/inboxes/mail"' in (await seat.get("/events")).text
    page = await seat.get("/subscriptions/sub")
    revision = re.search(r'name="revision" value="(\d+)"', page.text)[1]
    page = await seat.post("/subscriptions/sub/replay", **{"from": "2099-01-01", "to": "2099-01-02"})
    assert "0 events are published again" in page.text, page.text
    assert (await seat.post("/subscriptions/sub/delete", revision="99")).status == 412
    assert (await seat.post("/subscriptions/sub/delete", revision=revision)).location == "/ui/events"
    assert (await door("GET", "/v1/subscriptions/sub")).status == 404
    rows = (await door("GET", "/v1/audit?limit=100")).json["items"]
    kinds = [row["kind"] for row in rows if row["kind"].startswith("dashboard.events")]
    assert kinds == ["dashboard.events.delete", "dashboard.events.replay", "dashboard.events.put"]


async def test_a_subscription_that_cannot_be_is_told_beside_its_form(seat):
    page = await subscribed(seat, kind="sink", target="nowhere")
    assert page.status in {409, 422}
    assert "target_unknown" in page.text
    assert 'value="nowhere"' in page.text


@pytest.mark.parametrize(("verb", "state"), [("retry", "pending"), ("skip", "skipped")])
async def test_a_publication_that_is_parked_is_decided(seat, door, parked, verb, state):
    await append(door)
    id = parked()
    page = await seat.get("/publications")
    assert id in page.text
    assert "<b>full</b>" not in page.text
    assert "<b>full</b>" in unescape(page.text)
    done = await seat.post(f"/publications/{id}/{verb}", state="parked")
    assert done.location == "/ui/publications?state=parked"
    assert "None is parked." in (await seat.get("/publications")).text
    rows = (await door("GET", f"/v1/audit?kind=dashboard.events.{verb}")).json["items"]
    assert [row["resource"] for row in rows] == [f"/v1/publications/{id}/{verb}"]


async def test_all_that_is_parked_is_tried_again_as_counted(seat, door, committed, parked):
    await append(door, expect=None)
    for n in (2, 3):
        await append(door, expect=n - 1)
    for revision in (1, 2, 3):
        parked(revision=revision)
    page = await seat.get("/publications")
    assert 'name="count" value="3"' in page.text
    refused = await seat.post("/publications:retry", count="2")
    assert (refused.status, 'name="count" value="3"' in refused.text, "3 are parked now" in refused.text) == (
        409,
        True,
        True,
    )
    assert (await seat.post("/publications:retry")).status == 409
    done = await seat.post("/publications:retry", count="3")
    assert done.location == "/ui/publications?state=parked"
    assert "None is parked." in (await seat.get("/publications")).text
    assert len((await door("GET", "/v1/publications?state=pending")).json["items"]) == 3
    rows = (await door("GET", "/v1/audit?kind=dashboard.events.retry")).json["items"]
    assert [row["resource"] for row in rows] == ["/v1/publications:retry"]


async def test_the_flow_is_counted(seat, parked):
    parked()
    part = await seat.get("/events:live", hx_request="true")
    assert "<html" not in part.text
    tiles = re.findall(r'<div class="name">(.*?)</div><div class="value">(.*?)</div>', part.text, re.DOTALL)
    assert ("Parked", "1") in [(name, value.strip()) for name, value in tiles]


async def test_who_may_only_read_is_offered_nothing_and_refused(seated, door, parked):
    await append(door)
    await inbox(door)
    id, reader = parked(), await seated("events:read")
    page = await reader.get("/events")
    assert page.status == 200
    assert "/publications" not in page.text
    assert "New subscription" not in page.text
    assert (await reader.get("/publications")).code == "missing_scope"
    for path in (
        f"/publications/{id}/skip",
        f"/publications/{id}/retry",
        "/publications:retry",
        "/subscriptions:new",
        "/subscriptions/a/delete",
    ):
        assert (await reader.post(path)).code == "missing_scope"


@pytest.mark.parametrize("text", HOSTILE)
async def test_data_and_globs_are_text(seat, door, text):
    await append(door, event_id="one", data={"a": text}, data_ref=None)
    page = await seat.get("/events/one")
    assert harmless(page, msgspec.json.encode(text).decode())
    await inbox(door)
    glob = re.sub(r"\s", "", text)
    page = await subscribed(seat, types=glob)
    if page.status == 303:
        assert harmless(await seat.get("/events"), glob)
        page = await seat.get("/subscriptions/sub")
    assert harmless(page, glob)
