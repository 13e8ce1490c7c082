"""locks against PostgreSQL: one holder, fences that rise, a line that is kept."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest

from steadhold import fences, state
from steadhold.fences import Marked, Outrun, Wanted
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import LOCK_KEY_SECONDS_MAX
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.kit.plan import Call, each
from steadhold.locks import plans
from steadhold.locks.model import Granted, Held, LockLost, Released, Renewed
from steadhold.play.caller import play


def test_one_holds_it(door):
    granted = door.acquire("a", "me", 30)
    assert isinstance(granted, Granted)
    assert (granted.name, granted.owner, granted.fence, granted.ttl_seconds) == ("a", "me", 1, 30.0)
    assert (granted.waited_seconds, granted.again) == (0.0, False)
    assert granted.server_time < granted.until <= granted.server_time + timedelta(seconds=30)
    held = door.acquire("a", "you", 30)
    assert (held.name, held.holder) == ("a", "me")
    assert 0 < held.expires_in_seconds <= 30
    assert door.acquire("b", "you", 30).fence == 1


def test_released_it_goes_to_another_under_a_higher_fence(door):
    door.acquire("a", "me", 30)
    assert door.release("a", 1) == Released("a", 1, 2, again=False, waiting=False)
    assert door.release("a", 1) == Released("a", 1, 2, again=True, waiting=False)
    assert door.acquire("a", "you", 30).fence == 2
    assert door.release("a", 1) == LockLost("a")
    assert door.release("a", 3) == LockLost("a")
    assert door.release("never", 1) == LockLost("never")


def test_the_clock_ends_it(door, clock):
    door.acquire("a", "me", 30)
    clock.move(30)
    assert door.renew("a", 1, 30) == LockLost("a")
    assert door.release("a", 1) == LockLost("a")
    assert door.acquire("a", "you", 30).fence == 2


def test_a_renewal_runs_from_now_and_revives_nothing(door, clock):
    door.acquire("a", "me", 30)
    clock.move(20)
    renewed = door.renew("a", 1, 60)
    assert isinstance(renewed, Renewed)
    assert renewed.until - renewed.server_time == timedelta(seconds=60)
    clock.move(59)
    assert isinstance(door.acquire("a", "you", 30), Held)
    door.release("a", 1)
    assert door.renew("a", 1, 30) == LockLost("a")
    assert door.renew("a", 2, 30) == LockLost("a")


def test_asked_again_it_is_the_same_grant_while_that_is_current(door, clock):
    first = door.acquire("a", "me", 30, "op")
    clock.move(10)
    again = door.acquire("a", "me", 30, "op")
    assert (again.fence, again.until, again.again) == (first.fence, first.until, True)
    assert -10.5 < again.waited_seconds < -9.9
    clock.move(20)
    assert door.acquire("a", "me", 30, "op") == LockLost("a")
    assert door.get("a").fence == 1


@pytest.mark.parametrize("ended", ["released", "expired", "taken"])
def test_an_operation_takes_a_lock_once(door, clock, ended):
    door.acquire("a", "me", 30, "op")
    if ended == "expired":
        clock.move(31)
        assert plans.expire(door.conn, door.workspace, 9) == 1
    else:
        door.release("a", 1)
    if ended == "taken":
        door.acquire("a", "you", 30, "other")
        assert door.acquire("a", "me", 30, "op") == LockLost("a")
        door.release("a", 2)
    assert door.acquire("a", "me", 30, "op") == LockLost("a")
    assert door.acquire("b", "me", 30, "op").fence == 1


def test_an_operation_is_known_as_long_as_it_may_be_repeated(door, clock):
    door.acquire("a", "me", 30, "op")
    door.release("a", 1)
    door.acquire("a", "you", 30, "other")
    clock.move(LOCK_KEY_SECONDS_MAX - 1)
    assert door.forget(9) == 0
    assert door.acquire("a", "me", 30, "op") == LockLost("a")
    clock.move(2)
    assert door.forget(9) == 2
    assert door.acquire("a", "me", 30, "op").fence == 3


def test_its_history(door, clock):
    door.acquire("a", "me", 30)
    door.renew("a", 1, 30)
    door.release("a", 1)
    door.release("a", 1)
    door.acquire("a", "me", 30)
    clock.move(31)
    door.acquire("a", "me", 30)
    clock.move(31)
    assert plans.expire(door.conn, door.workspace, 9) == 1
    assert plans.expire(door.conn, door.workspace, 9) == 0
    assert door.events() == [
        (1, "lock.granted", 1),
        (2, "lock.released", 1),
        (3, "lock.granted", 2),
        (4, "lock.expired", 2),
        (5, "lock.granted", 3),
        (6, "lock.expired", 3),
    ]


def test_reading(door, clock):
    assert door.get("a") == Missing()
    door.acquire("a", "me", 30)
    door.waits("x")
    now = door.get("a")
    assert (now.held, now.owner, now.fence, now.revision, now.waiting) == (True, "me", 1, 1, 1)
    clock.move(31)
    ended = door.get("a")
    assert (ended.held, ended.fence, ended.revision, ended.waiting) == (False, 1, 2, 0)
    plans.expire(door.conn, door.workspace, 9)
    assert door.get("a").revision == 2


def test_the_list(door):
    for name in ("b", "a.1", "a.2", "a"):
        door.acquire(name, "me", 30)
    held = Call(lambda: fences.grant(door.workspace, [Wanted("job:x", "w", 30)]), door.workspace, "t")
    assert play(door.conn, held)[0].fence == 1
    assert [lock.name for lock in door.names("", "", 9)] == ["a", "a.1", "a.2", "b"]
    assert [lock.name for lock in door.names("a.", "", 9)] == ["a.1", "a.2"]
    assert [lock.name for lock in door.names("", "a", 2)] == ["a.1", "a.2"]
    assert [lock.name for lock in door.names("", "", 9, ("b", "c"))] == ["b"]
    assert door.names("", "", 9, ()) == []


def test_the_sweep_keeps_what_is_held_and_sees_each_row_once(door, clock):
    door.acquire("a", "me", 30)
    door.acquire("b", "me", 30)
    door.acquire("c", "me", 30)
    clock.move(20)
    door.renew("a", 1, 30)
    door.release("b", 1)
    clock.move(11)
    assert plans.expire(door.conn, door.workspace, 9) == 2  # the released one is looked at for the last time
    assert [door.get(name).held for name in "abc"] == [True, False, False]
    assert door.events("b")[-1] == (2, "lock.released", 1)
    assert plans.expire(door.conn, door.workspace, 9) == 0
    clock.move(20)
    assert plans.expire(door.conn, door.workspace, 9) == 1
    assert door.release("b", 1).again


def test_a_lock_is_relied_on_while_it_is_held(door, clock):
    door.acquire("a", "me", 30)
    assert door.require("a", 1) is None
    assert door.require("a", 2) == StaleFence("lock:a")
    held = [FenceRef("lock:a", 1)]
    assert state.put(door.conn, door.workspace, "n", b"1", None, held).revision == 1
    clock.move(31)
    assert door.require("a", 1) == StaleFence("lock:a")
    assert state.put(door.conn, door.workspace, "n", b"2", 1, held) == StaleFence("lock:a")


def test_the_highest_fence_of_a_resource(door):
    assert door.mark("disk", 3) == Marked(3)
    assert door.mark("disk", 3) == Marked(3)
    assert door.mark("disk", 2) == Outrun("disk", 3)
    assert door.mark("disk", 9) == Marked(9)
    assert door.mark("tape", 1) == Marked(1)


def test_after_a_failover_nothing_is_issued_twice_and_nobody_loses_time(door, database, workspace, clock):
    with database.connect() as conn, conn.transaction(force_rollback=True):
        door = type(door)(conn, workspace)
        door.acquire("a", "me", 30)
        door.acquire("b", "me", 30)
        door.release("b", 1)
        clock.move(20)
        conn.execute("update steadhold.house set incarnation = 1, began_at = steadhold.clock()")
        base = 1 << 32
        clock.move(29)
        assert isinstance(door.acquire("a", "you", 30), Held)
        clock.move(2)
        assert (door.acquire("a", "you", 30).fence, door.acquire("b", "you", 30).fence) == (base + 1, base + 1)
        revisions = [revision for revision, _, _ in door.events()]
        assert revisions == [1, base + 1, base + 2]
        assert [revision for revision, _, _ in door.events("b")] == [1, 2, base + 1]
        assert door.get("a").revision == base + 2


def test_one_batch_of_many(conn, workspace):
    """Many askings in one statement, as a flush makes it: one holder, and each is told of it."""
    items = [
        {
            "workspace": workspace, "subject": f"lock:{n % 2}", "owner": f"o{n}", "operation": f"p{n}", "request": None,
            "ttl_seconds": 30.0, "kept_seconds": 5.0, "remembered_seconds": 60.0,
        }
        for n in range(6)
    ]  # fmt: skip
    hands = play(conn, Call(lambda: each(plans.SQL.take, items), workspace, "t"))
    assert [(hand[0][0], hand[0][1], hand[0][2]) for hand in hands] == [(n < 2, 1, f"o{n % 2}") for n in range(6)]


def test_one_who_waited_for_the_row_has_its_whole_time(database, workspace, clock):
    """Somebody takes the lock for the first time and rolls back: who waited meanwhile is granted from then on."""
    with database.enter(workspace) as one, database.enter(workspace) as two, database.connect() as watch:
        got = []

        def take():
            with two.transaction():
                got.append(plans.acquire(two, workspace, "a", "two", 30))

        waiting = threading.Thread(target=take)
        with one.transaction(force_rollback=True):
            assert plans.acquire(one, workspace, "a", "one", 30).fence == 1
            waiting.start()
            blocked = "select count(*) from pg_stat_activity where %s = any(pg_blocking_pids(pid))"
            while not watch.execute(blocked, [one.info.backend_pid]).fetchone()[0]:
                pass
            clock.move(40)
        waiting.join()
        (granted,) = got
        assert (granted.owner, granted.fence, granted.waited_seconds) == ("two", 1, 0)
        assert granted.until - granted.server_time >= timedelta(seconds=30)
        with two.transaction():
            assert plans.get(two, workspace, "a").until == granted.until
