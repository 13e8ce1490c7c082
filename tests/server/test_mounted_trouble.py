"""A mounted server is met by trouble: its database is away, its client goes."""

from __future__ import annotations

import asyncio

import httpx2
import msgspec

from steadhold.server.app import App
from tests.server.conftest import key_of
from tests.server.frameworks import FRAMEWORKS, fastapi, living
from tests.server.test_mounted_frameworks import HOST, settings  # noqa: F401 - a fixture


async def test_without_a_life_a_database_that_is_away_is_a_problem(settings, tmp_path):  # noqa: F811
    away = msgspec.structs.replace(settings, database_url=f"postgresql://a@/a?host={tmp_path}")
    house = App(away)
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(FRAMEWORKS["starlette"](house)), base_url=HOST)
    async with http:
        got = await http.get("/steadhold/v1/whoami")
        assert (got.status_code, got.json()["code"], got.json()["next"]) == (503, "unavailable", "resend")
        assert got.json()["type"] == "/steadhold/docs/errors#unavailable"
        house.settings = settings  # it has come back
        assert (await http.get("/steadhold/readyz")).json()["ready"]
    await house.stop()


async def test_a_client_that_goes_leaves_no_fault_in_the_application_s_middleware(settings, workspace):  # noqa: F811
    """A middleware as everybody writes it takes it for a fault when nothing is answered."""
    house = App(settings)
    app = fastapi(house)
    seen = []

    @app.middleware("http")
    async def seeing(request, call_next):
        answer = await call_next(request)
        seen.append(answer.status_code)
        return answer

    async with living(app):
        key = await key_of(house, workspace)
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": "/steadhold/v1/state/none", "raw_path": b"/steadhold/v1/state/none", "root_path": "",
            "query_string": b"wait_seconds=20", "headers": [(b"authorization", f"Bearer {key}".encode())],
            "client": ("127.0.0.1", 1), "server": ("shop.example", 80),
        }  # fmt: skip
        came = asyncio.Queue()
        await came.put({"type": "http.request", "body": b"", "more_body": False})
        await came.put({"type": "http.disconnect"})
        sent = []

        async def send(message):
            sent.append(message)

        await app(scope, came.get, send)
    assert seen == [408]
