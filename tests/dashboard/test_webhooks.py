"""Webhooks in the dashboard: each action at its door, what is shown once, and what is hidden."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest

from tests.dashboard.test_escaping import HOSTILE, harmless

SECRET = re.compile(r'id="secret" readonly value="(whsec_[^"]+)"')
URL = "https://example.com/hook"


async def made(seat, **fields):
    page = await seat.post("/webhooks:new", url=URL, types="job.*\r\norder.placed", **fields)
    assert page.status == 201, page.text
    id = re.search(r'href="/ui/webhooks/([0-9a-f-]{36})"', page.text)[1]
    return page, id


async def told(door, id):
    return (await door("GET", f"/v1/webhooks/{id}")).json


async def audited(door):
    rows = (await door("GET", "/v1/audit?limit=100")).json["items"]
    return {row["kind"] for row in rows if row["kind"].startswith("dashboard.webhooks.")}


async def test_a_webhook_is_made_and_its_secret_shown_once(seat, door):
    page, id = await made(seat, ordered="on", blocks="on")
    secret = SECRET.search(page.text)[1]
    hook = await told(door, id)
    assert (hook["url"], hook["types"], hook["enabled"]) == (URL, ["job.*", "order.placed"], False)
    assert (hook["ordered"], hook["on_exhausted"]) == ("aggregate", "block")
    shown = await seat.get(f"/webhooks/{id}")
    assert secret not in unescape(shown.text)
    assert "never enabled" in shown.text
    assert URL in (await seat.get("/webhooks")).text
    page = await seat.post(f"/webhooks/{id}/rotate", grace="3600")
    assert SECRET.search(page.text)[1] != secret
    assert len((await told(door, id))["secrets"]) == 2
    assert await audited(door) == {"dashboard.webhooks.post", "dashboard.webhooks.rotate"}


async def test_an_address_that_cannot_be_is_told_beside_its_form(seat):
    page = await seat.post("/webhooks:new", url="http://10.0.0.1/", types="a")
    assert page.status == 422
    assert 'value="http://10.0.0.1/"' in page.text
    assert "bad_url" in page.text


async def test_it_is_enabled_pinged_and_disabled(seat, door):
    _, id = await made(seat)
    assert (await seat.post(f"/webhooks/{id}/enable")).location == f"/ui/webhooks/{id}"
    assert (await told(door, id))["enabled"] is True
    page = await seat.post(f"/webhooks/{id}/ping")
    assert page.location.startswith("/ui/deliveries/")
    delivery = await seat.get(page.location.removeprefix("/ui"))
    assert "None was made yet." in delivery.text
    assert "Deliver again" not in delivery.text
    live = await seat.get(page.location.removeprefix("/ui") + "/live", hx_request="true")
    assert "<html" not in live.text
    path = page.location.removeprefix("/ui")
    assert (await seat.post(f"{path}/cancel")).status == 303
    assert "cancelled" in (await seat.get(path)).text
    await seat.post(f"/webhooks/{id}/disable")
    assert (await told(door, id))["disabled_why"] == "asked"
    assert "by hand" in (await seat.get(f"/webhooks/{id}?state=cancelled")).text


async def test_events_are_delivered_again_and_that_is_stopped(seat, clock):
    _, id = await made(seat)
    await seat.post(f"/webhooks/{id}/enable")
    page = await seat.post(f"/webhooks/{id}/replay", since=str(clock.now().date()), only="all")
    assert page.location.startswith("/ui/webhook-replays/"), page.text
    path = page.location.removeprefix("/ui")
    assert "running" in (await seat.get(path)).text
    assert "running" in (await seat.get(f"{path}/live", hx_request="true")).text
    await seat.post(f"{path}/cancel")
    assert "cancelled" in (await seat.get(path)).text


async def test_what_a_door_refuses_is_told_on_the_page(seat):
    _, id = await made(seat)
    page = await seat.post(f"/webhooks/{id}/replay", since="2026-01-01", only="all")
    assert page.status == 409
    assert "webhook_disabled" in page.text
    page = await seat.post(f"/webhooks/{id}/delete", revision="999")
    assert page.status == 412
    assert "condition_false" in page.text


async def test_it_is_deleted_as_it_was_shown(seat, door):
    _, id = await made(seat)
    page = await seat.get(f"/webhooks/{id}")
    revision = re.search(r'name="revision" value="(\d+)"', page.text)[1]
    assert (await seat.post(f"/webhooks/{id}/delete", revision=revision)).location == "/ui/webhooks"
    assert (await door("GET", f"/v1/webhooks/{id}")).status == 404


def delivered(committed, id, workspace, text="no"):
    """A delivery with one attempt, as a sender would have left it."""
    committed.execute(
        "insert into steadhold.webhook_bodies (workspace, event_id, aggregate_id, aggregate_revision, type, body,"
        " made_at) values (%s, 'order-1@1', 'order-1', 1, 'order.placed', '{}', steadhold.clock())",
        (workspace,),
    )
    (delivery,) = committed.execute(
        "insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, place, state, attempts, tries,"
        " made_at, ended_at) values (%s, gen_random_uuid(), %s, 'order-1@1', 0, 1, 2, 1, 1, steadhold.clock(),"
        " steadhold.clock()) returning id::text",
        (workspace, id),
    ).fetchone()
    committed.execute(
        "insert into steadhold.attempts (workspace, delivery, n, webhook, state, started_at, deadline_at,"
        " ended_at, status, why, address, request, response, response_body) values (%s, %s, 1, %s, 2,"
        " steadhold.clock(), steadhold.clock(), steadhold.clock(), 500, 'status', '192.0.2.1', %s, %s, %s)",
        (workspace, delivery, id, f"POST /hook {text}", f"HTTP/1.1 500 {text}", text.encode()),
    )
    return delivery


async def test_a_delivery_that_ended_is_sent_again(seat, committed, workspace, door):
    _, id = await made(seat)
    await seat.post(f"/webhooks/{id}/enable")
    delivery = delivered(committed, id, workspace)
    page = await seat.get(f"/deliveries/{delivery}")
    assert "Deliver again" in page.text
    assert "Cancel" not in page.text.partition("<main")[2]
    again = await seat.post(f"/deliveries/{delivery}/replay")
    assert again.location.startswith("/ui/deliveries/")
    assert delivery not in again.location
    shown = await seat.get(again.location.removeprefix("/ui"))
    assert f'href="/ui/deliveries/{delivery}"' in shown.text


async def test_what_receivers_answered_is_hidden_without_its_scope(seat, seated, committed, workspace):
    _, id = await made(seat)
    delivery = delivered(committed, id, workspace, "receiver's secret")
    blind = await seated("webhooks:read")
    page, hidden = await seat.get(f"/deliveries/{delivery}"), await blind.get(f"/deliveries/{delivery}")
    assert unescape(page.text).count("receiver's secret") == 3
    assert unescape(hidden.text).count("receiver's secret") == 2  # the heads, which say how it went
    assert "payloads:read" in hidden.text


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_receivers_say_is_text(seat, committed, workspace, text):
    _, id = await made(seat)
    page = await seat.get(f"/deliveries/{delivered(committed, id, workspace, text)}")
    assert unescape(page.text).count(text) == 3
    assert harmless(page, text)


async def test_who_may_only_read_is_offered_nothing_and_refused(seat, seated):
    _, id = await made(seat)
    reader = await seated("webhooks:read")
    page = await reader.get(f"/webhooks/{id}")
    assert page.status == 200
    for verb in ("enable", "ping", "rotate", "replay", "delete"):
        assert f"/{verb}" not in page.text
        assert (await reader.post(f"/webhooks/{id}/{verb}")).code == "missing_scope"
    assert "New webhook" not in (await reader.get("/webhooks")).text
    assert (await reader.post("/webhooks:new", url=URL, types="a")).code == "missing_scope"


@pytest.mark.parametrize("text", HOSTILE)
async def test_addresses_and_types_are_text(seat, door, text):
    body = {"url": "https://example.com/" + re.sub(r"[^!-~]", "", text), "types": [text[:40]]}
    answer = await door("POST", "/v1/webhooks", msgspec.json.encode(body), idempotency_key="made")
    if answer.status != 201:
        page = await seat.post("/webhooks:new", **body)
        assert page.status in {400, 422}
        assert harmless(page, body["types"][0])
        return
    id = answer.json["webhook_id"]
    assert harmless(await seat.get("/webhooks"), text[:40])
    assert harmless(await seat.get(f"/webhooks/{id}"), text[:40])
