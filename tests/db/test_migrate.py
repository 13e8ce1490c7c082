from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import pytest

from steadhold.db import migrate as module
from steadhold.db.binaries import Binaries
from steadhold.db.embedded import Embedded
from steadhold.db.errors import MigrationError
from steadhold.db.migrate import Migration, files, migrate, pending, standing

HOUSE = files()[0]
FIRST = Migration(1, "first", "create table steadhold.a (n int); create table steadhold.b (n int);")
SECOND = Migration(2, "second", "alter table steadhold.a add column m int; insert into steadhold.b values (1);")
BOTH = (FIRST, SECOND)


async def tables(dsn: str) -> list[str]:
    conn = await asyncpg.connect(dsn)
    found = await conn.fetch("select tablename from pg_tables where schemaname = 'steadhold' order by 1")
    await conn.close()
    return [row["tablename"] for row in found]


async def test_applies_each_file_once_in_order(empty: str) -> None:
    said: list[str] = []
    first = await migrate(empty, known=BOTH, on=said.append)
    assert (first.applied, first.before, first.planned) == (BOTH, 0, False)
    assert said == ["Applied 0001_first.", "Applied 0002_second."]
    again = await migrate(empty, known=BOTH)
    assert (again.applied, again.before) == ((), 2)
    assert await tables(empty) == ["a", "b", "migrations"]


async def test_a_search_path_of_the_database_leads_no_file_astray(empty: str) -> None:
    """Nothing is made in another schema, though `steadhold` stands behind it."""
    conn = await asyncpg.connect(empty)
    await conn.execute("do $$ begin execute format('alter database %I set search_path = public, steadhold',"
                       " current_database()); end $$")  # fmt: skip
    await migrate(empty)
    strays = (
        "select proname from pg_proc where pronamespace = 'public'::regnamespace"
        " union all select relname from pg_class where relnamespace = 'public'::regnamespace"
    )
    assert await conn.fetch(strays) == []
    (body,) = await conn.fetch("select prosrc from pg_proc where proname = 'due_operations'")
    assert body["prosrc"].startswith("begin return query execute")
    await conn.close()


async def test_what_a_file_makes_without_saying_where_is_refused(empty: str) -> None:
    with pytest.raises(MigrationError, match="0001_stray failed"):
        await migrate(empty, known=(Migration(1, "stray", "create table stray (n int);"),))


async def test_a_plan_writes_nothing(empty: str) -> None:
    report = await migrate(empty, plan=True, known=BOTH)
    assert (report.applied, report.before, report.planned) == (BOTH, 0, True)
    assert await tables(empty) == []
    await migrate(empty, known=(FIRST,))
    assert (await migrate(empty, plan=True, known=BOTH)).applied == (SECOND,)
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


async def test_pending_names_what_the_database_lacks(empty: str) -> None:
    conn = await asyncpg.connect(empty)
    assert await pending(conn) == files()
    await migrate(empty, known=(HOUSE,))
    assert await pending(conn) == files()[1:]
    await conn.close()


async def test_many_migrators_act_as_one(empty: str) -> None:
    reports = await asyncio.gather(*(migrate(empty, known=BOTH) for _ in range(8)))
    assert sorted(m.number for r in reports for m in r.applied) == [1, 2]
    conn = await asyncpg.connect(empty)
    assert await conn.fetchval("select count(*) from steadhold.b") == 1
    await conn.close()


async def test_a_statement_that_fails_takes_its_file_along_and_no_other(empty: str) -> None:
    broken = Migration(2, "second", SECOND.sql + "\ncreate table steadhold.c (n int);\nselect no_such_column;")
    with pytest.raises(MigrationError, match=r'0002_second failed and was rolled back.*"no_such_column".*\(line 3\)'):
        await migrate(empty, known=(FIRST, broken))
    assert await tables(empty) == ["a", "b", "migrations"]
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


