"""The whole server mounted in applications of FastAPI, Starlette, Litestar and Django."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from contextlib import asynccontextmanager

import httpx2
import msgspec
import pytest
import uvicorn

from steadhold.sdk import AsyncClient
from steadhold.sdk.errors import NotFound, RevisionConflict
from steadhold.server.app import App
from steadhold.server.settings import Settings
from tests.inboxes.sse import events
from tests.mcp.test_over_http import FIELDS, call
from tests.server.conftest import key_of
from tests.server.frameworks import FRAMEWORKS, OWN, WHERE, fastapi, living
from tests.server.test_mounted import Plain
from tests.server.test_sockets import until

HOST = "http://shop.example"
JSON = {"content_type": "application/json"}
LINK = re.compile(r'<([^>]+)>; rel="next"')


class Site:
    """A server mounted in an application that lives, with a key to it."""

    def __init__(self, house, app, where, key, http):
        self.house, self.app, self.where, self.key, self.http = house, app, where, key, http

    async def ask(self, method, target, content=None, **fields):
        """A request to an address of the mounted server's."""
        return await self.outer(method, self.where + target, content, **fields)

    async def outer(self, method, target, content=None, **fields):
        """A request to any address of the application's."""
        headers = {"authorization": f"Bearer {self.key}", **{n.replace("_", "-"): v for n, v in fields.items()}}
        return await self.http.request(method, target, content=content, headers=headers)

    def client(self):
        """The SDK, which is told where the mount is."""
        return AsyncClient(HOST + self.where, self.key, transport=httpx2.ASGITransport(self.app))


@asynccontextmanager
async def mounted(made, where, settings, workspace):
    house = App(settings)
    app = made(house)
    async with living(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=HOST) as http:
        yield Site(house, app, where, await key_of(house, workspace), http)


@pytest.fixture
def settings(dsn):
    return Settings(database_url=dsn, pool_size=6, background=False)


@pytest.fixture(params=FRAMEWORKS)
async def site(request, settings, workspace):
    async with mounted(FRAMEWORKS[request.param], WHERE[request.param], settings, workspace) as site:
        yield site


async def test_the_sdk_speaks_through_the_mount(site):
    async with site.client() as client:
        for name in ("a/b", "caf\u00e9/\u00fc b", "100%/a%2Fb"):
            written = await client.state.create(name, {"n": 9007199254740993})
            with pytest.raises(RevisionConflict):
                await client.state.put(name, 2, if_revision=written.revision + 1)
            assert (await client.state.get(name)).raw == b'{"n":9007199254740993}'
        with pytest.raises(NotFound):
            await client.state.get("nothing")
        job = await client.jobs.submit("t", {"a": 1})
        assert (await client.jobs.claim("w", ["t"]))[0].job_id == job.job_id


async def test_links_lead_to_the_mount(site):
    async with site.client() as client:
        for n in range(3):
            await client.state.create(f"a/{n}", n)
    seen, target = [], site.where + "/v1/state?prefix=a&limit=1"
    while target:
        page = await site.outer("GET", target)
        seen += [item["name"] for item in page.json()["items"]]
        link = LINK.match(page.headers.get("link", ""))
        target = link and link[1]
        assert not target or target.startswith(site.where + "/v1/state?")
    assert seen == ["a/0", "a/1", "a/2"]
    fields = {**JSON, "idempotency_key": "k"}
    made = await site.ask("POST", "/v1/jobs", b'{"type":"t"}', **fields)
    assert made.headers["location"] == f"{site.where}/v1/jobs/{made.json()['job_id']}"
    assert (await site.outer("GET", made.headers["location"])).json()["state"] == "accepted"
    again = await site.ask("POST", "/v1/jobs", b'{"type":"t"}', **fields)
    assert (again.headers["idempotent-replayed"], again.json()) == ("true", made.json())


async def test_pages_lead_to_the_mount(site):
    page = await site.ask("GET", "/docs/errors")
    assert page.status_code == 200
    assert f'href="{site.where}/docs/style.css"' in page.text
    assert not re.search(rf'(?:href|src)="/(?!{site.where[1:]}/)', page.text)
    for target in ("/docs/errors.md", "/llms.txt"):
        text = (await site.ask("GET", target)).text
        assert f"]({site.where}/docs/" in text
        assert "](/" not in text.replace(f"]({site.where}/", "")
    described = (await site.ask("GET", "/openapi.json")).json()
    assert described["servers"] == [{"url": site.where}]
    assert (await site.ask("GET", "/")).status_code == 200


@pytest.mark.parametrize("target", ["/v1/nothing", "/nothing", "/docs/nothing", "/v1/state/nothing", "/v1x", "/ui"])
async def test_what_is_not_there_is_a_problem_of_ours(site, target):
    got = await site.ask("GET", target)
    assert (got.status_code, got.headers["content-type"]) == (404, "application/problem+json")
    problem = got.json()
    assert problem["code"] == "not_found"
    assert problem["type"] == f"{site.where}/docs/errors#not_found"
    assert (await site.outer("GET", problem["type"].partition("#")[0])).status_code == 200


async def test_the_application_keeps_what_is_its_own(site):
    assert (await site.outer("GET", "/own")).text == OWN
    beside = await site.outer("GET", "/v1/state/a")
    assert (beside.status_code, "problem" in beside.headers["content-type"]) == (404, False)


