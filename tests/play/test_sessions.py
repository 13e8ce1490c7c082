"""What is set for a session, where setting it fails: nobody is lent a session of which nobody knows what is set."""

from __future__ import annotations

import asyncpg
import pytest

from steadhold.db.connection import Connection
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.play import toy

AS_IT_CAME = "select current_user = session_user and coalesce(current_setting('steadhold.workspace', true), '') = ''"


@pytest.fixture
async def narrow(dsn, counters):
    counters("a")
    async with Pool(dsn, size=1) as opened:
        yield opened


async def comes_back_as_it_came(pool):
    async with pool.connection() as conn:
        return await conn.fetchval(AS_IT_CAME)


async def test_where_it_cannot_be_set_it_ends(narrow, workspace):
    """The server refuses the timeout, and has set the workspace."""
    await Single(narrow).play(toy.look.call(workspace, "a"))
    with pytest.raises(asyncpg.InvalidParameterValueError):
        await Single(narrow, lock_timeout_ms=2**40).play(toy.look.call(workspace, "a"))
    assert await comes_back_as_it_came(narrow)
    assert await Single(narrow).play(toy.look.call(workspace, "a")) == 1


async def test_where_it_cannot_be_left_it_ends(narrow, workspace, monkeypatch):
    """An operator cancels what it is left by."""
    await Single(narrow).play(toy.look.call(workspace, "a"))
    execute = Connection.execute

    async def cancelled(self, text, *args, **how):
        return await execute(self, "select 1 / 0" if text.startswith("reset") else text, *args, **how)

    with monkeypatch.context() as within:
        within.setattr(Connection, "execute", cancelled)
        with pytest.raises(asyncpg.DivisionByZeroError):
            await comes_back_as_it_came(narrow)
    assert await comes_back_as_it_came(narrow)


async def test_the_look_at_the_house_is_nobodys(narrow, workspace, monkeypatch):
    """It does not run as the application, in a workspace, under the hurry of a flush."""
    await Single(narrow).play(toy.look.call(workspace, "a"))
    seen = []

    async def look(conn):
        seen.append(await conn.fetchval(AS_IT_CAME))

    monkeypatch.setattr(narrow, "_init", look)
    monkeypatch.setattr(narrow, "_look_at", 0.0)
    narrow.give(await narrow.take())
    assert seen == [True]
