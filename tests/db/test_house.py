from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from steadhold.db import house
from steadhold.db.account import choose
from steadhold.db.binaries import Binaries
from steadhold.db.embedded import Embedded
from steadhold.db.errors import HouseError, StandbyError
from steadhold.db.house import Watch
from steadhold.db.migrate import files, migrate
from steadhold.db.pool import Pool

SIGNS = {
    "another timeline": "update steadhold.house set timeline = '0000000A'",
    "another server": "update steadhold.house set system_identifier = 1",
    "a log shorter than the row saw": "update steadhold.house set lsn_seen = lsn_seen + 1e12::numeric",
}


@pytest.fixture
async def conn(housed: str) -> AsyncIterator[asyncpg.Connection]:
    made = await asyncpg.connect(housed)
    yield made
    await made.close()


async def test_begins_at_zero_and_stays(conn: asyncpg.Connection) -> None:
    watch = Watch()
    for _ in range(3):
        await watch.check(conn)
        assert watch.house == await house.read(conn)
        assert watch.house.incarnation == 0


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
async def test_of_many_that_notice_together_one_raises_it(housed: str, conn: asyncpg.Connection, sign: str) -> None:
    others = [await asyncpg.connect(housed) for _ in range(8)]
    watches = [Watch() for _ in others]
    before = await house.read(conn)
    await conn.execute(sign)
    await conn.execute("begin; select from steadhold.house for update")
    checks = [asyncio.create_task(w.check(c)) for w, c in zip(watches, others, strict=True)]
    admin = await asyncpg.connect(housed)
    waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while await admin.fetchval(waiting) < len(others):
        await asyncio.sleep(0)
    await conn.execute("commit")
    await asyncio.gather(*checks)
    after = await house.read(conn)
    assert after.incarnation == before.incarnation + 1
    assert after.began_at > before.began_at
    assert {w.house for w in watches} == {after}
    await Watch().check(conn)
    assert await house.read(conn) == after
    for other in (*others, admin):
        await other.close()


async def test_a_log_shorter_than_this_process_saw_raises_it_once(housed: str, conn: asyncpg.Connection) -> None:
    """What a snapshot put back in place looks like to servers that kept running."""
    watches = [Watch() for _ in range(4)]
    for watch in watches:
        await watch.check(conn)
        watch._lsn += 10**12
    others = [await asyncpg.connect(housed) for _ in watches]
    await asyncio.gather(*(w.check(c) for w, c in zip(watches, others, strict=True)))
    assert (await house.read(conn)).incarnation == 1
    for watch in watches:
        await watch.check(conn)
        assert watch.house.incarnation == 1
    for other in others:
        await other.close()


async def test_an_incarnation_this_process_saw_is_never_issued_again(conn: asyncpg.Connection) -> None:
    """The snapshot is older than the last incarnation: the row forgot it, a server remembers."""
    watch = Watch()
    for _ in range(3):
        await house.restored(conn)
    await watch.check(conn)
    assert watch.house.incarnation == 3
    await conn.execute("update steadhold.house set incarnation = 1")
    await watch.check(conn)
    assert watch.house.incarnation == (await house.read(conn)).incarnation == 4


async def test_restored_is_one_more_and_others_follow_without_another(conn: asyncpg.Connection) -> None:
    watch = Watch()
    await watch.check(conn)
    said = await house.restored(conn)
    assert said.incarnation == 1
    assert said.began_at > watch.house.began_at
    await watch.check(conn)
    assert watch.house == said == await house.read(conn)


async def test_the_usual_check_only_reads(conn: asyncpg.Connection) -> None:
    version = "select xmin::text || ctid::text from steadhold.house"
    first = await conn.fetchval(version)
    watch = Watch()
    for _ in range(5):
        await watch.check(conn)
    assert await conn.fetchval(version) == first
    await conn.execute("update steadhold.house set seen_at = seen_at - interval '2 minutes'")
    seen = await conn.fetchval("select lsn_seen from steadhold.house")
    await watch.check(conn)
    second = await conn.fetchval(version)
    await watch.check(conn)
    assert await conn.fetchval(version) == second != first
    assert await conn.fetchval("select lsn_seen from steadhold.house") > seen


async def test_the_row_being_locked_holds_no_check_up(housed: str, conn: asyncpg.Connection) -> None:
    holder = await asyncpg.connect(housed)
    await conn.execute("update steadhold.house set seen_at = seen_at - interval '2 minutes'")
    await holder.execute("begin; select from steadhold.house for update")
    await asyncio.wait_for(Watch().check(conn), 30)
    await holder.close()