@pytest.mark.parametrize("statements", range(3))
async def test_a_crash_at_any_statement_leaves_whole_files(empty: str, statements: int) -> None:
    parts = SECOND.sql.split("; ")
    crash = [*parts[:statements], "select pg_terminate_backend(pg_backend_pid())", *parts[statements:]]
    with pytest.raises((MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await migrate(empty, known=(FIRST, Migration(2, "second", "; ".join(crash))))
    conn = await asyncpg.connect(empty)
    now = await standing(conn, BOTH)
    assert (now.applied, now.pending) == (("0001_first",), (SECOND,))
    assert await conn.fetch("select * from steadhold.b") == []
    await conn.close()
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


CRASH_AT_THE_RECORD = """
create function public.crash() returns trigger language plpgsql as
$$ begin perform pg_terminate_backend(pg_backend_pid()); return new; end $$;
create trigger crash before insert on steadhold.migrations for each row execute function public.crash();
"""


async def test_a_crash_before_a_file_is_recorded_takes_the_file_along(empty: str) -> None:
    await migrate(empty, known=(FIRST,))
    conn = await asyncpg.connect(empty)
    await conn.execute(CRASH_AT_THE_RECORD)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)):
        await migrate(empty, known=BOTH)
    assert await conn.fetch("select * from steadhold.b") == []
    await conn.execute("drop function public.crash cascade")
    await conn.close()
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


async def test_a_changed_file_is_refused(empty: str) -> None:
    await migrate(empty, known=(FIRST,))
    changed = Migration(1, "first", FIRST.sql + " -- edited")
    with pytest.raises(
        MigrationError, match=r"0001_first was applied with another text.*begin a new one.*add a new file"
    ):
        await migrate(empty, known=(changed, SECOND))
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


async def test_a_newer_database_is_refused(empty: str) -> None:
    await migrate(empty, known=BOTH)
    with pytest.raises(MigrationError, match=r"newer steadhold \(0002_second unknown here"):
        await migrate(empty, known=(FIRST,))