async def test_an_agent_comes_in_through_the_mount(site):
    fields = {**{name.replace("-", "_"): value for name, value in FIELDS.items()}}
    fields |= JSON
    for name, arguments in (
        ("state_put", {"name": "a/b", "value": 1, "if_revision": 0}),
        ("state_get", {"name": "a/b"}),
    ):
        got = await site.ask("POST", "/mcp", msgspec.json.encode(call(name, arguments)), **fields)
        answer = got.json()["result"]["structuredContent"]
        assert answer["answer"]["ok"], answer
    assert answer["stored"]["text"] == "1"
    refused = await site.outer("POST", f"{site.where}/mcp", b"{}", authorization="Bearer none", **fields)
    assert refused.json()["type"] == f"{site.where}/docs/errors#no_valid_key"


async def test_a_file_goes_through_in_pieces(site):
    pieces = [bytes([n]) * 65_536 for n in range(40)]

    async def sent():
        for piece in pieces:
            yield piece

    fields = {"content_type": "application/octet-stream", "if_none_match": "*"}
    made = await site.ask("PUT", "/v1/context/a/b.bin", sent(), **fields)
    assert made.status_code == 201, made.text
    part = await site.ask("GET", "/v1/context/a/b.bin", range="bytes=65535-65536")
    assert (part.status_code, part.content) == (206, b"\x00\x01")
    assert (await site.ask("GET", "/v1/context/a/b.bin")).content == b"".join(pieces)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_the_application_s_life_is_the_server_s(framework, settings):
    house = App(settings)
    for _ in range(2):  # one that ended may begin again
        async with living(FRAMEWORKS[framework](house)):
            engine = house.engine
            assert engine is not None
            assert not engine.hub.stopping
        assert engine.hub.stopping


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_without_a_life_the_first_request_begins_it(framework, settings):
    house = App(settings)
    http = httpx2.AsyncClient(transport=httpx2.ASGITransport(FRAMEWORKS[framework](house)), base_url=HOST)
    assert house.engine is None
    async with http:
        assert (await http.get(f"{WHERE[framework]}/readyz")).json()["ready"]
    await house.stop()


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_stream_is_sent_as_it_comes(framework, settings, workspace):
    house = App(settings)
    async with served(FRAMEWORKS[framework](house)) as url:
        key = {"authorization": f"Bearer {await key_of(house, workspace)}", "content-type": "application/json"}
        async with httpx2.AsyncClient(base_url=url + WHERE[framework], headers=key, trust_env=False) as http:

            async def append(n):
                body = b'{"type":"t","data":%d}' % n
                made = await http.post("/v1/inboxes/a/events", content=body, headers={"idempotency-key": f"k{n}"})
                assert made.status_code == 201

            await http.put("/v1/inboxes/a", content=b"{}", headers={"if-none-match": "*"})
            await append(0)
            async with http.stream("GET", "/v1/inboxes/a/stream") as answer:
                text, came = b"", 0
                async for piece in answer.aiter_raw():
                    text += piece
                    found = [event.json["data"] for event in events(text)]
                    if len(found) > came:  # the next is appended when the one before has come
                        came = len(found)
                        await append(came)
                    if came == 3:
                        break
            assert found == [0, 1, 2]
    assert house.engine.hub.stopping


@asynccontextmanager
async def served(app):
    """The address at which uvicorn, as it comes, serves an application."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Plain(uvicorn.Config(app, lifespan="on", log_config=None, access_log=False))
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    await until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


@pytest.mark.filterwarnings("ignore:The `root_path` parameter is deprecated")
async def test_a_proxy_that_cuts_off_its_part_is_led_back_through(settings, workspace):
    """FastAPI says the proxy's part in `root_path` alone, and uvicorn in `path` too."""
    made = lambda house: fastapi(house, root_path="/proxy")  # noqa: E731
    async with mounted(made, "/steadhold", settings, workspace) as site:
        got = await site.ask("GET", "/v1/state/a%2Fb")
        assert (got.status_code, got.json()["type"]) == (404, "/proxy/steadhold/docs/errors#not_found")
        assert (await site.ask("PUT", "/v1/state/a%2Fb", b"1", if_none_match="*", **JSON)).status_code == 201
        assert (await site.outer("GET", "/proxy/steadhold/v1/state/a/b")).content == b"1"


async def test_the_public_address_wins_over_the_mount(settings, workspace):
    public = msgspec.structs.replace(settings, public_url="https://api.example/coordination/")
    async with mounted(FRAMEWORKS["starlette"], "/steadhold", public, workspace) as site:
        got = await site.ask("GET", "/v1/state/a")
        assert got.json()["type"] == "https://api.example/coordination/docs/errors#not_found"
        made = await site.ask("POST", "/v1/jobs", b'{"type":"t"}', idempotency_key="k", **JSON)
        assert made.headers["location"].startswith("https://api.example/coordination/v1/jobs/")


async def test_the_dashboard_answers_under_its_own_host_name_only(settings, workspace):
    apart = msgspec.structs.replace(settings, dashboard_host="ui.shop.example")
    async with mounted(FRAMEWORKS["fastapi"], "/steadhold", apart, workspace) as site:
        assert (await site.ask("GET", "/ui/login")).status_code == 404
        shown = await site.ask("GET", "/ui/login", host="ui.shop.example")
        assert (shown.status_code, 'action="/steadhold/ui/login"' in shown.text) == (200, True)


async def test_a_websocket_is_refused(settings, workspace):
    async with mounted(FRAMEWORKS["starlette"], "/steadhold", settings, workspace) as site:
        sent = []

        async def receive():
            return {"type": "websocket.connect"}

        async def send(message):
            sent.append(message)

        scope = {"type": "websocket", "path": "/steadhold/v1/x", "headers": [], "query_string": b"", "root_path": ""}
        await site.app(scope, receive, send)
        assert [message["type"] for message in sent] == ["websocket.close"]
