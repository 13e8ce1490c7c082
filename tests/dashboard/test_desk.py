"""How pages ask the doors: as whoever sits there, with their scopes, and with a row in the audit."""

from __future__ import annotations

import msgspec
import pytest

from steadhold.access import authenticate
from steadhold.dashboard import session as sessions
from steadhold.dashboard.asking import kind_of, target
from steadhold.dashboard.page import Refused, View
from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.web.ask import Route
from tests.dashboard.seats import Seat, key_of

HOSTILE = "<script>alert(1)</script><svg onload=alert(2)>\"'--><img src=x onerror=alert(3)>"
BODY = msgspec.json.encode({"a": HOSTILE, "n": msgspec.Raw(b"12345678901234567890.50")})


@pytest.fixture
def view(app, workspace):
    """What a page's function is given: `view = await view_of("jobs:read")`."""

    async def view_of(*scopes, kind="person", **form):
        await Seat(app).get("/login")
        front = app._people._app
        key = await key_of(app, workspace, kind=kind, scopes=scopes or ("*:*",))
        session = await front._sessions.open(key, "")
        return View(front._desk, session, "/ui", "/", {}, {}, form)

    return view_of


async def audited(door):
    rows = (await door("GET", "/v1/audit?limit=100")).json["items"]
    return [(row["kind"], row["resource"], row["operation_id"]) for row in rows if row["kind"].startswith("dashboard.")]


async def test_a_door_is_asked_as_whoever_sits_there(view):
    reader = await view("state:read:team")
    assert (await reader.maybe("/v1/state", "team/a")) is None
    with pytest.raises(Refused) as no:
        await reader.send("PUT", "/v1/state", "team/a", body=b"1", revision=0)
    assert (no.value.status, no.value.code) == (403, "missing_scope")
    assert not reader.may("state:read")
    assert reader.may("state:read", "team/a")
    assert reader.reaches("state:read")


async def test_what_a_person_does_leaves_a_row_and_what_is_refused_none(view, door):
    writer = await view(operation="once")
    await writer.send("PUT", "/v1/state", "a b/c", body=BODY, revision=0)
    assert await audited(door) == [("dashboard.state.put", "/v1/state/a%20b/c", "once")]
    await writer.send("PUT", "/v1/state", "a b/c", body=BODY, revision=0)  # again under its id: a replay
    with pytest.raises(Refused):
        await writer.send("PUT", "/v1/state", "a b/c", body=BODY, revision=7, operation="other")
    await writer.get("/v1/state", "a b/c")
    assert len(await audited(door)) == 1


async def test_the_row_commits_with_what_it_tells_of_or_neither_does(view, door, monkeypatch):
    from steadhold.access import plans

    writer = await view()

    def broken(*_args, **_more):
        raise RuntimeError("planted")
        yield

    monkeypatch.setattr("steadhold.access.audit", broken)
    with pytest.raises(Refused):
        await writer.send("PUT", "/v1/state", "a", body=b"1", revision=0)
    monkeypatch.setattr("steadhold.access.audit", plans.audit)
    assert (await door("GET", "/v1/state/a")).status == 404
    assert await audited(door) == []


async def test_doors_of_programs_leave_no_such_row(door):
    await door("PUT", "/v1/state/a", b"1", if_none_match="*")
    assert await audited(door) == []


async def test_a_file_that_comes_in_pieces_leaves_its_row_too(view, door):
    writer = await view()
    await writer.send(
        "PUT", "/v1/context", "a.txt", body=b"text", revision=0, headers={"content-type": "text/plain"}
    )  # fmt: skip
    assert [row[:2] for row in await audited(door)] == [("dashboard.context.put", "/v1/context/a.txt")]


