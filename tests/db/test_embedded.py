from __future__ import annotations

import multiprocessing
import os
import socket
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
from tests.db.kept import keep, rows

NOBODY = 65534


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


def test_starts_again_after_stop(home: Path, newest: Binaries) -> None:
    pg = Embedded(home / "data", throwaway=True, pg_bin=newest)
    for n in (1, 2):
        with pg:
            keep(pg, n)
            assert rows(pg) == list(range(1, n + 1))


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


def test_ctrl_c_in_the_terminal_does_not_reach_postgres(home: Path, newest: Binaries) -> None:
    with Embedded(home / "data", throwaway=True, pg_bin=newest) as pg:
        assert os.getsid(pg.pid) == pg.pid