async def test_waits_for_a_lock_in_short_tries_and_goes_on(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT", "20ms")
    await migrate(empty, known=(FIRST,))
    holder = await asyncpg.connect(empty)
    await holder.execute("begin; lock table steadhold.a in access share mode")
    waits = asyncio.Event()
    moving = asyncio.create_task(migrate(empty, known=BOTH, on=lambda said: waits.set() if "lock" in said else None))
    await asyncio.wait_for(waits.wait(), 30)
    reader = await asyncpg.connect(empty)
    assert await asyncio.wait_for(reader.fetch("select * from steadhold.a"), 30) == [], "requests queue behind it"
    await holder.execute("commit")
    assert (await moving).applied == (SECOND,)
    for conn in (holder, reader):
        await conn.close()


async def test_gives_up_with_a_sentence(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOCK_TIMEOUT", "20ms")
    await migrate(empty, known=(FIRST,))
    holder = await asyncpg.connect(empty)
    await holder.execute("begin; lock table steadhold.a in access share mode")
    with pytest.raises(MigrationError, match="Gave up after 0 s of waiting for a lock"):
        await migrate(empty, known=BOTH, patience_seconds=0)
    await holder.close()
    assert (await migrate(empty, known=BOTH)).applied == (SECOND,)


def test_line_ends_do_not_change_a_checksum(tmp_path: Path) -> None:
    (tmp_path / "0001_first.sql").write_bytes(b"select 1;\r\nselect 2;\r\n")
    (unix,) = files(tmp_path)
    assert unix == Migration(1, "first", "select 1;\nselect 2;\n")


def test_bad_names_and_twice_used_numbers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not looked at")
    (tmp_path / "0001_first.sql").write_text("select 1")
    (tmp_path / "0001_second.sql").write_text("select 1")
    with pytest.raises(MigrationError, match="have the same number"):
        files(tmp_path)
    (tmp_path / "0001_second.sql").rename(tmp_path / "second.sql")
    with pytest.raises(MigrationError, match=r"second\.sql is no migration's name"):
        files(tmp_path)


def test_the_shipped_files_read_as_one_series() -> None:
    assert files()[0].name == "house"
    assert all("commit;" not in m.sql.lower() for m in files())


async def test_a_plain_owner_is_told_what_an_administrator_must_do(home: Path, pg_bin: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin) as pg:
        admin = await asyncpg.connect(pg.dsn)
        await admin.execute("create role plain login")
        await admin.execute("create database theirs owner plain")
        theirs = pg.dsn_of("theirs").replace("steadhold@", "plain@")
        with pytest.raises(MigrationError, match="create role steadhold_app nologin; grant steadhold_app to plain"):
            await migrate(theirs)
        await admin.execute("create role steadhold_app nologin")
        with pytest.raises(MigrationError, match="as an administrator run: grant steadhold_app to plain"):
            await migrate(theirs)
        await admin.execute("grant steadhold_app to plain")
        assert (await migrate(theirs)).applied == files()
        await _walls_hold(theirs)
        await _due_is_seen(theirs)
        await admin.close()


async def test_an_owner_that_may_create_roles_needs_no_administrator(home: Path, pg_bin: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin) as pg:
        admin = await asyncpg.connect(pg.dsn)
        await admin.execute("create role maker login createrole")
        await admin.execute("create database theirs owner maker")
        theirs = pg.dsn_of("theirs").replace("steadhold@", "maker@")
        await migrate(theirs, known=files()[:1])
        await _walls_hold(theirs)
        await admin.execute("create role stranger login")
        with pytest.raises(MigrationError, match="may not create the schema steadhold"):
            await migrate(pg.dsn.replace("steadhold@", "stranger@"))
        await admin.close()


DEFINER = """
create function steadhold.everyone() returns setof text language sql stable security definer
set search_path = pg_catalog, pg_temp as 'select workspace from steadhold.workspaces'
"""


async def _walls_hold(dsn: str) -> None:
    """As the owner, and as the application: a forgotten workspace sees nothing, a foreign one cannot be written."""
    conn = await asyncpg.connect(dsn)
    tell = "select set_config('role', $1, true), set_config('steadhold.workspace', $2, true)"
    make = "insert into steadhold.workspaces (workspace, created_at) values ($1, steadhold.clock())"
    look = "select workspace from steadhold.workspaces"
    for name in ("one", "two"):
        async with conn.transaction():
            await conn.execute(tell, "steadhold_app", name)
            await conn.execute(make, name)
            assert [r["workspace"] for r in await conn.fetch(look)] == [name]
    for role, workspace, seen in (
        ("none", "", 0),
        ("none", "one", 1),
        ("none", "*", 0),
        ("steadhold_app", "", 0),
        ("steadhold_app", "two", 1),
        ("steadhold_app", "*", 0),
    ):
        async with conn.transaction():
            await conn.execute(tell, role, workspace)
            assert len(await conn.fetch(look)) == seen, (role, workspace)
    await conn.execute(DEFINER)
    for role, seen in (("none", 0), ("steadhold_app", 2)):
        async with conn.transaction():
            await conn.execute(tell, role, "")
            assert await conn.fetchval("select count(*) from steadhold.everyone()") == seen, role
    for statement in (
        "insert into steadhold.workspaces (workspace, created_at) values ('three', steadhold.clock())",
        "create table steadhold.mine (n int)",
        "drop table steadhold.workspaces",
        "update steadhold.house set incarnation = 7",
        "select * from steadhold.restored()",
        "delete from steadhold.workspaces",
    ):
        await conn.execute("begin; set local role steadhold_app; set local steadhold.workspace = 'one'")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await conn.execute(statement)
        await conn.execute("rollback")
    await conn.close()


ALL_DUE = """
create or replace function steadhold.due_fences() returns table (workspace text, duty text)
language sql stable security definer set search_path = pg_catalog, pg_temp
as $$ select w.workspace, 'fences.test' from steadhold.workspaces w $$
"""


async def _due_is_seen(dsn: str) -> None:
    """In all workspaces, and also by a loop that took no role."""
    conn = await asyncpg.connect(dsn)
    await conn.execute(ALL_DUE)
    due = "select workspace from steadhold.due() where duty = 'fences.test' order by 1"
    assert [row["workspace"] for row in await conn.fetch(due)] == ["one", "two"]
    assert await conn.fetchval("select current_user") == "plain"
    await conn.close()
