"""The real PgBouncer lends connections by the transaction: its sessions are nobody's, and are left as they came."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import msgspec
import psycopg
import pytest
from click.testing import CliRunner

from steadhold import jobs, state
from steadhold.cli.program import program as command
from steadhold.db.connection import connect
from steadhold.db.errors import StatementsLostError
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from steadhold.server.app import App
from steadhold.server.processes import parent
from steadhold.server.settings import Settings
from steadhold.testing import Probe
from steadhold.worker import Worker
from steadhold.worker.door import DoorShut
from steadhold.worker.on_postgres import OnPostgres
from tests.server.conftest import key_of
from tests.suites.npm import absent
from tests.web.toy import Client

CONFIG = """
[databases]
* = host={host} port=5432 user=steadhold
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
auth_type = any
pool_mode = {mode}
default_pool_size = {backends}
"""
BACKENDS = 3
LOSES = "max_prepared_statements = 0\n"
"""Versions that can keep prepared statements are told not to; others do not know the word."""

KNOWN = "select name from pg_prepared_statements"
HEARD = "select pg_listening_channels()"


@pytest.fixture
def bouncer(fresh_database):
    """The URL of the database through PgBouncer that lends by the transaction, and loses prepared statements."""
    with bouncing(fresh_database, "transaction") as url:
        yield url


@contextlib.contextmanager
def bouncing(fresh_database, mode):
    """The URL of a database through PgBouncer, on a socket in a folder of its own."""
    program = shutil.which("pgbouncer") or absent("no PgBouncer: apt-get install pgbouncer")
    major, minor = re.search(r"(\d+)\.(\d+)", subprocess.check_output([program, "--version"], text=True)).groups()
    at = urlsplit(fresh_database.dsn)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        config = Path(folder, "pgbouncer.ini")
        made = CONFIG.format(host=parse_qs(at.query)["host"][0], folder=folder, backends=BACKENDS, mode=mode)
        config.write_text(made + (LOSES if (int(major), int(minor)) >= (1, 21) else ""))
        other = ["-u", "nobody"] if os.geteuid() == 0 else []
        process = subprocess.Popen([program, "-q", *other, config], stderr=subprocess.PIPE)
        try:
            _listening(process, f"{folder}/.s.PGSQL.6432")
            yield f"postgresql://steadhold@{at.path}?host={folder}&port=6432"
        finally:
            process.terminate()
            process.communicate()


def _listening(process, path):
    while process.poll() is None:
        with socket.socket(socket.AF_UNIX) as asks:
            if asks.connect_ex(path) == 0:
                return
    pytest.fail(f"PgBouncer ended: {process.communicate()[1].decode()}")


async def test_its_sessions_are_known_not_to_be_ours(bouncer, fresh_database):
    for dsn, direct in ((bouncer, False), (fresh_database.dsn, True)):
        conn = await connect(dsn, seconds=10.0, statements=5, application_name="steadhold")
        assert conn.direct is direct
        await conn.close()


@pytest.mark.parametrize("player", ["lockstep", "single"])
async def test_a_server_leaves_nothing_in_its_sessions(bouncer, fresh_database, player):
    """Writes and readings of two workspaces, and whoever is lent a session afterwards finds it as it came."""
    places = [fresh_database.new_workspace() for _ in range(2)]
    settings = Settings(pool_size=4, player=player, prepared_statements=0, background=False)
    app = App(msgspec.structs.replace(settings, database_url=bouncer))
    await app.start()
    calls = [Client(app, await key_of(app, place)) for place in places]
    for n in range(6):
        for place, call in zip(places, calls, strict=True):
            assert (
                await call("PUT", f"/v1/state/n{n}", place.encode().join([b'"', b'"']), if_none_match="*")
            ).status == 201
            assert (await call("GET", f"/v1/state/n{n}")).body == b'"%b"' % place.encode()
    left = "select coalesce(current_setting('steadhold.workspace', true), '') || current_user"
    for _ in range(3):
        conn = await connect(bouncer, seconds=10.0, statements=0, application_name="somebody else")
        assert await conn.fetchval(left) == "steadhold"
        await conn.close()
    await app.stop()


async def on_all_backends(bouncer, query):
    """What a query says on each backend that clients are lent."""
    async with contextlib.AsyncExitStack() as stack:
        said = []
        for _ in range(BACKENDS):
            conn = await asyncpg.connect(bouncer, statement_cache_size=0)
            stack.callback(conn.terminate)
            await stack.enter_async_context(conn.transaction())  # it keeps its backend
            said += [row[0] for row in await conn.fetch(query)]
        return said


@contextlib.asynccontextmanager
async def serving(bouncer, **settings):
    app = App(Settings(database_url=bouncer, pool_size=2, background=False, **settings))
    await app.start()
    yield app
    await app.stop()


@contextlib.asynccontextmanager
async def listening(bouncer, workspace):
    door = OnPostgres(bouncer, workspace, size=2, statements=0)
    task = asyncio.create_task(door.listen(print))
    yield door
    task.cancel()
    await door.close()


@pytest.mark.parametrize("who", ["a server", "a worker"])
async def test_who_keeps_no_statements_prepares_none_by_name(bouncer, fresh_database, who):
    """Not to listen either: another client's statement may be on that backend, by that name."""
    at = serving(bouncer, prepared_statements=0) if who == "a server" else listening(bouncer, "w")
    async with at, asyncio.timeout(20):
        while not await on_all_backends(bouncer, HEARD):
            await asyncio.sleep(0)
        assert await on_all_backends(bouncer, KNOWN) == []


