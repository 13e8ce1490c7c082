"""The dashboard's own pages: operations, keys, audit, workspace; and what each does at its door."""

from __future__ import annotations

import re

import msgspec
import pytest

from steadhold.kit.ids import new_id
from tests.dashboard.seats import Seat

SECRET = re.compile(r'id="secret" readonly value="(sh_test_[0-9A-Za-z_]+)"')


async def audited(door, kind):
    return (await door("GET", f"/v1/audit?kind={kind}")).json["items"]


async def made(seat, *scopes, **fields):
    return await seat.post("/keys:new", subject="importer", kind="service", scopes=list(scopes), **fields)


async def test_a_key_is_made_and_shown_once(app, seat, door):
    page = await made(seat, "jobs:read", "state:read", more="state:write:team\r\nlocks:*", lifetime="604800")
    assert page.status == 201
    key = SECRET.search(page.text)[1]
    id = key.split("_")[2]
    told = (await door("GET", f"/v1/keys/{id}")).json
    assert told["scopes"] == ["jobs:read", "state:read", "state:write:team", "locks:*"]
    assert (told["subject"], told["kind"], told["expires_at"] is None) == ("importer", "service", False)
    assert key not in (await seat.get(f"/keys/{id}")).text + (await seat.get("/keys")).text
    assert [row["resource"] for row in await audited(door, "dashboard.keys.post")] == ["/v1/keys"]
    assert (await Seat(app).log_in(key)).status == 303


async def test_a_key_that_cannot_be_is_told_beside_its_form(seat):
    page = await made(seat, "jobs:read", more="jobs:fly")
    assert page.status == 422
    assert "names no verb of jobs" in page.text
    assert 'value="importer"' in page.text
    assert re.search(r'value="jobs:read" checked', page.text)


async def test_a_key_is_rotated_and_revoked(app, seat, door):
    key = SECRET.search((await made(seat, "jobs:read")).text)[1]
    id = key.split("_")[2]
    page = await seat.post(f"/keys/{id}/rotate", grace="3600")
    assert SECRET.search(page.text)[1] != key
    assert (await door("GET", f"/v1/keys/{id}")).json["old_secret_until"] is not None
    page = await seat.post(f"/keys/{id}/revoke")
    assert page.location == f"/ui/keys/{id}"
    shown = await seat.get(f"/keys/{id}")
    assert "The key was revoked" in shown.text
    assert "The key was revoked" not in (await seat.get(f"/keys/{id}")).text
    assert (await door("GET", f"/v1/keys/{id}")).json["state"] == "revoked"
    assert [len(await audited(door, f"dashboard.keys.{verb}")) for verb in ("rotate", "revoke")] == [1, 1]
    assert "key.revoked" in shown.text


async def test_what_a_key_may_not_is_not_offered_and_refused(seated, owner):
    reader = await seated("keys:read")
    id = owner.split("_")[2]
    page = await reader.get(f"/keys/{id}")
    assert page.status == 200
    assert "/rotate" not in page.text
    assert "/revoke" not in page.text
    assert "New key" not in (await reader.get("/keys")).text
    for path in (f"/keys/{id}/revoke", f"/keys/{id}/rotate", "/keys:new"):
        assert (await reader.post(path)).code == "missing_scope"
    assert (await reader.get("/keys:new")).code == "missing_scope"


async def test_the_menu_shows_what_is_in_scope(seated):
    menu = re.findall(
        r'<li><a href="/ui/([a-z]*)"', (await (await seated("keys:read", "state:read:team")).get("/")).text
    )
    assert set(menu) - {"state"} == {"", "operations", "keys", "workspace"}


async def test_an_operation_is_found_by_its_id(seat, door):
    await door("PUT", "/v1/state/a", b"[1.50]", if_none_match="*", idempotency_key="known")
    assert (await seat.get("/operations?id=%20known%20")).location == "/ui/operations/known"
    page = await seat.get("/operations/known")
    assert "It took effect." in page.text
    listed = await seat.get("/operations")
    assert 'href="/ui/operations/known"' in listed.text


async def test_an_operation_that_nobody_knows_of_is_abandoned(seat, door):
    key = new_id()
    page = await seat.get(f"/operations/{key}")
    assert "has committed under this id" in page.text
    page = await seat.post(f"/operations/{key}/abandon")
    assert page.location == f"/ui/operations/{key}"
    assert "It was abandoned before it took effect" in (await seat.get(page.location.removeprefix("/ui"))).text
    late = await door("PUT", "/v1/state/a", b"1", if_none_match="*", idempotency_key=key)
    assert late.code == "operation_abandoned"
    assert len(await audited(door, "dashboard.operations.abandon")) == 1


async def test_a_receipt_out_of_scope_is_refused(seated, door):
    await door("PUT", "/v1/state/a", b"1", if_none_match="*", idempotency_key="other")
    blind = await seated("keys:read")
    assert (await blind.get("/operations/other")).code == "missing_scope"
    assert "other" not in (await blind.get("/operations")).text.partition("<main")[2]


async def test_the_answer_of_an_operation_is_a_payload(seated, door):
    await door("PUT", "/v1/state/a", b"1", if_none_match="*", idempotency_key="put")
    page = await (await seated("state:write")).get("/operations/put")
    assert "this key lacks the scope" in page.text
    assert "revision" not in page.text.partition("Its answer")[2]


async def test_the_audit_is_filtered(seat):
    for _ in range(2):
        await made(seat, "jobs:read")
    page = await seat.get("/audit?kind=dashboard.keys.post")
    assert page.text.count("<tr><td>") == 2
    assert "Next page" not in page.text
    assert "Nothing matches." in (await seat.get("/audit?subject=nobody")).text


async def test_a_list_goes_on_where_it_ended(seat):
    for _ in range(55):
        await made(seat, "jobs:read")
    first = await seat.get("/operations")
    following = re.search(r'rel="next" href="/ui(/operations\?cursor=[^"]+)"', first.text)[1]
    second = await seat.get(following)
    ids = [re.findall(r'class="id" href="/ui/operations/([^"]+)"', page.text) for page in (first, second)]
    assert (len(ids[0]), len(ids[1])) == (50, 5)
    assert not set(ids[0]) & set(ids[1])
    assert "First page" in second.text


async def test_the_workspace_says_what_it_may_have(app, seat, workspace, door):
    from tests.dashboard.seats import key_of
    from tests.web.toy import Client

    operator = Client(app, await key_of(app, workspace, kind="operator"))
    limits = msgspec.json.encode({"names_max": 4, "job_types": ["a", "b"]})
    await operator("PUT", f"/v1/entitlements?workspace={workspace}", limits, if_none_match="*")
    await door("PUT", "/v1/state/a", b"1", if_none_match="*")
    page = await seat.get("/workspace")
    assert 'aria-label="1 of 4"' in page.text
    assert "a, b" in page.text


@pytest.mark.parametrize("fresh", [True, False])
async def test_the_workspace_says_whether_you_may_vote(seat, fresh, monkeypatch):
    from steadhold.kit import limits

    if not fresh:
        monkeypatch.setattr(limits, "SESSION_FRESH_SECONDS", -1)
    text = (await seat.get("/workspace")).text
    assert ("after a fresh login" in text) is not fresh
