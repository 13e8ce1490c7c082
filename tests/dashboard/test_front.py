"""What holds for every page and every form, whatever room it is of."""

from __future__ import annotations

import hashlib
import re

import msgspec
import pytest

from steadhold.dashboard import rendering
from steadhold.dashboard.facts import Answered
from steadhold.dashboard.front import Front
from steadhold.dashboard.page import Action
from steadhold.dashboard.rooms import ROOMS
from steadhold.dashboard.sending import POLICY
from steadhold.kit.ids import new_id
from tests.dashboard.seats import Seat

VENDORED = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"
"""SHA-256 of dist/htmx.min.js of htmx.org 4.0.1, as npm has it."""

PAGES = [page.path for room in ROOMS for page in room.pages if "{" not in page.path and not page.path.endswith("live")]


async def keys_of(door):
    return len((await door("GET", "/v1/keys")).json["items"])


@pytest.mark.parametrize("path", [*PAGES, "/nowhere", "/login", "/operations/abc"])
async def test_every_page_comes_under_the_policy(seat, path):
    page = await seat.get(path)
    assert page.headers["content-security-policy"] == POLICY
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["x-content-type-options"] == "nosniff"
    assert page.headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("path", [*PAGES, "/login", "/nowhere"])
async def test_no_page_holds_code_or_style(seat, path):
    """What the policy would refuse is not there: no inline script, no handler, no style."""
    text = (await seat.get(path)).text
    assert re.findall(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:", text) == []


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_of_the_menu_is_shown(seat, path):
    page = await seat.get(path)
    shown = page.status == 200 and "<h1>" in page.text
    assert shown or (page.status == 303 and page.location.startswith("/ui/")), page.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://server.evil.test"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(seat, door, headers):
    """Even one that knows the token: a browser says where a form comes from."""
    form = {"csrf": seat.csrf, "operation": new_id(), "subject": "a", "kind": "service"}
    page = await seat.send("/keys:new", form, **headers)
    assert (page.status, page.code) == (403, "foreign_origin")
    assert await keys_of(door) == 1


@pytest.mark.parametrize("csrf", ["", "A" * 43, "ü"])
async def test_a_form_without_the_session_s_token_is_refused(seat, door, csrf):
    page = await seat.send("/keys:new", {"csrf": csrf, "subject": "a", "kind": "service"})
    assert (page.status, page.code) == (403, "foreign_form")
    assert await keys_of(door) == 1


async def test_a_token_is_good_for_its_session_alone(app, owner, seat):
    other = Seat(app)
    await other.log_in(owner)
    assert other.csrf != seat.csrf
    page = await seat.send("/keys:new", {"csrf": other.csrf, "subject": "a", "kind": "service"})
    assert (page.status, page.code) == (403, "foreign_form")


async def test_a_form_that_is_sent_twice_does_it_once(seat, door):
    form = {"csrf": seat.csrf, "operation": new_id(), "subject": "a", "kind": "service", "scopes": "jobs:read"}
    first, second = await seat.send("/keys:new", form), await seat.send("/keys:new", form)
    assert (first.status, second.status) == (201, 201)
    assert "shown once" in first.text
    assert "sent before" in second.text
    assert await keys_of(door) == 2


@pytest.mark.parametrize("body", [b"csrf=%FF", b"a=1&" * 3000])
async def test_what_is_no_form_is_refused(seat, body):
    headers = {"origin": "http://server", "content_type": "application/x-www-form-urlencoded"}
    page = await seat.ask("POST", "/keys:new", body, **headers)
    assert (page.status, page.code) == (400, "bad_request")
    page = await seat.ask("POST", "/keys:new", b"{}", origin="http://server", content_type="application/json")
    assert (page.status, page.code) == (415, "unsupported_media_type")


async def test_every_action_asks_for_session_origin_and_token(app, seat):
    """The list of actions is the rooms' own: none can be added that these tests do not reach."""
    for room in ROOMS:
        for action in room.actions:
            assert isinstance(action, Action)
            path = re.sub(r"\{\w+:uuid\}", new_id(), action.path)
            path = re.sub(r"\{\w+(:path)?\}", "a", path)
            assert (await Seat(app).send(path, {"csrf": seat.csrf})).status == 401
            assert (await seat.send(path, {"csrf": seat.csrf}, origin="http://evil.test")).code == "foreign_origin"
            assert (await seat.send(path, {"csrf": ""})).code == "foreign_form"


async def test_what_is_not_there_is_told_alike(seat):
    for path in ("/nowhere", "/keys/a/b/c", "/static/../front.py", "/keys/%FF"):
        assert (await seat.get(path)).code == "not_found"
    assert (await seat.ask("DELETE", "/keys")).code == "not_found"


async def test_files_have_their_types_and_are_kept_as_long_as_their_name_says(seat):
    for name, kind in rendering.STATIC.items():
        file = await seat.get(f"/static/{name}?v={rendering.version(name)}")
        assert (file.status, file.headers["content-type"]) == (200, kind)
        assert "immutable" in file.headers["cache-control"]
        assert (await seat.get(f"/static/{name}?v=old")).headers["cache-control"] == "no-cache"


def test_the_script_is_the_published_one():
    assert hashlib.sha256(rendering.static("htmx.min.js")).hexdigest() == VENDORED
    assert b"Zero-Clause BSD" in rendering.static("htmx.LICENSE")


async def test_a_head_has_no_body(seat):
    page = await seat.ask("HEAD", "/keys")
    assert (page.status, page.body) == (200, b"")
    assert int(page.headers["content-length"]) > 1000


async def test_what_was_not_foreseen_shows_nothing_of_itself(app, seat, monkeypatch):
    front = app._people._app

    async def broken(_view):
        raise RuntimeError("secret inside")

    route, (room, page) = next((key, found) for key, found in front._pages.items() if found[1].path == "/audit")
    monkeypatch.setitem(front._pages, route, (room, type(page)("/audit", broken)))
    assert isinstance(front, Front)
    page = await seat.get("/audit")
    assert (page.status, page.code) == (500, "internal")
    assert "secret" not in page.text


async def test_a_page_is_counted_once_against_the_rate(app, workspace, seat, monkeypatch):
    now = app.engine.keyring._now()
    monkeypatch.setattr(app.engine.keyring, "_now", lambda: now)
    app.engine.keyring.entitle(workspace, 3)
    pages = [await seat.get("/keys") for _ in range(5)]
    assert [page.status for page in pages] == [200, 200, 200, 429, 429]
    assert [page.headers.get("retry-after") for page in pages] == [None] * 3 + ["1"] * 2
    assert (await seat.post("/logout")).status == 303  # leaving is always open
    app.engine.keyring.entitle(workspace, None)


async def test_a_door_that_is_busy_says_when_to_come_again(app, seat, door, monkeypatch):
    """On a page of its own, and on the page of what somebody wanted to act on."""
    desk, busy = app._people._app._desk, {"code": "too_many_requests", "detail": "Later."}
    ask = desk.ask

    async def asked(session, method, *rest):
        if method == "POST":
            return Answered(429, {"retry-after": "7"}, msgspec.json.encode(busy))
        return await ask(session, method, *rest)

    job = b'{"cron": "0 0 * * *", "time_zone": "UTC", "target": {"job": {"type": "t"}}}'
    assert (await door("PUT", "/v1/schedules/s", job, if_none_match="*")).status == 201
    monkeypatch.setattr(desk, "ask", asked)
    for action in ("/schedules/s/trigger", "/jobs:cancel"):
        page = await seat.post(action, count="1")
        assert (page.status, page.headers["retry-after"]) == (429, "7")
