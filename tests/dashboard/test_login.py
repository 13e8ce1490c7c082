"""The login: what is asked before a page is shown, what a session is, and what ends it."""

from __future__ import annotations

import asyncio
import re

import pytest

from steadhold.access import authenticate
from steadhold.dashboard import session as sessions
from steadhold.kit import limits
from steadhold.server.app import App
from tests.dashboard.seats import Seat, key_of


@pytest.fixture
def untrusting(monkeypatch):
    """Nothing that was read is trusted for a while: what the database says now holds."""
    monkeypatch.setattr(sessions, "TRUSTED_SECONDS", 0.0)
    monkeypatch.setattr(authenticate, "TRUSTED_SECONDS", 0.0)


@pytest.mark.parametrize("path", ["", "/", "/keys", "/audit?kind=x", "/overview/live", "/nowhere", "/operations/a"])
async def test_without_a_session_nothing_is_shown(app, door, path):
    """What answers without a key holds nothing of a workspace: an empty answer that leads to the login."""
    await door("PUT", "/v1/state/secret-name", b"1", if_none_match="*")
    page = await Seat(app).get(path)
    assert (page.status, page.body) == (303, b"")
    assert page.location.startswith("/ui/login?next=%2Fui")


async def test_a_key_opens_a_session_and_leads_to_where_it_was_wanted(app, owner):
    seat = Seat(app)
    page = await seat.log_in(owner, next="/ui/audit?kind=key.made")
    assert (page.status, page.location) == (303, "/ui/audit?kind=key.made")
    assert (await seat.get("/keys")).status == 200


async def test_the_cookie_is_kept_from_scripts_and_other_sites_and_holds_no_key(app, owner):
    seat = Seat(app)
    page = await seat.log_in(owner)
    (line,) = page.cookies
    assert line.endswith("; Path=/ui; Max-Age=43200; HttpOnly; SameSite=Strict")
    secret = owner.rpartition("_")[2]
    assert secret not in line
    assert secret[:43] not in line


async def test_the_cookie_is_for_https_alone_where_that_is_the_address(settings, owner):
    import msgspec

    app = App(msgspec.structs.replace(settings, public_url="https://server"))
    seat = Seat(app)
    page = await seat.send("/login", {"key": owner}, origin="https://server")
    assert page.cookies[0].endswith("; Secure")
    await app.stop()


@pytest.mark.parametrize("key", ["", "nonsense", "sh_test_0356KRvdMZB58QsbNAZuQf_" + "0" * 43 + "000000"])
async def test_what_is_no_key_opens_nothing(app, key):
    seat = Seat(app)
    page = await seat.log_in(key)
    assert (page.status, page.cookies) == (401, ())
    assert "not known here" in page.text


@pytest.mark.parametrize("to", ["https://evil.test/", "//evil.test", "/ui\\evil", "/uix", "/v1/keys", "/ui/\u00e4"])
async def test_a_login_leads_nowhere_else(app, owner, to):
    assert (await Seat(app).log_in(owner, next=to)).location == "/ui"


@pytest.mark.parametrize("headers", [{"origin": "http://evil.test"}, {"origin": "null"}, {"origin": ""}])
async def test_a_login_is_sent_by_our_page_alone(app, owner, headers):
    page = await Seat(app).send("/login", {"key": owner}, **headers)
    assert (page.status, page.code, page.cookies) == (403, "foreign_origin", ())


async def test_a_session_is_good_on_every_server(settings, seat):
    other = App(settings)
    elsewhere = Seat(other)
    elsewhere.jar = seat.jar
    assert (await elsewhere.get("/keys")).status == 200
    await other.stop()


async def test_a_cookie_that_was_changed_opens_nothing(app, seat):
    (name, text), *_ = seat.jar.items()
    for at in (3, text.index(".") + 3, len(text) - 3):
        changed = Seat(app)
        changed.jar[name] = text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]
        assert (await changed.get("/keys")).status == 303


async def test_a_cookie_of_another_session_signs_for_none(app, owner, seat):
    """The signature is over the whole of what it stands for: parts of two sessions make none."""
    other = Seat(app)
    await other.log_in(owner)
    (name, mine), (_, theirs) = *seat.jar.items(), *other.jar.items()
    mixed = Seat(app)
    mixed.jar[name] = ".".join([*mine.split(".")[:3], theirs.split(".")[3]])
    assert (await mixed.get("/keys")).status == 303


async def test_a_session_is_signed_and_was_begun(app, owner, seat):
    """Who can read a key's hash can sign, and still has no session: the audit must hold where it began."""
    from steadhold.access import parse_token

    token = parse_token(owner)
    named = f"{token.key_id}..{'A' * 43}"
    forged = Seat(app)
    forged.jar["steadhold_session"] = f"{named}.{sessions._sign(token.hash, named)}"
    assert (await forged.get("/keys")).status == 303


