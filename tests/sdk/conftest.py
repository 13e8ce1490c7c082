from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.retry import Patience
from tests.sdk.sockets import tcp, unix, url  # noqa: F401 - fixtures

PROBLEM = {"content-type": "application/problem+json"}


def problem(status, code, *, next="stop", headers=(), **extras):
    body = {
        "type": f"/docs/errors#{code}",
        "title": code,
        "status": status,
        "detail": "Why.",
        "code": code,
        "next": next,
    }
    return httpx2.Response(status, json={**body, **extras}, headers={**PROBLEM, **dict(headers)})


def sleeping(module, sleep):
    """`module` with another `sleep`, for one who uses it: other threads of this process sleep as they did."""
    return SimpleNamespace(**{**vars(module), "sleep": sleep})


class Clock:
    """Time that passes only in pauses."""

    def __init__(self):
        self.now = 1_000.0
        self.pauses = []

    def __call__(self):
        return self.now

    def pause(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    async def pause_async(self, seconds):
        self.pause(seconds)


class Server:
    """Answers each request by the next of its answers; an exception is what happens to the connection."""

    def __init__(self):
        self.answers = []
        self.requests = []

    def then(self, *answers):
        self.answers += answers
        return self

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException) or (isinstance(answer, type) and issubclass(answer, BaseException)):
            raise answer if isinstance(answer, BaseException) else answer("it broke")
        if not isinstance(answer, httpx2.Response):
            return answer(request)
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(answer.content))

    @property
    def keys(self):
        """Operation ids, in the order of the requests."""
        return [request.headers.get("idempotency-key") for request in self.requests]

    @property
    def asked(self):
        """Method and target of each request."""
        return [f"{r.method} {r.url.raw_path.decode()}" for r in self.requests]


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("steadhold.sdk.client.time", sleeping(time, clock.pause))
    monkeypatch.setattr("steadhold.sdk.client.asyncio", sleeping(asyncio, clock.pause_async))
    return clock


@pytest.fixture
def patience(clock):
    return Patience(give_up_seconds=30, clock=clock, chance=lambda: 1.0)


@pytest.fixture
def client(server, patience):
    with Client("http://test", "sh_key", patience=patience, transport=httpx2.MockTransport(server)) as client:
        yield client


class Played:
    """An asynchronous client that is called like a synchronous one, so that one test serves both."""

    def __init__(self, client, portal):
        self._client, self._portal = client, portal

    def __getattr__(self, name):
        found = getattr(self._client, name)
        return Played(found, self._portal) if name in _ROOMS else self._verb(found)

    def __getitem__(self, name):
        return Played(self._client[name], self._portal)

    def _verb(self, found):
        async def next_of(stream):
            return await anext(stream, self)

        def each_of(stream):
            while (item := self._portal(next_of(stream))) is not self:
                yield item

        def call(*args, **kw):
            made = found(*args, **kw)
            return each_of(made) if hasattr(made, "__aiter__") else self._portal(made)

        return call


_ROOMS = {
    "state",
    "jobs",
    "operations",
    "keys",
    "workspaces",
    "entitlements",
    "audit",
    "approvals",
    "effects",
    "journals",
    "locks",
    "inboxes",
}


@pytest.fixture(params=["sync", "async"])
def each_client(request, server, patience):
    """Both clients, one after the other."""
    made = (Client if request.param == "sync" else AsyncClient)(
        "http://test", "sh_key", patience=patience, transport=httpx2.MockTransport(server)
    )
    if request.param == "sync":
        with made:
            yield made
        return
    with asyncio.Runner() as runner:
        yield Played(made, runner.run)
        runner.run(made.close())
