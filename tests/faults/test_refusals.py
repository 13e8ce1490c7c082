"""A refusal leaves its key free, whoever commits afterwards: a flush that it shared, or the caller."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import asyncpg
import psycopg
import pytest

from steadhold import jobs, operations, state
from steadhold.db.pool import Pool
from steadhold.jobs.admission import submit_batch
from steadhold.jobs.model import Submission
from steadhold.kit.fields import FenceRef
from steadhold.kit.plan import Refusal
from steadhold.operations import Replayed, Sealed
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from steadhold.play.transaction import opening

MISSING = "0198aaaa-0000-7000-8000-000000000000"
INVOICE = Submission(type="t", input=b"1", unique_key="invoice")
OTHER = Submission(type="t", input=b"2", unique_key="invoice")


def refusals(place):
    """Calls that are refused where `a` is at revision 1 and `invoice` is held, each of another kind."""
    return {
        "a conflict": state.put.call(place, "a", b"2", 7),
        "there already": state.put.call(place, "a", b"2", None),
        "nothing to delete": state.delete.call(place, "none", 1),
        "a stale fence": state.put.call(place, "a", b"2", 1, (FenceRef(f"job:{MISSING}", 3),)),
        "a batch without effect": state.batch.call(place, [state.Put("a", b"2", 7), state.Get("a")]),
        "a held key": jobs.submit.call(place, OTHER),
        "a batch of held keys": submit_batch.call(place, [OTHER, OTHER]),
        "no job to cancel": jobs.cancel.call(place, MISSING, "me"),
        "no job to retry": jobs.retry.call(place, MISSING, MISSING),
        "no job to signal": jobs.signal.call(place, MISSING, "go"),
    }


def under(key, call):
    return operations.receipted(call, key=key, fingerprint=b"f", seal=lambda _: Sealed(200))


def free(database, place, keys):
    """Which keys have left neither a claim nor a receipt."""
    with database.connect() as conn:
        taken = conn.execute(
            "select key from steadhold.claims where workspace = %(w)s"
            " union select key from steadhold.receipts where workspace = %(w)s",
            {"w": place},
        ).fetchall()
    return set(keys) - {key for (key,) in taken}


@pytest.fixture
async def pool(house):
    async with Pool(house.dsn, size=6) as opened:
        yield opened


@pytest.fixture
async def begun(pool, place):
    """`a` at revision 1, and a live job under `invoice`."""
    single = Single(pool)
    await single.play(state.put.call(place, "a", b"1", None))
    await single.play(jobs.submit.call(place, INVOICE))
    return place


@pytest.mark.parametrize("player", [Lockstep, Single])
async def test_in_a_flush_that_others_commit(pool, house, begun, player):
    """Refusals and effects go in together; afterwards each refused key takes an effect."""
    playing, refused = player(pool), refusals(begun)
    effects = {f"effect {n}": state.put.call(begun, f"n{n}", b"1", None) for n in range(20)}
    mixed = [name for pair in zip(effects, [*refused, *refused], strict=True) for name in pair]
    calls = {**refused, **effects}
    outcomes = dict(
        zip(mixed, await asyncio.gather(*(playing.play(under(name, calls[name])) for name in mixed)), strict=True)
    )
    if player is Lockstep:
        assert 0 < playing.stats["flushes"] < playing.stats["calls"] / 3
    assert all(isinstance(outcomes[name], state.Written) for name in effects)
    assert all(isinstance(outcomes[name], Refusal) for name in refused), outcomes
    assert free(house, begun, calls) == refused.keys()
    again = await asyncio.gather(
        *(playing.play(under(name, state.put.call(begun, f"later/{n}", b"1", None))) for n, name in enumerate(refused))
    )
    assert all(isinstance(outcome, state.Written) for outcome in again)
    assert free(house, begun, calls) == set()


@asynccontextmanager
async def sync_psycopg(dsn, place):
    with psycopg.connect(dsn) as conn:
        conn.execute(opening(place, 5_000).removeprefix("begin isolation level read committed; ").encode())

        async def play(verb, *args):
            return verb(conn, *args)

        async def commit():
            conn.commit()

        yield play, commit


@asynccontextmanager
async def async_psycopg(dsn, place):
    async with await psycopg.AsyncConnection.connect(dsn) as conn:
        await conn.execute(opening(place, 5_000).removeprefix("begin isolation level read committed; ").encode())

        async def play(verb, *args):
            return await verb(conn, *args)

        yield play, conn.commit


@asynccontextmanager
async def by_asyncpg(dsn, place):
    conn = await asyncpg.connect(dsn)
    await conn.execute(opening(place, 5_000))

    async def play(verb, *args):
        return await verb(conn, *args)

    async def commit():
        await conn.execute("commit")

    try:
        yield play, commit
    finally:
        await conn.close()


@pytest.fixture(params=[sync_psycopg, async_psycopg, by_asyncpg])
async def caller(request, house, begun):
    """Play on a connection of the caller's, in a transaction that the caller commits."""
    async with request.param(house.dsn, begun) as made:
        yield made


async def test_in_a_callers_transaction_that_is_committed(caller, house, begun, pool):
    play, commit = caller
    refused = refusals(begun)
    for name, call in refused.items():
        if call.single:
            continue
        outcome = await play(operations.once, begun, name, b"f", call)
        assert isinstance(outcome, Refusal), name
        wrote = await play(state.put, begun, f"beside/{name}", b"1", None)
        assert isinstance(wrote, state.Written)
    await commit()
    assert free(house, begun, refused) == refused.keys()
    single = Single(pool)
    for name, call in refused.items():
        if call.single:
            continue
        assert isinstance(await single.play(state.get.call(begun, f"beside/{name}")), state.Stored)
        assert isinstance(
            await single.play(under(name, state.put.call(begun, f"later/{name}", b"1", None))), state.Written
        )
        assert isinstance(await single.play(under(name, state.put.call(begun, "other", b"1", None))), Replayed)
