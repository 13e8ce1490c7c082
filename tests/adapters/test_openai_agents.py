"""The session protocol of OpenAI Agents against a real server, beside the session that comes with it."""

from __future__ import annotations

import pytest
from agents import SQLiteSession
from agents.memory import Session, SessionSettings

from steadhold.adapters.openai_agents import SteadholdSession
from steadhold.kit.fields import FenceRef
from steadhold.sdk import AsyncClient
from steadhold.sdk.errors import StaleFence


@pytest.fixture
async def client(site, key):
    async with AsyncClient(site.url, key.key) as client:
        yield client


def said(*words):
    return [{"role": "user", "content": word} for word in words]


async def steps(session):
    """What each step of a conversation answers."""
    yield await session.pop_item()
    yield await session.add_items([])
    yield await session.add_items(said("a", "b\n\u2028c", "\u00fc"))
    yield await session.add_items([{"type": "function_call_output", "call_id": "1", "output": "{}"}])
    for limit in (None, 0, 1, 3, 9):
        yield await session.get_items(limit)
    yield await session.pop_item()
    yield await session.get_items()
    yield await session.clear_session()
    yield await session.get_items()
    yield await session.add_items(said("d"))
    yield await session.get_items()


async def test_it_answers_as_their_own_session_does(client):
    ours, theirs = SteadholdSession("s", client), SQLiteSession("s")
    assert isinstance(ours, Session)
    assert [one async for one in steps(ours)] == [one async for one in steps(theirs)]
    theirs.close()


@pytest.mark.parametrize(
    "content",
    ["\ud83d", "a\0b\r\n\x85", float("inf"), 2**80, 1e-320, {"a/b": {"..": [None, True, {}]}}, "x" * 5_000_000],
)
async def test_an_item_comes_back_as_it_was(client, content):
    session = SteadholdSession("odd", client)
    await session.add_items([{"role": "user", "content": content}])
    await session.add_items(said("after"))
    assert await session.get_items() == [{"role": "user", "content": content}, *said("after")]
    assert await session.pop_item() == said("after")[0]
    await session.clear_session()


async def test_what_json_cannot_say_is_refused_and_changes_nothing(client):
    session = SteadholdSession("s", client)
    await session.add_items(said("a"))
    with pytest.raises(TypeError):
        await session.add_items([*said("b"), {"role": "user", "content": b"c"}])
    assert await session.get_items() == said("a")


async def test_settings_limit_what_is_read(client):
    session = SteadholdSession("s", client, session_settings=SessionSettings(limit=1))
    await session.add_items(said("a", "b"))
    assert await session.get_items() == said("b")
    assert await session.get_items(2) == said("a", "b")


async def test_sessions_are_apart_whatever_they_are_called(client):
    names = ["a/b", "a", "..", "", "\u00fc \\", "x" * 900, "100%"]
    for name in names:
        await SteadholdSession(name, client).add_items(said(name))
    for name in names:
        assert await SteadholdSession(name, client).get_items() == said(name)


async def test_a_turn_that_begins_again_takes_its_own_place(client):
    first = SteadholdSession("s", client, turn="1")
    await first.add_items(said("a"))
    await first.add_items(said("b"))
    await SteadholdSession("s", client, turn="2").add_items(said("c"))
    again = SteadholdSession("s", client, turn="2")
    assert await again.get_items() == said("a", "b")
    await again.add_items(said("d"))
    assert await again.get_items() == said("a", "b", "d")
    assert await SteadholdSession("s", client).get_items() == said("a", "b", "d")


async def test_two_that_add_at_once_lose_nothing(client):
    import asyncio

    one, two = SteadholdSession("s", client), SteadholdSession("s", client)
    await asyncio.gather(*(session.add_items(said(f"{n}")) for n in range(5) for session in (one, two)))
    assert len(await one.get_items()) == 10


async def test_a_worker_that_was_replaced_adds_nothing(client):
    await client.jobs.submit("agent", None)
    (held,) = await client.jobs.claim("w", ["agent"])
    await SteadholdSession("s", client, fences=[held.grant]).add_items(said("a"))
    stale = SteadholdSession("s", client, fences=[FenceRef(held.grant.subject, held.fence + 1)])
    with pytest.raises(StaleFence):
        await stale.add_items(said("b"))
    assert await stale.get_items() == said("a")
