"""The shipped migrations, crashed after every command they consist of."""

from __future__ import annotations

import os
import re
import subprocess

import asyncpg
import pytest

from steadhold.db.embedded import Embedded
from steadhold.db.errors import HouseError, MigrationError
from steadhold.db.house import Watch
from steadhold.db.migrate import Migration, files, migrate, standing

CRASHED = (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, ConnectionError)

# Ends the session after the command whose number is asked for; numbers begin anew with each session.
CRASHER = """
create schema crash;
create function crash.after_command() returns event_trigger language plpgsql as $$
declare
  n int := coalesce(nullif(current_setting('crash.n', true), ''), '0')::int + 1;
begin
  perform set_config('crash.n', n::text, false);
  if n = nullif(current_setting('crash.at', true), '')::int then
    perform pg_terminate_backend(pg_backend_pid());
  end if;
end $$;
create event trigger crasher on ddl_command_end execute function crash.after_command();
"""


async def new(server: Embedded, name: str) -> str:
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"drop database if exists {name}")
    await admin.execute(f"create database {name}")
    await admin.close()
    return server.dsn_of(name)


def schema(server: Embedded, dsn: str) -> str:
    dump = subprocess.run(
        [server._binaries.folder / "pg_dump", "--schema-only", "--schema=steadhold", dsn],
        capture_output=True,
        text=True,
        check=True,
        env={"LC_ALL": "C", "PATH": os.environ["PATH"]},
    )
    return re.sub(r"(?m)^(--|\\(un)?restrict).*$", "", dump.stdout)


async def look(dsn: str, known: tuple[Migration, ...]) -> list[str]:
    """What stands, as the next migrator and an open server see it."""
    conn = await asyncpg.connect(dsn)
    now = await standing(conn, known)
    assert list(now.applied) == [str(m) for m in known[: len(now.applied)]]
    assert (now.changed, now.unknown) == ((), ())
    rows = await conn.fetch("select relname from pg_class where relnamespace = to_regnamespace('steadhold')")
    if now.applied:
        watch = Watch()
        await watch.check(conn)
        assert watch.house.incarnation == 0
    else:
        assert {row["relname"] for row in rows} <= {"migrations", "migrations_pkey"}
        with pytest.raises(HouseError):
            await Watch().check(conn)
    await conn.close()
    return list(now.applied)


@pytest.mark.timeout(600)  # it is many crashes, and many migrations
async def test_a_crash_after_any_command_is_made_good_by_the_next_migrator(server: Embedded) -> None:
    known = files()
    straight = await new(server, "straight")
    await migrate(straight, known=known)
    crashing = await new(server, "crashing")
    admin = await asyncpg.connect(crashing)
    await admin.execute(CRASHER)
    at, crashes, seen = 1, 0, set[int]()
    while True:
        await admin.execute(f"alter database crashing set crash.at = '{at}'")
        before = len((await standing(admin, known)).applied)
        try:
            await migrate(crashing, known=known)
            break
        except CRASHED:
            crashes += 1
        after = len(await look(crashing, known))
        seen.add(after)
        at = at + 1 if after == before else 1
    assert seen >= set(range(len(known)))
    assert crashes > 5 * len(known)
    await admin.execute("drop event trigger crasher; drop schema crash cascade")
    await admin.close()
    assert schema(server, crashing) == schema(server, straight) != ""
