from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import select
import socket
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
from steadhold.db.folder import Folder, default_data_dir

NOBODY = 65534


def rows(pg: Embedded) -> list[int]:
    with psycopg.connect(pg.dsn) as conn:
        return [n for (n,) in conn.execute("select n from kept order by n")]


def keep(pg: Embedded, n: int) -> None:
    with psycopg.connect(pg.dsn) as conn:
        conn.execute("create table if not exists kept (n int)")
        conn.execute("insert into kept values (%s)", (n,))


def await_end(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        end = os.pidfd_open(pid)
        assert select.select([end], [], [], 60)[0], f"process {pid} did not end"
        os.close(end)


def test_starts_answers_and_leaves_nothing_behind(home: Path, pg_bin: Binaries) -> None:
    with Embedded(home / "data", pg_bin=pg_bin) as pg:
        pid = pg.pid
        with psycopg.connect(pg.dsn) as conn:
            (version, fsync, listen) = conn.execute(
                "select current_setting('server_version_num')::int / 10000, current_setting('fsync'),"
                " current_setting('listen_addresses')"
            ).fetchone()
        assert (version, fsync, listen) == (pg_bin.major, "on", "")
        assert postmaster.serves(pid, home / "data" / "postgres")
    assert not postmaster.alive(pid)
    assert postmaster.orphans(home / "data" / "postgres") == []
    again = Folder(home / "data", choose())
    again.hold()
    again.release()


async def test_serves_async_contexts_and_drivers(home: Path, newest: Binaries) -> None:
    async with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        conn = await asyncpg.connect(pg.dsn)
        assert await conn.fetchval("select 40 + 2") == 42
        await conn.close()


def test_keeps_its_data_over_restarts(home: Path, pg_bin: Binaries) -> None:
    with Embedded(home / "data", pg_bin=pg_bin) as pg:
        keep(pg, 1)
    with Embedded(home / "data", pg_bin=pg_bin) as pg:
        assert rows(pg) == [1]


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


def test_stop_during_a_restart_ends_it(home: Path, newest: Binaries) -> None:
    pg = Embedded(home / "data", throwaway=True, pg_bin=newest)
    pg.start()
    pg.kill()
    pg.stop()
    assert postmaster.orphans(home / "data" / "postgres") == []
    with pytest.raises(EmbeddedError, match="not running"):
        _ = pg.pid
    pg.stop()


def test_starts_again_after_stop(home: Path, newest: Binaries) -> None:
    pg = Embedded(home / "data", throwaway=True, pg_bin=newest)
    for n in (1, 2):
        with pg:
            keep(pg, n)
            assert rows(pg) == list(range(1, n + 1))


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


def test_another_major_version_is_refused_with_the_way_out(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest):
        pass
    version = home / "data" / "postgres" / "PG_VERSION"
    version.write_text("14\n")
    with pytest.raises(EmbeddedError, match=rf"made by PostgreSQL 14, .* PostgreSQL {newest.major}.*pg_dumpall"):
        Embedded(home / "data", pg_bin=newest).start()
    version.write_text(f"{newest.major}\n")
    with Embedded(home / "data", throwaway=True):
        pass


def test_the_chain_takes_binaries_that_fit_the_folder(home: Path, pg_bin: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=pg_bin):
        pass
    with Embedded(home / "data", throwaway=True) as pg:
        assert pg.version == pg_bin.version


def test_a_half_made_folder_is_made_again(home: Path, newest: Binaries) -> None:
    half = home / "data" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        keep(pg, 1)
    assert not half.exists()


def test_postgres_that_cannot_start_says_why_and_lets_go(home: Path, newest: Binaries) -> None:
    with pytest.raises(EmbeddedError, match="shared_buffers"):
        Embedded(home / "data", throwaway=True, pg_bin=newest, settings={"shared_buffers": "nonsense"}).start()
    with Embedded(home / "data", throwaway=True, pg_bin=newest, settings={"shared_buffers": "16MB"}) as pg:
        keep(pg, 1)


def test_a_long_path_gets_its_socket_elsewhere(home: Path, newest: Binaries) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    with Embedded(deep, throwaway=True, pg_bin=newest) as pg:
        keep(pg, 1)
        place = Path(postmaster.read(deep / "postgres").socket_dir)
        assert not place.is_relative_to(deep)
        assert place.stat().st_mode & 0o777 == 0o700
    assert not place.exists()


def test_the_socket_is_nobody_elses(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        keep(pg, 1)
        run = home / "data" / "run"
        assert run.stat().st_mode & 0o777 == 0o700
        assert (home / "data" / "postgres").stat().st_uid == run.stat().st_uid == choose().uid


def test_tcp_wants_the_password(home: Path, newest: Binaries) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Embedded(home / "data", throwaway=True, pg_bin=newest, port=port) as pg:
        with psycopg.connect(pg.tcp_dsn) as conn:
            assert conn.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://steadhold:wrong@127.0.0.1:{port}/postgres")
    with (
        Embedded(home / "data", throwaway=True, pg_bin=newest) as pg,
        pytest.raises(EmbeddedError, match="with a port"),
    ):
        _ = pg.tcp_dsn


def test_root_lends_another_user_and_a_user_is_itself(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        runs_as = Path(f"/proc/{pg.pid}").stat().st_uid
    assert runs_as != 0
    assert (runs_as == os.geteuid()) is (os.geteuid() != 0)


def _as_nobody(data: str, pg_bin: Binaries, said: multiprocessing.SimpleQueue[object]) -> None:
    try:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        with Embedded(data, throwaway=True, pg_bin=pg_bin) as pg:
            before = pg.pid
            pg.kill()
            pg.wait_ready(not_pid=before)
            said.put((os.geteuid(), Path(f"/proc/{pg.pid}").stat().st_uid))
    except BaseException as error:  # noqa: BLE001 - the parent asserts on whatever it is
        said.put(error)


def test_a_normal_user_runs_it(home: Path, pg_bin: Binaries) -> None:
    home.chmod(0o777)
    fork = multiprocessing.get_context("fork")
    said: multiprocessing.SimpleQueue[object] = fork.SimpleQueue()
    child = fork.Process(target=_as_nobody, args=(str(home / "data"), pg_bin, said))
    child.start()
    user = os.geteuid() or NOBODY
    assert said.get() == (user, user)
    child.join()
    assert child.exitcode == 0


def test_root_is_told_of_a_closed_folder_and_a_user_needs_none(home: Path, newest: Binaries) -> None:
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    pg = Embedded(closed / "data", throwaway=True, pg_bin=newest)
    if os.geteuid() == 0:
        with pytest.raises(EmbeddedError, match=rf"cannot enter {closed}\. Choose another.*chmod o\+x {closed}"):
            pg.start()
        closed.chmod(0o711)
    with pg:
        keep(pg, 1)


def test_the_default_folder_can_be_reached(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(home))
    default = default_data_dir()
    assert default == (Path("/var/lib/steadhold/dev") if os.geteuid() == 0 else home / "steadhold" / "dev")


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


def test_ctrl_c_in_the_terminal_does_not_reach_postgres(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        assert os.getsid(pg.pid) == pg.pid