@pytest.mark.parametrize(
    ("route", "kind"),
    [
        (("POST", "/v1/jobs/{id:uuid}/cancel", "jobs:steer"), "dashboard.jobs.cancel"),
        (("POST", "/v1/jobs:retry", "jobs:steer"), "dashboard.jobs.retry"),
        (("PUT", "/v1/schedules/{id}", "schedules:write"), "dashboard.schedules.put"),
        (("POST", "/v1/keys", "keys:create"), "dashboard.keys.post"),
        (("POST", "/v1/operations/{id}/abandon", ""), "dashboard.operations.abandon"),
        (("POST", "/v1/approvals/{id:uuid}/revoke", ""), "dashboard.approvals.revoke"),
        (("POST", "/v1/publications/{id:uuid}/skip", "events:operate"), "dashboard.events.skip"),
    ],
)
def test_an_action_is_called_after_its_door(route, kind):
    method, path, scope = route
    assert kind_of(Route(method, path, lambda _: None, scope, "")) == kind


def test_an_address_says_what_it_is_made_of():
    assert target("/v1/state", ["a b/ü?#"], {"x": None, "y": True, "z": "&="}) == (
        "/v1/state/a%20b/%C3%BC%3F%23",
        "y=true&z=%26%3D",
    )


async def test_payloads_are_hidden_without_their_scope(view, door):
    await door("PUT", "/v1/state/a", BODY, if_none_match="*")
    blind, seeing = await view("state:read"), await view("state:read", "payloads:read")
    hidden, shown = await blind.get("/v1/state", "a"), await seeing.get("/v1/state", "a")
    assert (hidden.payload.form, hidden.payload.raw, hidden.payload.size) == ("hidden", b"", len(BODY))
    assert hidden.facts.raw("a").form == "hidden"
    assert (shown.payload.form, shown.payload.raw) == ("json", BODY)
    assert "12345678901234567890.50" in shown.payload.text


async def test_a_download_needs_the_scope_of_payloads(app, door, seated, monkeypatch):
    from steadhold.dashboard.page import Page

    await door("PUT", "/v1/state/a", BODY, if_none_match="*")
    seat, blind = await seated("state:read", "payloads:read", "audit:read"), await seated("state:read", "audit:read")
    front = app._people._app

    async def download(view):
        return view.download("/v1/state", view.query["name"], name='a"\r\nb\u00fc.json')

    route, (room, _) = next((key, found) for key, found in front._pages.items() if found[1].path == "/audit")
    monkeypatch.setitem(front._pages, route, (room, Page("/audit", download)))
    got = await seat.get("/audit?name=a")
    assert (got.status, got.body) == (200, BODY)
    assert got.headers["content-disposition"] == (
        "attachment; filename=\"a___b_.json\"; filename*=UTF-8''a%22__b%C3%BC.json"
    )
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"
    head = await seat.ask("HEAD", "/audit?name=a")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(BODY)))
    assert (await blind.get("/audit?name=a")).code == "missing_scope"
    assert (await seat.get("/audit?name=none")).code == "not_found"


async def test_a_vote_needs_a_fresh_login(view, app, clock, monkeypatch):
    monkeypatch.setattr(sessions, "TRUSTED_SECONDS", 0.0)
    monkeypatch.setattr(authenticate, "TRUSTED_SECONDS", 0.0)
    voter = await view()
    vote = {"decision": "reject", "artifact": {"reference": "r", "version": "1", "hash": "sha256:" + "0" * 64}}
    with pytest.raises(Refused) as no:
        await voter.post("/v1/approvals", new_id(), "votes", body=vote)
    assert no.value.code != "login_not_fresh"
    clock.move(limits.SESSION_FRESH_SECONDS + 1)
    later = await app._people._app._sessions.find(voter.session.text)
    stale = View(voter.desk, later, "/ui", "/", {}, {})
    with pytest.raises(Refused) as no:
        await stale.post("/v1/approvals", new_id(), "votes", body=vote)
    assert (no.value.status, no.value.code) == (403, "login_not_fresh")
    assert (await stale.get("/v1/approvals")).status == 200
