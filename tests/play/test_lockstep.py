"""Group commit: many callers, one commit, and nobody pays for another."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Busy, OutcomeUnknown, Single
from tests.play import toy


class Recorder:
    """A pool that writes down what its connections execute, and may break their commits."""

    def __init__(self, pool, log, *, break_commit=False):
        self.pool, self.log, self.break_commit = pool, log, break_commit
        self.size = pool.size

    async def take(self):
        return Recorded(await self.pool.take(), self)

    def give(self, conn):
        self.pool.give(conn.conn)


class Recorded:
    def __init__(self, conn, recorder):
        self.conn, self.recorder = conn, recorder

    def __getattr__(self, name):
        return getattr(self.conn, name)

    async def execute(self, query):
        if query == "commit" and self.recorder.break_commit:
            self.conn.terminate()
            raise ConnectionResetError
        answer = await self.conn.execute(query)
        self.recorder.log.append(query.partition(" ")[0])
        return answer


async def test_calls_that_queue_share_a_commit(pool, counters, workspace):
    """A hundred callers at once need far fewer commits than callers, and all win."""
    names = [f"n{k}" for k in range(100)]
    counters(*names)
    player = Lockstep(pool)
    outcomes = await asyncio.gather(*[player.play(toy.swap.call(workspace, name, 1)) for name in names])
    assert outcomes == [toy.Swapped(2)] * 100
    assert player.stats["calls"] == 100
    assert player.stats["flushes"] < 20


async def test_one_hot_name_has_one_winner(pool, counters, workspace, revision_of):
    """Fifty callers with one expected revision: one wins, the others learn the new one."""
    counters("hot")
    player = Lockstep(pool)
    outcomes = await asyncio.gather(*[player.play(toy.swap.call(workspace, "hot", 1)) for _ in range(50)])
    assert outcomes.count(toy.Swapped(2)) == 1
    assert outcomes.count(toy.Lost(2)) == 49
    assert revision_of("hot") == 2


async def test_those_who_lost_a_hot_name_try_again_together(pool, counters, workspace):
    """Whoever loses learns the revision from a flush that won nothing; parted for good, every second one would."""
    counters("hot")
    player = Lockstep(pool)
    wins = 0

    async def caller(flushes):
        nonlocal wins
        expected = 1
        while player.stats["flushes"] < flushes:  # the late ones come while the first are under way
            await asyncio.sleep(0)
        while wins < 60:
            outcome = await player.play(toy.swap.call(workspace, "hot", expected))
            wins += isinstance(outcome, toy.Swapped)
            expected = outcome.revision if isinstance(outcome, toy.Swapped) else outcome.current

    await asyncio.gather(*[caller(k % 2) for k in range(20)])
    assert wins / player.stats["flushes"] > 0.6


async def test_answers_leave_only_after_the_commit(pool, counters, workspace):
    """Every answer comes after the commit of its flush."""
    names = [f"n{k}" for k in range(20)]
    counters(*names)
    log: list[str] = []
    player = Lockstep(Recorder(pool, log))

    async def caller(name):
        await player.play(toy.swap.call(workspace, name, 1))
        log.append("answer")

    await asyncio.gather(*map(caller, names))
    answers = [at for at, what in enumerate(log) if what == "answer"]
    assert len(answers) == 20
    for at in answers:
        begun, committed = log[:at].count("begin"), log[:at].count("commit")
        assert committed >= 1
        assert begun - committed <= 1


async def test_a_failing_call_fails_alone(pool, counters, workspace, revision_of):
    """A neighbour's database error rolls the flush back, and everybody else still gets an answer."""
    names = [f"n{k}" for k in range(30)]
    counters("bad", *names)
    player = Lockstep(pool)
    calls = [toy.swap.call(workspace, name, 1) for name in names]
    calls.insert(15, toy.broken.call(workspace, "bad"))
    outcomes = await asyncio.gather(*map(player.play, calls), return_exceptions=True)
    failed = outcomes.pop(15)
    assert getattr(failed, "sqlstate", None) == "22012"
    assert outcomes == [toy.Swapped(2)] * 30
    assert revision_of("bad") == 1


