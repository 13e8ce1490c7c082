"""state where a write goes alone, as a transaction of its own."""

from __future__ import annotations

import asyncio

from steadhold import state
from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from steadhold.play.transaction import opening
from steadhold.state.model import Written
from tests.state.test_plans import entitle


async def test_within_a_transaction_meters_come_last(dsn, database, workspace):
    """On a session from which a write has gone alone, one that is part of more leaves the meters to its plan."""
    with database.connect() as owner:
        owner.execute(opening(workspace, 5_000).encode())
        entitle(owner, workspace, names_max=9)
        owner.execute("commit")
    async with Pool(dsn, size=1) as pool:
        player = Single(pool)
        assert (await player.play(state.put.call(workspace, "a", b"1", None))).revision == 1
        writing = state.put.call(workspace, "b", b"1", None)
        asked = []

        def watched():
            plan, hands = writing.begin(), None
            try:
                while True:
                    step = plan.send(hands)
                    asked.append(step.sql.name)
                    hands = yield step
            except StopIteration as end:
                return end.value

        assert (await player.play(writing.around(watched))).revision == 1
    assert asked[-2:] == ["state.write", "access.meter"]


async def test_a_write_that_is_its_own_transaction_meters_itself(dsn, database, workspace):
    """Through a server's players, where a write goes alone, and within a transaction: the sums are the same."""
    with database.connect() as owner:
        owner.execute(opening(workspace, 5_000).encode())
        entitle(owner, workspace, names_max=2, bytes_max=20)
        owner.execute("commit")
    async with Pool(dsn, size=1) as pool:
        player = Lockstep(pool)
        for name, body, expected in (("a", b"12345", None), ("b", b"1", None), ("a", b"123", 1)):
            assert isinstance(await player.play(state.put.call(workspace, name, body, expected)), Written)
        refused = await asyncio.gather(*(player.play(state.put.call(workspace, name, b"1", None)) for name in "cd"))
        assert [(one.what, one.used, one.max) for one in refused] == [("names", 2, 2)] * 2
        conn = await pool.take()
        pool.give(conn)
        assert conn.at is not None, "nothing went alone"
        with database.enter(workspace) as conn:
            amounts = "select what, sum(amount)::bigint from steadhold.meters group by what order by what"
            assert conn.execute(amounts).fetchall() == [("bytes", 4), ("names", 2)]
            used = "select what, amount from steadhold.used(%s) where what in ('bytes', 'names') order by what"
            assert conn.execute(used, [workspace]).fetchall() == [("bytes", 4), ("names", 2)]
