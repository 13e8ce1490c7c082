"""Two servers over one database: who reads at one learns of what is appended at the other by a hint, without a poll."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.server.app import App
from steadhold.server.settings import Settings
from steadhold.web import hold, streaming
from tests.inboxes.sse import events
from tests.server.conftest import key_of
from tests.server.test_hints import listening
from tests.web.flows import Reader
from tests.web.toy import Client


@pytest.fixture
async def pair(fresh_database, workspace, monkeypatch):
    """Two servers whose waiters never poll, and a key."""
    monkeypatch.setattr(hold, "POLL_SECONDS", 600.0)
    monkeypatch.setattr(streaming, "POLL_SECONDS", 600.0)
    apps = [App(Settings(database_url=fresh_database.dsn, pool_size=4, background=False)) for _ in range(2)]
    for app in apps:
        await app.start()
    async with asyncio.timeout(30), apps[0].engine.pool.connection() as conn:
        while await listening(conn) < 2:
            await asyncio.sleep(0)
    yield *apps, await key_of(apps[0], workspace)
    for app in apps:
        await app.stop()


async def test_a_reader_learns_at_once_of_what_is_appended_at_another_server(pair):
    here, there, key = pair
    call = Client(here, key)
    assert (await call("PUT", "/v1/inboxes/a", b"{}", if_none_match="*")).status == 201
    epoch = (await call("GET", "/v1/inboxes/a")).json["epoch"]
    polling = asyncio.ensure_future(
        Client(there, key)("GET", f"/v1/inboxes/a/events?epoch={epoch}&after=0&wait_seconds=30")
    )
    stream = Reader(there, "GET", "/v1/inboxes/a/stream", authorization=f"Bearer {key}")
    assert (await stream.head())[0] == 200
    assert await stream.piece() == b":\n\n"
    while len(there.engine.hub) < 2:
        await asyncio.sleep(0)
    sent = await call("POST", "/v1/inboxes/a/events", b'{"type": "t", "data": 1}', idempotency_key="k")
    assert sent.status == 201
    async with asyncio.timeout(20):
        assert [event["sequence"] for event in (await polling).json["events"]] == [1]
        assert [event.id for event in events(await stream.piece())] == [f"{epoch}:1"]
    stream.leave()
    await stream.task