async def test_logging_out_ends_the_session_on_every_server(untrusting, app, settings, seat):
    other = App(settings)
    stolen = Seat(other)
    stolen.jar = dict(seat.jar)
    assert (await stolen.get("/keys")).status == 200
    page = await seat.post("/logout")
    assert (page.location, seat.jar) == ("/ui/login", {})
    assert (await stolen.get("/keys")).status == 303
    await other.stop()


async def test_a_revoked_key_ends_its_sessions(untrusting, app, owner, door, seat):
    """On another server than the one that revoked it, once what was read of the key is trusted no more."""
    other = App(app.settings)
    elsewhere = Seat(other)
    elsewhere.jar = seat.jar
    assert (await elsewhere.get("/keys")).status == 200
    revoked = await door("POST", f"/v1/keys/{owner.split('_')[2]}/revoke")
    assert revoked.status == 200
    for path in ("/keys", "/overview/live"):
        assert (await elsewhere.get(path)).status == 303
    live = await elsewhere.get("/overview/live", hx_request="true")
    assert (live.status, live.headers["hx-refresh"], live.body) == (401, "true", b"")
    await other.stop()


async def test_what_is_trusted_of_a_session_lasts_no_longer_than_is_promised():
    assert sessions.TRUSTED_SECONDS + 2 <= limits.REVOCATION_SECONDS_MAX


async def test_a_rotated_key_ends_its_sessions(untrusting, owner, door, seat):
    key_id = owner.split("_")[2]
    rotated = await door("POST", f"/v1/keys/{key_id}/rotate", b"{}", idempotency_key="r")
    assert rotated.status == 200
    assert (await seat.get("/keys")).status == 303


async def test_a_rotated_key_keeps_its_sessions_for_the_grace(untrusting, owner, door, seat):
    key_id = owner.split("_")[2]
    await door("POST", f"/v1/keys/{key_id}/rotate", b'{"grace_seconds": 60}', idempotency_key="r")
    assert (await seat.get("/keys")).status == 200


async def test_a_session_ends_by_itself(untrusting, clock, seat):
    clock.move(limits.SESSION_SECONDS_MAX - 60)
    assert (await seat.get("/keys")).status == 200
    clock.move(61)
    assert (await seat.get("/keys")).status == 303


async def test_beginnings_and_ends_stand_in_the_audit(seat, door):
    await seat.post("/logout")
    kinds = [row["kind"] for row in (await door("GET", "/v1/audit")).json["items"]]
    assert kinds[:2] == ["session.ended", "session.began"]


async def test_a_fresh_login_replaces_the_session(untrusting, app, owner, seat):
    before = dict(seat.jar)
    await seat.log_in(owner)
    old = Seat(app)
    old.jar = before
    assert (await old.get("/keys")).status == 303
    assert (await seat.get("/keys")).status == 200


async def test_a_link_of_another_site_is_followed_once_more_from_here(app, seat):
    """Its first request comes without the cookie: a page of ours asks again, and then it is there."""
    page = await Seat(app).get("/keys/a?x=%22%3E", sec_fetch_site="cross-site")
    assert page.status == 200
    assert '<meta http-equiv="refresh" content="0; url=/ui/keys/a?x=%22%3E">' in page.text
    assert (await Seat(app).get("/keys", sec_fetch_site="same-origin")).status == 303


async def test_a_form_without_a_session_changes_nothing(app, workspace, door):
    page = await Seat(app).send("/keys:new", {"subject": "a", "kind": "service"})
    assert page.status == 401
    assert "Nothing was changed" in page.text
    assert len((await door("GET", "/v1/keys")).json["items"]) == 1


async def test_an_operator_looks_at_the_workspace_that_is_named(app, workspace, owner):
    operator = await key_of(app, workspace, kind="operator")
    seat = Seat(app)
    await seat.send("/login", {"key": operator})
    assert "no workspace" in (await seat.get("/")).text
    page = await seat.get("/workspace")
    while f">{workspace}<" not in page.text:
        page = await seat.get(re.search(r'rel="next" href="/ui([^"]+)"', page.text)[1])
    await seat.send("/login", {"key": operator, "workspace": workspace})
    page = await seat.get("/keys")
    assert owner.split("_")[2] in page.text


async def test_sessions_are_looked_for_together(app, seat):
    pages = await asyncio.gather(*(seat.get("/workspace") for _ in range(8)))
    assert {page.status for page in pages} == {200}
