"""What needs no transaction around it has none; everything else has one, and nobody can tell from what comes of it."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from steadhold.db.pool import Pool
from steadhold.kit import failpoints
from steadhold.kit.plan import whole_operation
from steadhold.kit.sql import READERS
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Busy, OutcomeUnknown, Single, Unavailable
from tests.play import toy


@pytest.fixture
async def narrow(dsn, counters):
    """A pool of one connection."""
    async with Pool(dsn, size=1) as opened:
        yield opened


@pytest.fixture(params=[Single, Lockstep])
def player(request, narrow):
    return request.param(narrow)


class Asked:
    """What is sent over a connection, each by its first word; the driver tells of it a turn of the loop later."""

    def __init__(self, conn):
        self.words = []
        conn.add_query_logger(lambda record: self.words.append(record.query.split(None, 1)[0]))

    async def told(self):
        """What was sent since this was asked last."""
        await asyncio.sleep(0)
        told, self.words = self.words, []
        return told


@pytest.fixture
async def asked(narrow):
    """Over the one connection."""
    conn = await narrow.take()
    narrow.give(conn)
    return Asked(conn)


@pytest.fixture
def waiting(database):
    """Wait until a back end of this database waits for a lock; its process id."""

    async def wait():
        with database.connect() as conn:
            while not (found := conn.execute(
                "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
            ).fetchone()):  # fmt: skip
                await asyncio.sleep(0)
            return found[0]

    return wait


async def test_a_whole_statement_goes_alone(player, asked, counters, workspace, revision_of):
    counters("a")
    assert await player.play(toy.swap_alone.call(workspace, "a", 1)) == toy.Swapped(2)
    await asked.told()
    assert await player.play(toy.swap_alone.call(workspace, "a", 2)) == toy.Swapped(3)
    assert (await asked.told(), revision_of("a")) == (["with"], 3)


async def test_a_reading_goes_alone(player, asked, counters, workspace):
    counters("a")
    await player.play(toy.look.call(workspace, "a"))
    await asked.told()
    assert await player.play(toy.look.call(workspace, "a")) == 1
    assert await asked.told() == ["select"]


async def test_callers_of_one_whole_statement_go_together(narrow, asked, counters, workspace):
    counters("a", "b", "c")
    player = Lockstep(narrow, flushers=1)
    await player.play(toy.swap_alone.call(workspace, "a", 7))
    await asked.told()
    calls = [toy.swap_alone.call(workspace, name, 1) for name in "abca"]
    assert await asyncio.gather(*map(player.play, calls)) == [*[toy.Swapped(2)] * 3, toy.Lost(2)]
    assert await asked.told() == ["with"]


async def test_callers_of_others_share_a_transaction(narrow, asked, counters, workspace):
    counters("a")
    player = Lockstep(narrow, flushers=1)
    await player.play(toy.swap.call(workspace, "a", 7))
    await asked.told()
    calls = [toy.swap_alone.call(workspace, "a", 1), toy.swap.call(workspace, "a", 1)]
    assert await asyncio.gather(*map(player.play, calls)) == [toy.Swapped(2), toy.Lost(2)]
    assert await asked.told() == ["begin", "with", "commit"]


async def test_what_is_whole_in_itself_is_none_within_another(player, counters, workspace, revision_of):
    counters("a", "b")
    for _ in range(2):  # the first time it learns what is asked
        with pytest.raises(Exception, match="division by zero"):
            await player.play(toy.swap_two.call(workspace, "a", "b"))
    assert (revision_of("a"), revision_of("b")) == (1, 1)


async def test_what_has_more_around_it_is_not_whole(narrow, counters, workspace, revision_of):
    """Whoever wraps a call asks more than its statement, before it or after."""
    counters("a")
    call = toy.swap_alone.call(workspace, "a", 1)

    def more():
        swapped = yield from call.begin()
        yield from toy.swap.plan(workspace, "a", 2)
        return swapped

    assert call.whole is toy.SQL.swap
    assert await Single(narrow).play(call.around(more)) == toy.Swapped(2)
    assert revision_of("a") == 3


def test_what_may_take_several_executions_is_not_whole():
    with pytest.raises(TypeError, match=r"toy\.fail may need several executions"):
        whole_operation(toy.SQL.fail)


@pytest.mark.parametrize("verb", [toy.bump_alone, toy.bump_apart])
async def test_who_asks_more_begins_again_in_a_transaction(narrow, asked, counters, workspace, revision_of, verb):
    counters("a")
    player = Lockstep(narrow)
    assert await player.play(verb.call(workspace, "a")) == 2
    assert await player.play(verb.call(workspace, "a")) == 3
    await asked.told()
    assert await player.play(verb.call(workspace, "a")) == 4
    assert (await asked.told(), revision_of("a")) == (["with", "begin", "with", "with", "commit"], 4)


async def test_many_who_ask_more_each_win_once(narrow, counters, workspace, revision_of):
    counters("a")
    player = Lockstep(narrow)
    won = await asyncio.gather(*(player.play(toy.bump_alone.call(workspace, "a")) for _ in range(20)))
    assert (sorted(won), revision_of("a")) == ([*range(2, 22)], 21)


async def test_each_is_confined_to_its_workspace(player, narrow, counters, database, workspace):
    other = database.new_workspace()
    for place in (workspace, other, workspace):
        assert await player.play(toy.where.call(place)) == (place, "steadhold_app")
    async with narrow.connection() as conn:
        found = await conn.fetchrow("select current_setting('steadhold.workspace', true), current_user = session_user")
        left = "select count(*) from pg_settings where source = 'session' and name not in ('application_name')"
        assert (found[0] or "", found[1], await conn.fetchval(left)) == ("", True, 0)
    assert await player.play(toy.where.call(other)) == (other, "steadhold_app")


async def test_who_waits_too_long_is_told_so_and_did_nothing(narrow, counters, database, workspace, revision_of):
    counters("a")
    player = Single(narrow, lock_timeout_ms=50)
    with database.connect() as stranger, stranger.transaction():
        stranger.execute("select from toy.counters where workspace = %s for update", [workspace])
        with pytest.raises(Busy):
            await player.play(toy.swap_alone.call(workspace, "a", 1))
    assert revision_of("a") == 1
    assert await player.play(toy.swap_alone.call(workspace, "a", 1)) == toy.Swapped(2)


async def test_a_stranger_delays_only_who_needs_the_row(pool, counters, database, workspace):
    counters("a", "b")
    player = Lockstep(pool)
    with database.connect() as stranger, stranger.transaction():
        stranger.execute("select from toy.counters where workspace = %s and name = 'a' for update", [workspace])
        late = asyncio.create_task(player.play(toy.swap_alone.call(workspace, "a", 1)))
        assert await player.play(toy.swap_alone.call(workspace, "b", 1)) == toy.Swapped(2)
        assert not late.done()
    assert await late == toy.Swapped(2)


CUT = [
    (Single, toy.swap_alone.call, (1,), OutcomeUnknown),
    (Lockstep, toy.swap_alone.call, (1,), OutcomeUnknown),
    (Single, toy.look.call, (), Unavailable),
]


@pytest.mark.parametrize(("player", "asks", "more", "error"), CUT)
async def test_a_connection_that_breaks_leaves_a_change_unknown(
    player, narrow, counters, database, workspace, waiting, asks, more, error
):
    """The statement is its commit, too; what only reads changed nothing, whatever became of it."""
    counters("a")
    with database.connect() as stranger, stranger.transaction():
        stranger.execute("lock table toy.counters in access exclusive mode")
        asking = asyncio.create_task(player(narrow).play(asks(workspace, "a", *more)))
        stranger.execute("select pg_terminate_backend(%s)", [await waiting()])
        with pytest.raises(error):
            await asking


@pytest.mark.parametrize(
    ("moment", "error", "left"),
    [("alone", Unavailable, 1), ("alone_committed", OutcomeUnknown, 2), ("toy.swap", Unavailable, 1)],
)
async def test_where_a_moment_fails_it_has_come(player, counters, workspace, revision_of, moment, error, left):
    """Of a statement that goes alone there are two moments; for any other's sake it does not."""
    counters("a")
    failpoints.arm(f"{moment}=raise")
    try:
        with pytest.raises(error):
            await player.play(toy.swap_alone.call(workspace, "a", 1))
    finally:
        failpoints.arm("")
    assert revision_of("a") == left


async def test_who_fails_after_the_commit_is_not_played_again(player, counters, workspace, revision_of):
    counters("a")
    with pytest.raises(OutcomeUnknown):
        await player.play(toy.mistaken_alone.call(workspace, "a"))
    assert revision_of("a") == 2


async def test_behind_a_pooler_nothing_goes_alone(dsn, counters, workspace):
    counters("a")
    async with Pool(dsn, size=1) as pool:
        conn = await pool.take()
        assert conn.direct
        conn.direct = False  # as it is where the server names another process than whoever let us in
        pool.give(conn)
        assert await Single(pool).play(toy.swap_alone.call(workspace, "a", 1)) == toy.Swapped(2)
        assert conn.at is None


def test_functions_that_read_are_known_to_change_nothing(conn: psycopg.Connection):
    found = dict(conn.execute(
        "select proname, provolatile from pg_proc where pronamespace = 'steadhold'::regnamespace and proname = any(%s)",
        [list(READERS)],
    ).fetchall())  # fmt: skip
    assert found.keys() == {*READERS}
    assert {name for name, kept in found.items() if kept not in ("s", "i")} == {"clock"}
