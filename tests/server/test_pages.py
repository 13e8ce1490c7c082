"""What a server tells about itself without a key, and what it refuses before any door."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from steadhold.db import migrate
from steadhold.kit import limits
from steadhold.server import guides, rooms
from steadhold.server.app import App
from steadhold.server.capabilities import VERSION
from steadhold.web import openapi
from steadhold.web.codes import PROBLEMS
from tests.web.toy import Client

pytestmark = pytest.mark.parametrize("settings", ["lockstep"], indirect=True)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def ask(app: App) -> Client:
    return Client(app, key=None)


async def test_alive_and_ready(ask, app):
    assert (await ask("GET", "/livez")).json == {"alive": True}
    ready = await ask("GET", "/readyz")
    assert ready.json == {"ready": True, "checks": {"database": "ok", "migrations": "ok", "clock": "ok"}}
    app.stop_waiting()
    stopping = await ask("GET", "/readyz")
    assert (stopping.status, stopping.json["checks"]) == (503, {"server": "stopping"})


async def test_a_server_whose_connections_are_all_taken_is_busy_and_ready(ask, app):
    pool = app.engine.pool
    taken = [await pool.take() for _ in range(pool.size)]
    try:
        assert (await ask("GET", "/readyz")).status == 200
    finally:
        for conn in taken:
            pool.give(conn)


async def test_not_ready_says_what_is_wrong_and_nothing_of_the_inside(ask, app):
    await app.engine.health.pool.close()
    got = await ask("GET", "/readyz")
    assert got.status == 503
    assert got.json["checks"] == {"database": "PostgreSQL does not answer, or cannot be used."}


async def test_capabilities_show_limits_windows_orders_and_the_incarnation(ask):
    told = (await ask("GET", "/v1/capabilities")).json
    assert told["version"] == VERSION
    assert told["limits"] == limits.ALL
    assert told["retention"]["receipts_seconds"] == 7 * 86_400
    assert {order["longer"] for order in told["retention"]["orders"]} >= {"receipts_seconds", "jobs_seconds"}
    assert isinstance(told["incarnation"], int)


async def test_capabilities_show_only_what_is_here(ask, app, workspace, database):
    told = (await ask("GET", "/v1/capabilities")).json
    assert told["rooms"] == [
        *("access", "approvals", "commits", "context", "effects", "events", "inboxes", "jobs", "locks", "operations"),
        *("schedules", "state", "webhooks"),
    ]
    assert told["mcp"] == "/mcp"
    assert told["waits"] == ["timer", "signal", "job", "approval", "effect", "inbox"]
    assert (told["dashboard"], told["secrets"], told["sinks"]) == ("/ui", bool(app.settings.sealing_key), False)
    assert told["schema"] == str(migrate.files()[-1])
    for address in told["documents"].values():
        assert (await ask("GET", address)).status == 200
    common = {"name", "version", "api_versions", "rooms", "mcp", "limits", "retention", "incarnation"}
    common |= {"schema", "documents", "dashboard", "secrets", "sinks", "ports", "inbox_epochs"}
    facts = {"approval_hashes", "commits", "events", "fences", "schedule_targets", "waits", "zone_tables"}
    assert told.keys() == common | facts
    page = guides.pages()["http"].partition("\n## What a server has\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert {name for cell in cells for name in re.findall(r"`(\w+)`", cell)} == told.keys()
    windows = told["retention"].keys() - {"orders", "client_retries_seconds"}
    assert windows == set(rooms.WINDOWS.values()), "each window is kept by a room"
    with database.connect() as conn:
        asked = "select revisions_kept from steadhold.workspaces where workspace = %s"
        assert conn.execute(asked, (workspace,)).fetchone() == (told["limits"]["revisions_kept_default"],)


async def test_every_page_is_served_as_html_and_as_markdown(ask):
    for name, text in guides.pages().items():
        plain = await ask("GET", f"/docs/{name}.md")
        assert (plain.body.decode(), plain.headers["content-type"]) == (text, "text/markdown; charset=utf-8")
        assert (await ask("GET", f"/docs/{name}", accept="text/markdown")).body == plain.body
        page = await ask("GET", f"/docs/{name}")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in page.headers["content-security-policy"]
        for address in (f"/docs/{name}.md", "/v1/capabilities", "/ui"):
            assert f'<a href="{address}">' in page.body.decode()
    icon = await ask("GET", "/docs/icon.svg")
    assert (icon.status, icon.headers["content-type"], icon.body[:4]) == (200, "image/svg+xml", b"<svg")
    index, llms = await ask("GET", "/docs"), await ask("GET", "/llms.txt")
    for name in guides.pages():
        assert f'href="/docs/{name}"' in index.body.decode()
        assert f"(/docs/{name}.md)" in llms.body.decode()


async def test_every_code_has_its_place_on_the_page_of_errors(ask):
    page = (await ask("GET", "/docs/errors")).body.decode()
    for code, kind in PROBLEMS.items():
        assert f'id="{code}"' in page
        assert f"Status {kind.status}" in page
    written = set(re.findall(r"^## (\w+)$", (ROOT / "docs/errors.md").read_text(), re.MULTILINE))
    assert written == set(PROBLEMS)


async def test_links_between_pages_lead_somewhere(ask):
    for name, text in guides.pages().items():
        for target in re.findall(r"\]\((/[^)#\s]+)", text):
            assert (await ask("GET", target)).status == 200, (name, target)


async def test_there_is_nothing_else(ask):
    for path in (
        "/nothing",
        "/docs/nothing",
        "/docs/nothing.md",
        "/docs/../etc/passwd",
        "/docs/errors.md.md",
        "/docs/",
    ):
        got = await ask("GET", path)
        assert got.status == (200 if path == "/docs/" else 404)
    got = await ask("POST", "/livez")
    assert (got.status, got.headers["allow"]) == (405, "GET, HEAD")
    assert (await ask("HEAD", "/livez")).body == b""


async def test_counts_are_told(ask):
    await ask("GET", "/v1/state/a")
    text = (await ask("GET", "/metrics")).body.decode()
    assert 'steadhold_requests_total{method="GET",route="",status="401"} 1.0' in text
    assert 'steadhold_problems_total{code="no_valid_key"} 1.0' in text
    assert 'steadhold_request_seconds_bucket{le="+Inf",route=""} 1.0' in text
    documented = (ROOT / "src/steadhold/telemetry/guide.md").read_text()
    for name in re.findall(r"^# TYPE (steadhold_\w+)", text, re.MULTILINE):
        assert name in documented


async def test_only_listed_hosts_are_answered(dsn, settings):
    app = App(msgspec.structs.replace(settings, hosts=("localhost", "127.0.0.1", "[::1]")))
    ask = Client(app, key=None)
    for host, status in (
        ("localhost:8750", 200), ("LOCALHOST", 200), ("127.0.0.1:1", 200), ("[::1]:8750", 200), ("[::1]", 200),
        ("evil.example", 421), ("localhost.evil.example:8750", 421), ("", 421),
    ):  # fmt: skip
        assert (await ask("GET", "/livez", host=host)).status == status, host
    assert (await ask("GET", "/livez")).status == 421
    await app.stop()


async def test_heads_are_bounded_under_any_asgi_server(ask):
    assert (await ask("GET", "/livez?" + "a" * limits.ADDRESS_BYTES_MAX)).code == "uri_too_long"
    assert (await ask("GET", "/livez", x="a" * limits.HEADER_BYTES_MAX)).code == "headers_too_large"
    assert (await ask("GET", "/livez", **{f"x{n}": "a" for n in range(101)})).code == "headers_too_large"


async def test_mounted_inside_another_application(app):
    from starlette.applications import Starlette
    from starlette.routing import Mount

    ask = Client(Starlette(routes=[Mount("/inside", app)]), key=None)
    assert (await ask("GET", "/inside/livez")).json == {"alive": True}
    assert (await ask("GET", "/inside/v1/state/a")).code == "no_valid_key"
    assert b'href="/inside/docs/errors"' in (await ask("GET", "/inside/docs")).body
    page = (await ask("GET", "/inside/docs/events")).body
    assert b'href="/inside/docs/events.md"' in page
    assert b'src="/inside/docs/figures/outbox.svg"' in page
    assert b'href="/ui"' not in page


async def test_the_description_is_the_one_that_was_reviewed(ask):
    served = (await ask("GET", "/openapi.json")).json
    assert served == msgspec.json.decode((ROOT / "openapi.json").read_bytes()), "run: python tools/write_openapi.py"
    document = openapi.document(rooms.routes(), version=VERSION)
    assert served == msgspec.json.decode(msgspec.json.encode(document))