async def test_a_cancelled_caller_disturbs_nobody(pool, counters, workspace):
    """A caller who leaves while its flush is under way takes nothing from the others."""
    names = [f"n{k}" for k in range(10)]
    counters(*names)
    player = Lockstep(pool)
    tasks = [asyncio.ensure_future(player.play(toy.swap.call(workspace, name, 1))) for name in names]
    await asyncio.sleep(0)
    tasks[3].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(outcomes.pop(3), asyncio.CancelledError)
    assert outcomes == [toy.Swapped(2)] * 9


async def test_a_strangers_lock_delays_only_who_needs_it(pool, counters, workspace, database):
    """While somebody else's open transaction holds one row, sixty-four others go on."""
    names = [f"n{k}" for k in range(64)]
    counters("held", *names)
    player = Lockstep(pool, patience_ms=60_000)
    with database.connect() as stranger, stranger.transaction():
        stranger.execute("select * from toy.counters where name = 'held' for update")
        waiting = [asyncio.ensure_future(player.play(toy.swap.call(workspace, "held", 1))) for _ in range(5)]
        for round_ in range(1, 6):
            outcomes = await asyncio.gather(*[player.play(toy.swap.call(workspace, name, round_)) for name in names])
            assert outcomes == [toy.Swapped(round_ + 1)] * 64
        assert not any(task.done() for task in waiting)
    outcomes = await asyncio.gather(*waiting)
    assert sorted(map(str, outcomes)) == ["Lost(current=2)"] * 4 + ["Swapped(revision=2)"]
    assert player.stats["waited for a stranger"] < 5 + 1


def swapping(workspace, name):
    return toy.swap.call(workspace, name, 1)


@pytest.mark.parametrize("call", [swapping, toy.refused_after_write.call], ids=["together", "single"])
async def test_strangers_locks_never_take_all_connections(dsn, counters, workspace, database, call):
    """Eight names of one workspace are held by somebody else; another workspace has its turn all the while."""
    names, other = [f"n{k}" for k in range(8)], database.new_workspace()
    counters(*names)
    with database.connect() as conn:
        conn.execute("insert into toy.counters values (%s, 'n', 1)", (other,))
    async with Pool(dsn, size=6) as pool, asyncio.timeout(60):
        player = Lockstep(pool, patience_ms=120_000)
        with database.connect() as stranger, stranger.transaction():
            stranger.execute("select * from toy.counters where workspace = %s for update", (workspace,))
            stuck = [asyncio.ensure_future(player.play(call(workspace, name))) for name in names]
            while player.stats["waited for a stranger"] < 8:
                await asyncio.sleep(0)
            assert await player.play(toy.swap.call(other, "n", 1)) == toy.Swapped(2)
            assert await player.play(toy.refused_after_write.call(other, "n")) == toy.Lost(0)
            assert not any(task.done() for task in stuck)
        await asyncio.gather(*stuck)
        await player.close()
    assert player.lanes == {}, "whoever has been answered is remembered"


async def test_who_finds_no_connection_to_wait_on_is_told_what_is_held(dsn, counters, workspace, database):
    """Patience is for all of the waiting, in memory or on a connection."""
    names = [f"n{k}" for k in range(4)]
    counters(*names)
    async with Pool(dsn, size=2) as pool, asyncio.timeout(60):
        player = Lockstep(pool, patience_ms=300)
        with database.connect() as stranger, stranger.transaction():
            stranger.execute("select * from toy.counters where workspace = %s for update", (workspace,))
            outcomes = await asyncio.gather(
                *[player.play(swapping(workspace, n)) for n in names], return_exceptions=True
            )
        await player.close()
    assert [(type(outcome), outcome.at) for outcome in outcomes] == [(Busy, "toy.swap")] * 4
    assert player.lanes == {}


async def test_two_flushers_over_uneven_plans_never_deadlock(pool, counters, workspace, database):
    """Plans of different lengths over shared rows, in two players: no deadlock, and every bump counts."""
    names = [f"n{k}" for k in range(8)]
    counters(*names)
    players = [Lockstep(pool, hurry_ms=30_000), Lockstep(pool, hurry_ms=30_000)]
    calls = [toy.bump.call(workspace, names[k % 8]) for k in range(80)]
    calls += [toy.swap.call(workspace, names[k % 8], 1) for k in range(40)]
    await asyncio.gather(*[players[k % 2].play(call) for k, call in enumerate(calls)])
    assert not any("40P01" in cause for player in players for cause in player.stats)
    with database.connect() as conn:
        raised = sum(toy.revision(conn, workspace, name) - 1 for name in names)
    assert raised >= 80


