from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import asyncpg
import psycopg
import pytest

from steadhold.db import postmaster
from steadhold.db.account import choose
from steadhold.db.binaries import Binaries
from steadhold.db.embedded import Embedded
from steadhold.db.errors import EmbeddedError
from tests.db.kept import keep, rows


def await_end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        end = os.pidfd_open(pid)
        ended = select.select([end], [], [], 20)[0]
        os.close(end)
        if not ended:
            os.kill(pid, signal.SIGINT)  # it is ours, and a failed test should leave nothing behind
        assert ended, f"process {pid} did not end"


def test_a_killed_postmaster_is_reaped_and_started_again(home: Path, pg_bin: Binaries) -> None:
    said: list[str] = []
    with Embedded(home / "data", pg_bin=pg_bin, on=said.append) as pg:
        keep(pg, 1)
        killed = pg.pid
        for n in (2, 3):
            before = pg.pid
            pg.kill()
            assert pg.wait_ready(not_pid=before, seconds=10) != before
            keep(pg, n)
        assert rows(pg) == [1, 2, 3]
        assert not postmaster.alive(killed), "a zombie, or still there"
    assert len(said) == 2
    assert all("starting it again" in sentence for sentence in said)


async def test_a_backend_too_busy_to_notice_does_not_hold_the_restart_up(home: Path, pg_bin: Binaries) -> None:
    """It computes, so it does not see that its postmaster is gone, and it keeps the shared memory."""
    async with Embedded(home / "data", throwaway=True, pg_bin=pg_bin) as pg:
        busy, admin = await asyncpg.connect(pg.dsn), await asyncpg.connect(pg.dsn)
        working = asyncio.create_task(busy.execute("do $$ begin loop perform 1; end loop; end $$"))
        active = "select count(*) from pg_stat_activity where pid = $1 and state = 'active'"
        while not await admin.fetchval(active, busy.get_server_pid()):
            await asyncio.sleep(0)
        before = pg.pid
        pg.kill()
        await asyncio.to_thread(pg.wait_ready, not_pid=before, seconds=10)
        with pytest.raises((asyncpg.PostgresError, ConnectionError)):
            await working
        keep(pg, 1)
        for conn in (busy, admin):
            conn.terminate()


def test_stop_during_a_restart_ends_it(home: Path, newest: Binaries) -> None:
    pg = Embedded(home / "data", throwaway=True, pg_bin=newest)
    pg.start()
    pg.kill()
    pg.stop()
    assert postmaster.orphans(home / "data" / "postgres") == []
    with pytest.raises(EmbeddedError, match="not running"):
        _ = pg.pid
    pg.stop()


@pytest.mark.parametrize("pid", [os.getpid(), 1, 2**22 - 3], ids=["ours", "init", "nobody's"])
def test_a_stale_pid_file_is_no_obstacle(home: Path, pg_bin: Binaries, pid: int) -> None:
    data = home / "data"
    with Embedded(data, throwaway=True, pg_bin=pg_bin) as pg:
        lines = (data / "postgres" / "postmaster.pid").read_text().splitlines()
        keep(pg, 1)
    lines[0] = str(pid)
    assert lines[7].strip() == "ready"
    stale = data / "postgres" / "postmaster.pid"
    stale.write_text("\n".join(lines) + "\n")
    choose().give(stale, 0o600)
    with Embedded(data, throwaway=True, pg_bin=pg_bin) as pg:
        assert rows(pg) == [1]
        assert postmaster.read(data / "postgres").pid == pg.pid != pid


def test_another_folders_postmaster_is_left_alone(home: Path, newest: Binaries) -> None:
    with Embedded(home / "other", throwaway=True, pg_bin=newest) as other:
        with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
            keep(pg, 1)
        mistaken = (home / "other" / "postgres" / "postmaster.pid").read_bytes()
        (home / "data" / "postgres" / "postmaster.pid").write_bytes(mistaken)
        said: list[str] = []
        pid = other.pid
        with Embedded(home / "data", throwaway=True, pg_bin=newest, on=said.append) as pg:
            assert rows(pg) == [1]
        assert "another program" in said[0]
        keep(other, 1)
        assert other.pid == pid


def test_a_postmaster_left_by_an_earlier_run_is_stopped(home: Path, pg_bin: Binaries) -> None:
    data = home / "data"
    with Embedded(data, pg_bin=pg_bin) as pg:
        keep(pg, 1)
        command = pg._command()
    (data / "postgres" / "postmaster.pid").unlink(missing_ok=True)
    account = choose()
    lent = {"user": account.uid, "group": account.gid, "extra_groups": []} if account.lent else {}
    left = subprocess.Popen(command, cwd="/", stderr=subprocess.PIPE, **lent)
    for line in left.stderr:
        if b"ready to accept connections" in line:
            break
    said: list[str] = []
    with Embedded(data, pg_bin=pg_bin, on=said.append) as pg:
        assert pg.pid != left.pid
        assert left.wait() == 0, "not the fast stop"
        assert rows(pg) == [1]
    left.stderr.close()
    assert f"process {left.pid}" in said[0]


PARENT = """
    import json, os, sys, signal
    from steadhold.db.embedded import Embedded
    pg = Embedded(sys.argv[1], throwaway=len(sys.argv) > 2)
    pg.start()
    print(json.dumps({"postmaster": pg.pid, "dsn": pg.dsn}), flush=True)
    signal.pause()
"""


@contextlib.contextmanager
def parent_of(data: Path, *how: str):
    """Another process that supervises `data`, and what it said once ready."""
    code = textwrap.dedent(PARENT)
    child = subprocess.Popen([sys.executable, "-c", code, str(data), *how], stdout=subprocess.PIPE, text=True)
    said = json.loads(child.stdout.readline())
    try:
        yield child, said
    finally:
        child.kill()
        child.wait()
        child.stdout.close()
        await_end(said["postmaster"])


def test_a_killed_parent_takes_postgres_along_and_loses_nothing(home: Path) -> None:
    with parent_of(home / "data") as (parent, said):
        with psycopg.connect(said["dsn"]) as conn:
            conn.execute("create table kept as select 1 as n")
        parent.kill()
        parent.wait()
        if sys.platform == "linux":
            await_end(said["postmaster"])
        with Embedded(home / "data") as pg:
            assert rows(pg) == [1]
            assert pg.pid != said["postmaster"]


def test_a_second_process_is_told_who_holds_the_folder(home: Path) -> None:
    with parent_of(home / "data", "throwaway") as (parent, said):
        with pytest.raises(EmbeddedError, match=rf"in use by process {parent.pid}\b.*choose another data folder"):
            Embedded(home / "data").start()
        assert postmaster.serves(said["postmaster"], home / "data" / "postgres")
        with psycopg.connect(said["dsn"]) as conn:
            assert conn.execute("select 1").fetchone() == (1,)


def test_a_second_supervisor_in_one_process_is_told_so(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        with pytest.raises(EmbeddedError, match=f"in use by process {os.getpid()}"):
            Embedded(home / "data", pg_bin=newest).start()
        keep(pg, 1)


def test_a_half_made_folder_is_made_again(home: Path, newest: Binaries) -> None:
    half = home / "data" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        keep(pg, 1)
    assert not half.exists()


def test_exit_without_stop_leaves_nothing(home: Path) -> None:
    code = textwrap.dedent(PARENT).replace("signal.pause()", "")
    done = subprocess.run(
        [sys.executable, "-c", code, str(home / "data"), "throwaway"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    assert not postmaster.serves(json.loads(done.stdout)["postmaster"], home / "data" / "postgres")
