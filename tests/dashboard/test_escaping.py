"""Whatever is stored or asked for is shown as text: no page can be made to hold a stranger's markup."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote

import msgspec
import pytest

from tests.dashboard.seats import Seat

HOSTILE = [
    "<script>alert(1)</script>",
    "<svg onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "</textarea><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--<script>/*--></title></style></script><svg/onload=alert(1)>",
]
ALLOWED = re.compile(r'<script src="/ui/static/htmx\.min\.js\?v=[0-9a-f]{12}" defer></script>')


def harmless(page, text):
    """The page shows the text, and holds no markup of it."""
    body = ALLOWED.sub("", page.text)
    for mark in ("<script", "<svg onload", "<svg/onload", "<img src=x", "onerror=alert(1)>", "' autofocus"):
        assert mark not in body, page.text
    assert text in unescape(body)
    return True


@pytest.mark.parametrize("text", HOSTILE)
async def test_names_and_answers_of_operations(seat, door, text):
    name, key = "a" + text, f"op-{HOSTILE.index(text)}"
    made = await door("PUT", f"/v1/state/{quote(name)}", b"1", if_none_match="*", idempotency_key=key)
    assert made.status == 201, made
    harmless(await seat.get("/operations"), name)
    harmless(await seat.get(f"/operations/{key}"), name)


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_the_audit_names(seat, text):
    name = "a" + text
    made = await seat.post("/keys:new", subject="s", kind="service", more="state:read:" + name.replace(" ", "_"))
    assert made.status == 201
    harmless(await seat.get("/keys"), name.replace(" ", "_"))


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_was_asked_for(seat, text):
    harmless(await seat.get(f"/audit?kind={quote(text)}"), text)
    page = await seat.post("/keys:new", subject=text, kind="service", more=text)
    assert page.status in {400, 422}
    harmless(page, text)
    harmless(await Seat(seat.client.app).get(f"/login?workspace={quote(text)}"), text)


@pytest.mark.parametrize("text", HOSTILE)
async def test_the_members_of_a_problem(seat, text):
    page = await seat.get(f"/operations/{quote(text, safe='')}")
    assert page.status == 404
    harmless(page, "")


@pytest.mark.parametrize("text", HOSTILE)
async def test_a_result_that_is_json(seat, door, text):
    artifact = {"reference": "r", "version": "1", "hash": "sha256:" + "0" * 64}
    wanted = {"artifact": artifact, "action": "act", "title": text, "approvers": ["anna"], "expires_in_seconds": 60}
    made = await door("POST", "/v1/approvals", msgspec.json.encode(wanted), idempotency_key="ask")
    assert made.status == 201, made.body
    page = await seat.get("/operations/ask")
    harmless(page, made.json["approval_id"])
    assert msgspec.json.encode(text).decode() in unescape(page.text)
