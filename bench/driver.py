"""Drives one job system's process, and asks PostgreSQL what its work left behind."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench import stand, tools

PEERS: Final = Path(__file__).parent / "peers"
OURS: Final = ("steadhold", "steadhold_http")
ANSWER_SECONDS: Final = 240.0
LEFT_BEHIND: Final = """
select coalesce(sum(n_dead_tup), 0)::bigint as dead_tuples,
  coalesce(sum(n_tup_ins), 0)::bigint as inserts,
  coalesce(sum(n_tup_upd + n_tup_del), 0)::bigint as updates_and_deletes
from pg_stat_user_tables
"""
OTHERS: Final = """
select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
  and backend_type = 'client backend'
"""


class Broken(Exception):
    """A system's process ended or fell silent; the message is the last that it said."""


class Process:
    """A job system's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.about = self._answer(ANSWER_SECONDS)

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Let it do something, and wait for the figures. Raises Broken."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        return self._answer(ANSWER_SECONDS + more.get("seconds", 0))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise Broken(f"no answer within {seconds:.0f} s") from None
        if line:
            return json.loads(line)
        self._process.wait(10)
        said = self._process.stderr.read() if self._process.stderr else ""
        raise Broken((said.strip().splitlines() or [f"ended with {self._process.returncode}"])[-1][:300])


@contextmanager
def system(name: str, dsn: str, environment: dict[str, str]) -> Iterator[Process]:
    """Run a system on a database of its own. Raises tools.Absent where it cannot be installed, and Broken."""
    python = sys.executable if name in OURS else str(_python(name))
    process = subprocess.Popen(
        [python, str(PEERS / f"on_{name}.py"), dsn], env={**os.environ, **environment}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Process(process)
    finally:
        if process.stdin is not None:
            process.stdin.close()  # it ends by that; a worker of its own may take a signal for a wish to drain
        stand.end(process)


def _python(name: str) -> Path:
    return tools.python_of(next(peer for peer in tools.PEERS if peer.name == name.partition("_")[0]))


async def analyzed(dsn: str) -> None:
    """Let PostgreSQL look at what there is, as it does by itself within a minute."""
    conn = await asyncpg.connect(dsn)
    await conn.execute("analyze")
    await conn.close()


async def new_database(dsn: str, name: str) -> str:
    """Drop a database if it is there, make it, and answer its DSN."""
    conn = await asyncpg.connect(dsn)
    try:
        await conn.execute(f'drop database if exists "{name}" with (force)')
        await conn.execute(f'create database "{name}"')
    finally:
        await conn.close()
    return urlunsplit(urlsplit(dsn)._replace(path=f"/{name}"))


async def marks(dsn: str) -> dict[str, int]:
    """How much log was written, and how many writing transactions were begun, since the cluster was made."""
    conn = await asyncpg.connect(dsn)
    try:
        row = await conn.fetchrow(
            "select (pg_current_wal_insert_lsn() - '0/0')::bigint as wal_bytes, "
            "pg_snapshot_xmax(pg_current_snapshot())::text::bigint as writes"
        )
        return dict(row)
    finally:
        await conn.close()


async def left_behind(dsn: str) -> dict[str, int]:
    """Rows written and dead in a database, once the processes that wrote them have ended and told so."""
    conn = await asyncpg.connect(dsn)
    try:
        for _ in range(500):
            if not await conn.fetchval(OTHERS):
                break
            await asyncio.sleep(0.01)
        found = dict(await conn.fetchrow(LEFT_BEHIND))
        found["commits"] = await conn.fetchval(
            "select xact_commit from pg_stat_database where datname = current_database()"
        )
        return found
    finally:
        await conn.close()
