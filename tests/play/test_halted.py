"""A process is stopped between the preparing of a statement and its execution."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from steadhold.db.connection import Connection
from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Busy, Single
from tests.play import toy

STATE = "select state, wait_event from pg_stat_activity where datname = current_database() and application_name = %s"
AMIDST = ("active", "ClientRead")


@pytest.fixture
def deaf(monkeypatch):
    """Whoever prepares `fail` hears nothing of it, like a process that is stopped, until it is let go on."""
    stopped = []

    def stopping(name):
        whole = getattr(Connection, name)

        async def ask(self, query, *arguments):
            if query == toy.SQL.fail.numbered and query not in self.prepared:
                self._transport.pause_reading()
                stopped.append(self)
            return await whole(self, query, *arguments)

        monkeypatch.setattr(Connection, name, ask)

    stopping("fetch")
    stopping("executemany")
    yield stopped
    for conn in stopped:
        conn._transport.resume_reading()


@pytest.mark.parametrize("kind", [Single, Lockstep])
async def test_who_is_stopped_amid_a_command_holds_no_row(kind, dsn, deaf, counters, pool, database, workspace):
    counters("n")
    async with Pool(dsn, size=1, application_name="halted") as connections:
        stopped = asyncio.create_task(kind(connections).play(toy.broken.call(workspace, "n")))
        with database.connect() as watching:
            while not deaf or watching.execute(STATE, ("halted",)).fetchone() != AMIDST:
                await asyncio.sleep(0)
        try:
            swapped = await Single(pool, lock_timeout_ms=100).play(toy.swap.call(workspace, "n", 1))
        except Busy:
            swapped = None
        for conn in deaf:
            conn._transport.resume_reading()
        with pytest.raises(asyncpg.DivisionByZeroError):
            await stopped
    assert swapped == toy.Swapped(2), "the row is held by who hears nothing"
