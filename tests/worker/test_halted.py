"""A worker is halted before it has taken the answer to its claim."""

from __future__ import annotations

import asyncio
import contextlib

import asyncpg
import pytest

from steadhold import jobs
from steadhold.jobs.plans import EPOCH
from steadhold.play import transaction
from steadhold.worker.door import Ask, DoorShut
from steadhold.worker.on_postgres import OnPostgres

BIG = b'"' + b"x" * 250_000 + b'"'
ASK = Ask("halted", ("t",), 3, None, (), EPOCH, "key", 0)
STANDS = """
select case when state = 'active' and wait_event = 'ClientWrite' then 'stuck'
  when state = 'idle in transaction' and query like 'with now as materialized%' then 'waits' else 'elsewhere' end
from pg_stat_activity where application_name = $1 and datname = current_database()
"""


@pytest.fixture
async def door(dsn, workspace):
    made = OnPostgres(dsn, workspace, size=1)
    yield made
    await made.close()


async def test_inputs_come_whole_however_large(on_postgres, door):
    given = [b"1", BIG, b"2", BIG]
    ids = [await on_postgres.submit(input=input) for input in given]
    by_reference = await on_postgres.submit(input=None, input_ref="s3://elsewhere")
    got = await door.claim(Ask("w", ("t",), 10, None, (), EPOCH, "key", 0))
    assert [(job.id, job.input) for job in got] == [*zip(ids, given, strict=True), (by_reference, None)]


async def test_a_halted_worker_holds_no_job_by_an_answer_that_it_does_not_take(on_postgres, door, dsn, monkeypatch):
    """Its back end does not wait for it with the jobs locked: it is done, and is ended for hearing nothing more."""
    monkeypatch.setattr(transaction, "IDLE_MS", 200)
    fetch = transaction.fetch

    async def halted(conn, sql, items):
        if sql.name == "jobs.take":
            conn._transport.pause_reading()
        return await fetch(conn, sql, items)

    assert await door.claim(ASK) == []  # so that its next claim is asked for at once
    ids = [await on_postgres.submit(input=BIG) for _ in range(3)]
    watching = await asyncpg.connect(dsn)
    try:
        monkeypatch.setattr(transaction, "fetch", halted)
        claiming = asyncio.create_task(door.claim(ASK))
        while (stands := await watching.fetchval(STANDS, "steadhold worker")) == "elsewhere":
            await asyncio.sleep(0)
        assert stands in {"waits", None}  # none: it was ended already
        monkeypatch.setattr(transaction, "fetch", fetch)
        while len(got := await on_postgres.play(jobs.claim, "another", ["t"], 3)) < 3:
            await asyncio.sleep(0)
        assert [job.id for job in got] == ids
    finally:
        for conn in door._pool._taken:
            conn._transport.resume_reading()
        with contextlib.suppress(DoorShut):
            await claiming
        await watching.close()