async def test_the_applications_login_may_check_and_not_restore(housed: str, conn: asyncpg.Connection) -> None:
    await conn.execute("drop role if exists web; create role web login; grant steadhold_app to web")
    web = await asyncpg.connect(housed.replace("steadhold@", "web@"))
    watch = Watch()
    await watch.check(web)
    assert watch.house.incarnation == 0
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await house.restored(web)
    await conn.execute("revoke steadhold_app from web")
    with pytest.raises(HouseError, match="grant steadhold_app"):
        await watch.check(web)
    await web.close()
    await conn.execute("drop role web")


async def test_a_database_without_the_schema_says_what_to_run(empty: str) -> None:
    conn = await asyncpg.connect(empty)
    with pytest.raises(HouseError, match="steadhold migrate"):
        await Watch().check(conn)
    await conn.close()


async def test_a_standby_is_refused_and_its_promotion_noticed(home: Path, pg_bin: Binaries) -> None:
    replica = {"wal_level": "replica"}
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin, settings=replica) as pg:
        await migrate(pg.dsn, known=files()[:1])
    signal = home / "data" / "postgres" / "standby.signal"
    signal.touch()
    choose().give(signal, 0o600)
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin, settings=replica) as pg:
        admin = await asyncpg.connect(pg.dsn)
        assert await admin.fetchval("select pg_is_in_recovery()")
        with pytest.raises(StandbyError, match="standby"):
            await Watch().check(admin)
        tried = asyncio.Event()

        class Trying(Watch):
            async def check(self, conn: asyncpg.Connection) -> None:
                try:
                    await super().check(conn)
                finally:
                    tried.set()

        watch = Trying()
        async with Pool(pg.dsn, init=watch.check) as pool:
            taking = asyncio.create_task(pool.take())
            await asyncio.wait_for(tried.wait(), 30)
            assert not taking.done()
            await admin.fetchval("select pg_promote()")
            pool.give(await taking)
        assert watch.house.incarnation == 1
        assert await admin.fetchval("select timeline from steadhold.house") == "00000002"
        await admin.close()


@pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
async def test_a_connection_that_outlives_a_failover_is_looked_at_again(
    housed: str, conn: asyncpg.Connection, sign: str
) -> None:
    """Behind a pooler no connection of ours breaks."""
    async with Pool(housed, size=1) as pool:
        async with pool.connection() as first:
            assert pool.house.house.incarnation == 0
        await conn.execute(sign)
        pool._look_at = 0.0
        async with pool.connection() as second:
            assert second is first
            assert pool.house.house.incarnation == 1


async def test_a_look_remembers_how_far_the_log_was(housed: str, conn: asyncpg.Connection) -> None:
    """So that a snapshot put back under a running server is noticed however old its connections are."""
    async with Pool(housed, size=1) as pool:
        async with pool.connection():
            before = pool.house._lsn
        await conn.execute("create table filled as select generate_series(1, 1000) n")
        pool._look_at = 0.0
        async with pool.connection():
            assert pool.house._lsn > before


async def test_a_connection_that_breaks_under_a_look_is_replaced(housed: str, conn: asyncpg.Connection) -> None:
    async with Pool(housed, size=1) as pool:
        async with pool.connection() as first:
            pid = first.get_server_pid()
        holder = await asyncpg.connect(housed)
        await holder.execute("begin; lock table steadhold.house in access exclusive mode")
        pool._look_at = 0.0
        taking = asyncio.create_task(pool.take())
        waits = "select count(*) from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'"
        while not await conn.fetchval(waits, pid):
            await asyncio.sleep(0)
        await conn.fetchval("select pg_terminate_backend($1)", pid)
        await holder.execute("rollback")
        second = await taking
        assert (await second.fetchval("select 1"), second.get_server_pid() == pid) == (1, False)
        assert pool.open == 1
        pool.give(second)
        await holder.close()


async def test_one_look_is_enough_for_a_while(housed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0

    async def counted(watch: Watch, conn: asyncpg.Connection) -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr(Watch, "check", counted)
    async with Pool(housed, size=1) as pool:
        for _ in range(10):
            async with pool.connection():
                pass
    assert looks == 1


async def test_a_connection_that_said_its_last_words_is_replaced(housed: str) -> None:
    """A server that shuts down says so before it closes; whoever asks in between is told by the driver alone."""
    words = b"SFATAL\0VFATAL\0C57P02\0Mshutting down\0\0"
    async with Pool(housed, size=1) as pool:
        async with pool.connection() as first:
            pass
        first._protocol.data_received(b"E" + (4 + len(words)).to_bytes(4, "big") + words)
        assert not first.is_closed()
        pool._look_at = 0.0
        async with pool.connection() as second:
            assert second is not first
            assert await second.fetchval("select 1") == 1
        assert pool.open == 1
