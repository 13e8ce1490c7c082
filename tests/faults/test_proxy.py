"""The proxy loses exactly the answer, or exactly the COMMIT, that it was told to lose."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg
import pytest

from tests.faults.proxy import Fault, Proxy

pytestmark = pytest.mark.journeys

LOST = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, psycopg.OperationalError)


class Asyncpg:
    """A client that commits by simple queries."""

    commit = "commit"

    def __init__(self, conn: asyncpg.Connection) -> None:
        self.conn = conn

    @classmethod
    async def connect(cls, dsn: str):
        return cls(await asyncpg.connect(dsn))

    async def execute(self, statement: str) -> None:
        await self.conn.execute(statement)

    async def close(self) -> None:
        self.conn.terminate()


class AsyncpgPrepared(Asyncpg):
    """A client that commits by executing a prepared statement."""

    async def execute(self, statement: str) -> None:
        await self.conn.fetch(statement)


class Psycopg(Asyncpg):
    """A client on libpq."""

    @classmethod
    async def connect(cls, dsn: str):
        return cls(await psycopg.AsyncConnection.connect(dsn, autocommit=True))

    async def close(self) -> None:
        await self.conn.close()


@pytest.fixture(params=[Asyncpg, AsyncpgPrepared, Psycopg])
def driver(request):
    return request.param


class Names:
    """What stands in the database: each test writes a name of its own."""

    def __init__(self, conn: psycopg.Connection, name: str) -> None:
        self.conn, self.name = conn, name
        self.conn.execute("create table if not exists public.names (name text primary key)")
        self.insert = f"insert into public.names values ('{name}')"

    @property
    def stands(self) -> bool:
        look = "select exists (select from public.names where name = %s)"
        return self.conn.execute(look, (self.name,)).fetchone()[0]


@pytest.fixture
def names(database, workspace):
    with database.connect() as conn:
        yield Names(conn, workspace)


@pytest.fixture
async def proxy(dsn):
    async with Proxy(dsn) as proxy:
        yield proxy


@pytest.fixture
async def client(proxy, driver):
    client = await driver.connect(proxy.dsn)
    yield client
    await client.close()


async def insert_and_commit(client, names) -> None:
    await client.execute("begin")
    await client.execute(names.insert)
    await client.execute("commit")


async def test_everything_passes_unless_told_otherwise(client, names):
    await insert_and_commit(client, names)
    assert names.stands


@pytest.mark.parametrize("fault", [Fault.CUT, Fault.RESET])
@pytest.mark.parametrize("delivered", [False, True])
async def test_a_cut_loses_the_commit_or_its_answer(proxy, client, names, fault, delivered):
    struck = proxy.at_commit(fault, delivered=delivered)
    with pytest.raises(LOST):
        await insert_and_commit(client, names)
    assert struck.is_set()
    assert names.stands is delivered


@pytest.mark.parametrize("delivered", [False, True])
async def test_a_partition_tells_nobody(proxy, client, names, delivered):
    struck = proxy.at_commit(Fault.SWALLOW, delivered=delivered)
    writing = asyncio.create_task(insert_and_commit(client, names))
    await struck.wait()
    assert names.stands is delivered
    assert not writing.done()
    proxy.cut()
    with pytest.raises(LOST):
        await writing
    assert names.stands is delivered


@pytest.mark.parametrize("delivered", [False, True])
async def test_what_is_held_goes_on_when_released(proxy, client, names, delivered):
    struck = proxy.at_commit(Fault.HOLD, delivered=delivered)
    writing = asyncio.create_task(insert_and_commit(client, names))
    await struck.wait()
    assert names.stands is delivered
    assert not writing.done()
    proxy.release()
    await writing
    assert names.stands


async def test_it_strikes_once_after_those_it_lets_pass(proxy, client, driver, names):
    struck = proxy.at_commit(Fault.CUT, delivered=False, passes=1)
    for statement in ("begin", "commit"):
        await client.execute(statement)
    assert not struck.is_set()
    with pytest.raises(LOST):
        await insert_and_commit(client, names)
    assert not names.stands
    again = await driver.connect(proxy.dsn)
    await insert_and_commit(again, names)
    assert names.stands
    await again.close()


async def test_a_stall_holds_everything_until_it_ends(proxy, client, names):
    proxy.stall()
    writing = asyncio.create_task(insert_and_commit(client, names))
    _, held = await asyncio.wait({writing}, timeout=0.05)
    assert held == {writing}
    proxy.resume()
    await writing
    assert names.stands


async def test_a_delay_keeps_answers_back(proxy, client, names):
    proxy.delay_seconds = 0.001
    await insert_and_commit(client, names)
    assert names.stands


async def test_it_can_refuse_connections(proxy, driver):
    proxy.refusing = True
    with pytest.raises(LOST):
        await driver.connect(proxy.dsn)