async def test_one_that_lends_for_a_session_keeps_statements(fresh_database):
    """It has keys of its own as well, and loses nothing: who keeps statements keeps them there."""
    with bouncing(fresh_database, "session") as url:
        async with Pool(url, size=1) as pool, pool.connection() as conn:
            assert (conn.lent, conn.direct) == (True, False)
            assert "select" in await conn.fetchval("select string_agg(statement, '; ') from pg_prepared_statements")


async def refused(bouncer, workspace, door):
    match door:
        case "a server":
            async with serving(bouncer):
                pass
        case "a server of several processes":
            await parent.serve(Settings(database_url=bouncer, processes=2, port=0), print)
        case "a worker":
            worker = Worker(dsn=bouncer, workspace=workspace)
            worker.job("t")(print)
            await worker.serve()


@pytest.mark.parametrize("door", ["a server", "a server of several processes", "a worker"])
async def test_who_keeps_statements_is_refused_by_the_name_of_our_setting(bouncer, fresh_database, monkeypatch, door):
    monkeypatch.delenv("STEADHOLD_PREPARED_STATEMENTS", raising=False)
    with pytest.raises((StatementsLostError, DoorShut), match="Set prepared_statements to 0"):
        await refused(bouncer, fresh_database.new_workspace(), door)


@pytest.mark.parametrize("how", ["argument", "environment"])
async def test_a_worker_that_keeps_no_statements_works_through_it(bouncer, fresh_database, monkeypatch, how):
    place, probe, done = fresh_database.new_workspace(), Probe(), []
    told = {"prepared_statements": 0} if how == "argument" else {}
    monkeypatch.setenv("STEADHOLD_PREPARED_STATEMENTS", "1000" if told else "0")
    worker = Worker(dsn=bouncer, workspace=place, on=probe, drain_seconds=0, **told)

    @worker.job("t")
    async def handler(ctx, input):
        done.append(await ctx.stage("one", lambda: input))

    async with Pool(fresh_database.dsn, size=1) as pool:
        sent = [await Single(pool).play(jobs.submit.call(place, jobs.Submission("t", b"%d" % n))) for n in range(20)]

    async def stop_when_settled():
        for job in sent:
            await probe.seen("job.settled", job_id=job.id)
        worker.stop()

    async with asyncio.timeout(30), asyncio.TaskGroup() as both:
        both.create_task(worker.serve())
        both.create_task(stop_when_settled())
    assert sorted(done) == list(range(20))


def told(bouncer, *words, code):
    result = CliRunner().invoke(command, [*words, "--database-url", bouncer], prog_name="steadhold")
    assert result.exit_code == code, result.output
    return result


def test_commands_at_the_database_keep_no_statements(bouncer, fresh_database):
    """Each time another client, and a backend that knows what the last one prepared."""
    for n in range(2 * BACKENDS):
        told(bouncer, "workspaces", "create", f"w{n}", code=0)
        told(bouncer, "restored", code=0)
    names = [
        msgspec.json.decode(line)["name"] for line in told(bouncer, "workspaces", "ls", code=0).stdout.splitlines()
    ]
    assert names == [f"w{n}" for n in range(2 * BACKENDS)]
    assert asyncio.run(on_all_backends(bouncer, KNOWN)) == []


@pytest.mark.parametrize("kept, level", [("1000", "refuse"), ("0", "warn")])
def test_the_doctor_judges_it_by_our_setting(bouncer, fresh_database, kept, level):
    said = told(bouncer, "doctor", "--prepared-statements", kept, code=1).stdout  # tests run without fsync
    found = {line["check"]: line for line in map(msgspec.json.decode, said.splitlines())}
    assert found["pooler"]["level"] == level
    assert f"`prepared_statements` = {kept} keeps" in found["pooler"]["says"]


@pytest.mark.parametrize("driver", ["asyncpg", "psycopg"])
async def test_the_library_works_through_it_as_the_driver_is_set(bouncer, fresh_database, driver):
    """As docs/operate.md says: what a connection of yours prepares is your driver's to set."""
    place = fresh_database.new_workspace()
    names = [f"n{n}" for n in range(3 * BACKENDS)]
    if driver == "psycopg":
        with psycopg.connect(bouncer, prepare_threshold=None) as conn:
            for name in names:
                assert isinstance(state.put(conn, place, name, b"1", None), state.Written)
                conn.commit()
    else:
        conn = await asyncpg.connect(bouncer, statement_cache_size=0)
        for name in names:
            async with conn.transaction():
                assert isinstance(await state.put(conn, place, name, b"1", None), state.Written)
        await conn.close()
    assert await on_all_backends(bouncer, KNOWN) == []
