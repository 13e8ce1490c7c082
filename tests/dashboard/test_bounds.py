"""What a page takes that nobody would send in good faith: it is refused, or costs no more than anything else."""

from __future__ import annotations

import threading
from urllib.parse import quote

import msgspec
import pytest

from steadhold.dashboard import rendering
from steadhold.dashboard.sending import file_fields
from steadhold.server.app import App
from tests.dashboard.seats import Seat, key_of

LONG = "9" * 5000
"""More digits than Python makes a number of."""

SOME = "0198f7a0-0000-7000-8000-000000000001"
"""An id that is nobody's, the same in every process: it is in the names of tests."""

FORMS = [
    ("/effects/a/abandon", "revision"),
    ("/inboxes/a/consumers/b/delete", "revision"),
    ("/schedules/a/pause", "revision"),
    ("/schedules/a/delete", "revision"),
    ("/subscriptions/a/delete", "revision"),
    (f"/webhooks/{SOME}/delete", "revision"),
    (f"/webhooks/{SOME}/rotate", "grace"),
    ("/keys/a/rotate", "grace"),
    ("/keys:new", "lifetime"),
    ("/locks/a/release", "fence"),
]


@pytest.mark.parametrize(("path", "field"), FORMS)
async def test_what_is_no_number_is_told_so_and_nothing_is_done(seat, path, field):
    """A revision that cannot be read is none that was seen: it must not become a change without a condition."""
    for text in (LONG, "\N{ARABIC-INDIC DIGIT THREE}", "x"):
        page = await seat.post(path, **{field: text})
        assert (page.status, page.code) == (400, "bad_request"), page.text


@pytest.mark.parametrize("text", [LONG, "\N{ARABIC-INDIC DIGIT THREE}", "x"])
async def test_what_a_list_begins_after_may_be_anything(seat, door, text):
    assert (await door("PUT", "/v1/inboxes/orders", b"{}", if_none_match="*")).status == 201
    assert (await seat.get(f"/inboxes/orders?after={quote(text)}")).status == 200
    assert (await seat.get(f"/aggregates/a?after={quote(text)}")).status in {200, 404}
    assert (await seat.post("/jobs:cancel", count=text)).status == 200


@pytest.mark.parametrize("raw", [b"[" * 60_000, b'"' + b'\\"' * 30_000], ids=["nested", "no end"])
async def test_a_file_that_says_it_is_json_and_is_none_is_shown_in_no_time(seat, door, raw):
    made = await door("PUT", "/v1/context/a.json", raw, content_type="application/json", if_none_match="*")
    assert made.status == 201
    page = await seat.get("/context/a.json")
    assert page.status == 200
    assert len(page.body) < 12 * len(raw)


async def test_a_page_is_written_beside_what_else_the_server_does(seat, monkeypatch):
    """Large pages take long to be written: the loop that answers all others goes on meanwhile."""
    where = []
    render = rendering.render

    def noted(*args):
        where.append(threading.current_thread())
        return render(*args)

    monkeypatch.setattr(rendering, "render", noted)
    assert (await seat.get("/keys")).status == 200
    assert threading.main_thread() not in where


async def test_a_name_cannot_turn_the_name_of_its_file(seat, door):
    assert (await door("PUT", "/v1/state/a%E2%80%AEfdp.exe", b"1", if_none_match="*")).status == 201
    got = await seat.get("/state:raw/a%E2%80%AEfdp.exe")
    assert got.headers["content-disposition"] == ("attachment; filename=\"a_fdp.exe\"; filename*=UTF-8''a_fdp.exe")
    assert b"\n" not in dict(file_fields("a\r\nb: c\u2028"))[b"content-disposition"]


async def test_a_download_that_is_refused_says_why(seated, door):
    assert (await door("PUT", "/v1/state/other", b"1", if_none_match="*")).status == 201
    narrow = await seated("state:read:team", "payloads:read")
    assert (await narrow.get("/state:raw/other")).code == "missing_scope"
    assert (await narrow.get("/state:raw/team/none")).code == "not_found"