async def test_a_plan_out_of_order_is_played_alone(pool, counters, workspace):
    """Going back in the lock order inside a flush is noticed, and harms nobody."""
    counters("a", "b")
    player = Lockstep(pool)
    calls = [toy.backwards.call(workspace, "a"), toy.swap.call(workspace, "b", 1)]
    outcomes = await asyncio.gather(*map(player.play, calls))
    assert outcomes == [None, toy.Swapped(2)]
    assert player.stats["fallback OutOfOrder"] == 1


async def test_a_full_queue_refuses(pool, counters, workspace):
    """Callers beyond the bound are told to come back, at once."""
    counters("n")
    player = Lockstep(pool, queue_calls_max=3)
    outcomes = await asyncio.gather(
        *[player.play(toy.swap.call(workspace, "n", 1)) for _ in range(5)], return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes[3:]] == [Busy, Busy]
    assert outcomes.count(toy.Swapped(2)) == 1


async def test_after_a_broken_commit_nothing_is_replayed(pool, counters, workspace, revision_of):
    """When the connection breaks at COMMIT every caller of the flush is told that the outcome is unknown."""
    counters("a", "b")
    player = Lockstep(Recorder(pool, [], break_commit=True))
    outcomes = await asyncio.gather(
        *[player.play(toy.swap.call(workspace, name, 1)) for name in ("a", "b")], return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown, OutcomeUnknown]
    assert player.stats["alone"] == 0
    assert (revision_of("a"), revision_of("b")) == (1, 1)


@pytest.mark.parametrize("player_of", [Lockstep, Single])
async def test_a_mistake_in_a_plan_is_not_taken_for_an_absent_database(
    pool, counters, workspace, revision_of, player_of
):
    """Whoever is told that the database is away sends again, and nobody looks for the mistake."""
    counters("n")
    with pytest.raises(KeyError):
        await player_of(pool).play(toy.mistaken.call(workspace, "n"))
    assert revision_of("n") == 1


async def test_a_single_operation_goes_alone(pool, counters, workspace, revision_of):
    """A plan under a savepoint shares no transaction, and its refusal takes back what it wrote."""
    counters("n")
    player = Lockstep(pool)
    assert await player.play(toy.refused_after_write.call(workspace, "n")) == toy.Lost(0)
    assert player.stats["flushes"] == 0
    assert revision_of("n") == 1


@pytest.mark.parametrize("strangers", [1, 3])
async def test_workspaces_take_turns(pool, counters, database, strangers):
    """A workspace with a long queue does not keep the others waiting for all of it."""
    spaces = [database.new_workspace() for _ in range(strangers + 1)]
    with database.connect() as conn:
        for space in spaces:
            conn.execute("insert into toy.counters values (%s, 'n', 1)", (space,))
    player = Lockstep(pool, flushers=1)
    order: list[str] = []

    async def caller(space):
        await player.play(toy.bump.call(space, "n"))
        order.append(space)

    await asyncio.gather(*[caller(spaces[0]) for _ in range(600)], *[caller(space) for space in spaces[1:]])
    assert all(order.index(space) < 599 for space in spaces[1:])


async def test_a_statement_that_is_planned_anew_leaves_the_others_as_they_are(pool, counters, workspace):
    """Its own plan depends on what it is asked; the next statement has the one plan for all arguments again."""
    counters("n")
    shown = await Lockstep(pool).play(toy.plans.call(workspace))
    assert shown == ["force_custom_plan", "force_generic_plan"]


async def test_a_flush_in_which_all_are_refused_makes_nothing_durable(pool, counters, workspace):
    """There is nothing to commit, so nobody waits for the disk."""
    counters("n")
    log: list[str] = []
    player = Lockstep(Recorder(pool, log))
    assert await player.play(toy.swap.call(workspace, "n", 7)) == toy.Lost(1)
    assert log[-1] == "rollback"
    assert await player.play(toy.swap.call(workspace, "n", 1)) == toy.Swapped(2)
    assert log[-1] == "commit"
