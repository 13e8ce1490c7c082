"""Two PostgreSQLs: a primary, and a standby that follows it, lags, and takes its place with a clock of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

from steadhold.db.embedded import Embedded
from steadhold.testing.binaries import chosen

SETTINGS = {"wal_level": "replica", "max_wal_senders": "4", "wal_keep_size": "512MB"}
LIBRARY = "vendor/libfaketime/src/libfaketime.so.1"
PATIENCE_SECONDS = 30


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that PostgreSQL's own user can reach, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="steadhold-") as made:
        path = Path(made)
        path.chmod(0o755)
        yield path


def postgres(home: Path, **environment: str) -> Embedded:
    """PostgreSQL on a data folder: it dies as in a power cut when it is stopped, and writes a log others can follow."""
    version = chosen(os.environ.get("STEADHOLD_TEST_PG"))
    return Embedded(home, throwaway=True, pg_bin=version, settings=SETTINGS, environment=environment)


def shifted(home: Path, seconds: int) -> dict[str, str]:
    """Variables of a process whose clock is ahead by so many seconds, or behind."""
    found = find_spec("libfaketime")
    assert found is not None, "libfaketime is not installed: make setup"
    assert found.origin is not None
    library = shutil.copy(Path(found.origin).parent / LIBRARY, home)
    Path(library).chmod(0o755)
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{seconds:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def copy(data: Path, to: Path) -> None:
    """Copy the data folder of a PostgreSQL that does not run; what was there is gone."""
    shutil.rmtree(to / "postgres", ignore_errors=True)
    to.mkdir(exist_ok=True)
    shutil.copytree(data / "postgres", to / "postgres", symlinks=True, ignore=shutil.ignore_patterns("postmaster.*"))


def replaced(old: Embedded, new: Embedded, data: Path, to: Path) -> None:
    """Between the end of one PostgreSQL and the start of the next, copy a data folder."""
    old.stop()
    copy(data, to)
    new.start()


class Pair:
    """A primary, and a standby whose clock is ahead by `ahead_seconds`."""

    def __init__(self, home: Path, ahead_seconds: int) -> None:
        self.primary = postgres(home / "primary")
        self.standby = postgres(home / "standby", **shifted(home, ahead_seconds))
        self.ahead_seconds = ahead_seconds
        self._home = home

    def follow(self) -> None:
        """Start the primary, which has run before, and the standby as a copy of it that follows."""
        home = self._home / "standby"
        copy(self._home / "primary", home)
        (home / "postgres/standby.signal").touch()
        self.primary.start()
        with (home / "postgres/postgresql.auto.conf").open("a") as conf:
            conf.write(f"primary_conninfo = 'host={socket_of(self.primary)} user=steadhold'\n")
        self.standby.start()
        with connected(self.primary) as one, connected(self.standby) as other:
            now, then = (_value(conn, "select clock_timestamp()") for conn in (one, other))
            assert abs((then - now).total_seconds() - self.ahead_seconds) < 5, "the clock did not move"
            until(lambda: _value(one, "select count(*) from pg_stat_replication where state = 'streaming'") == 1)

    @property
    def dsn(self) -> str:
        """Of whichever of the two takes writes."""
        hosts = f"{socket_of(self.primary)},{socket_of(self.standby)}"
        return f"postgresql://steadhold@/postgres?host={hosts}&port=5432,5432&target_session_attrs=read-write"

    def caught_up(self) -> None:
        """Wait until the standby has all that the primary has now."""
        with connected(self.primary) as one, connected(self.standby) as other:
            lsn = _value(one, "select pg_current_wal_flush_lsn()")
            until(lambda: _value(other, f"select pg_last_wal_replay_lsn() >= '{lsn}'"))

    def lag(self) -> None:
        """From here on the standby hears nothing of what the primary writes."""
        with connected(self.standby) as conn:
            conn.execute("alter system set primary_conninfo = ''")
            conn.execute("select pg_reload_conf()")
            until(lambda: _value(conn, "select count(*) from pg_stat_wal_receiver") == 0)

    def fail_over(self) -> None:
        """Promote the standby while the primary still takes writes, and then end that."""
        with connected(self.standby) as conn:
            assert _value(conn, "select pg_promote(true, 60)")
        self.primary.stop()

    def stop(self) -> None:
        """End both."""
        self.standby.stop()
        self.primary.stop()


def socket_of(server: Embedded) -> str:
    """The folder of its socket."""
    return psycopg.conninfo.conninfo_to_dict(server.dsn)["host"]


def connected(server: Embedded) -> psycopg.Connection:
    """A connection of its administrator."""
    return psycopg.connect(server.dsn, autocommit=True)


def _value(conn: psycopg.Connection, query: str):
    return conn.execute(query.encode()).fetchone()[0]


def until(done: Callable[[], bool]) -> None:
    """Wait for a moment that always comes; each look is a round trip to a server."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, "it did not come"