async def test_logins_are_counted_against_the_rate(app, workspace, owner, door, monkeypatch):
    """Each leaves a row in the audit."""
    seat = Seat(app)
    await seat.log_in(owner)
    now = app.engine.keyring._now()
    monkeypatch.setattr(app.engine.keyring, "_now", lambda: now)
    app.engine.keyring.entitle(workspace, 2)
    statuses = [(await seat.send("/login", {"key": owner})).status for _ in range(4)]
    app.engine.keyring.entitle(workspace, None)
    assert statuses == [303, 303, 429, 429]
    rows = (await door("GET", "/v1/audit?kind=session.began")).json["items"]
    assert len(rows) == 3


async def test_an_operator_without_a_workspace_reads_of_none(app, workspace):
    seat = Seat(app)
    await seat.send("/login", {"key": await key_of(app, workspace, kind="operator")})
    for path in ("/events:live", "/jobs:cancel", "/jobs:retry"):
        page = await seat.get(path)
        assert (page.status, page.code) == (400, "workspace_required")


async def test_cookies_may_come_in_fields_of_their_own(app, seat):
    """As HTTP/2 carries them."""
    (name, text), *_ = seat.jar.items()
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    crumbs = [(b"host", b"server"), (b"cookie", b"theme=dark"), (b"cookie", f"{name}={text}".encode())]
    scope = {
        "type": "http", "method": "GET", "path": "/ui/keys", "raw_path": b"/ui/keys", "query_string": b"",
        "root_path": "", "scheme": "http", "headers": crumbs,
    }  # fmt: skip
    await app(scope, receive, send)
    assert sent[0]["status"] == 200


def over_https(app):
    """The application as a server that speaks https shows it requests."""

    async def asked(scope, receive, send):
        await app({**scope, "scheme": "https"}, receive, send)

    return asked


async def test_over_https_the_cookie_is_for_https_alone(app, owner):
    """Also where nobody said so: the application sees how a browser came."""
    seat = Seat(over_https(app))
    page = await seat.log_in(owner)
    assert page.cookies[0].endswith("; Secure")
    assert (await seat.get("/keys")).status == 200


async def test_over_https_no_neighbour_sets_the_cookie(app, owner):
    """A page of another host of the domain could set one for all of them, but for names that begin like this."""
    seat = Seat(over_https(app))
    page = await seat.log_in(owner)
    name, _, _ = page.cookies[0].partition("=")
    assert name.startswith("__Host-")
    assert "; Path=/; " in page.cookies[0]
    tossed = Seat(over_https(app))
    tossed.jar = {name.removeprefix("__Host-"): seat.jar[name]}
    assert (await tossed.get("/keys")).status == 303
    done = await seat.post("/logout")
    assert done.cookies[0].startswith(f"{name}=; Path=/; Max-Age=0")


async def test_where_the_address_is_https_a_page_of_http_sends_no_form(settings, owner):
    app = App(msgspec.structs.replace(settings, public_url="https://server"))
    page = await Seat(app).send("/login", {"key": owner}, origin="http://server")
    assert (page.status, page.code, page.cookies) == (403, "foreign_origin", ())
    assert (await Seat(app).send("/login", {"key": owner}, origin="https://server")).status == 303
    await app.stop()


async def test_a_workspace_that_could_be_none_is_none(app, workspace):
    operator = await key_of(app, workspace, kind="operator")
    for named in ("a\0b", "A", "~house", "x" * 100_000, "\u00e4"):
        seat = Seat(app)
        page = await seat.send("/login", {"key": operator, "workspace": named})
        assert page.status == 303
        assert "no workspace" in (await seat.get("/")).text
        got = await seat.client("GET", f"/v1/keys?workspace={quote(named[:100])}", authorization=f"Bearer {operator}")
        assert got.status == 404
