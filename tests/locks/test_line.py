"""Those who wait for a lock: each in its turn, and nobody for one who is gone."""

from __future__ import annotations

from steadhold.kit.limits import LOCK_SILENCE_SECONDS_MAX, LOCK_TICKET_SECONDS_MAX
from steadhold.locks.model import Held, LockLost, Queued


def test_those_who_wait_come_in_their_order(door):
    door.acquire("a", "me", 30)
    assert all(isinstance(door.waits(each), Queued) for each in ("x", "y", "x"))
    assert door.get("a").waiting == 2
    assert door.release("a", 1).waiting
    assert door.waits("y") == Queued("a", None, 0.0)
    assert door.acquire("a", "new", 30) == Held("a", None, 0.0)
    granted = door.waits("x")
    assert (granted.fence, granted.owner) == (2, "x")
    assert isinstance(door.waits("y"), Queued)
    assert door.get("a").waiting == 1
    assert door.release("a", 2).waiting
    assert door.waits("y").fence == 3
    assert not door.release("a", 3).waiting


def test_waited_seconds_are_those_of_this_request(door, clock):
    door.acquire("a", "me", 30)
    door.waits("x", "first")
    clock.move(1)
    door.waits("x", "first")
    door.leave("a", "x", "first")
    clock.move(1)
    door.waits("x", "second")
    clock.move(0.5)
    door.release("a", 1)
    granted = door.waits("x", "second")
    assert 0.5 <= granted.waited_seconds < 1


def test_a_waiter_granted_at_its_first_look_waited_for_nothing(door):
    door.acquire("a", "me", 30)
    door.waits("x", "first")
    door.release("a", 1)
    assert door.waits("x", "second").waited_seconds == 0


def test_who_left_holds_up_nobody_and_has_its_place_if_it_comes_back_in_time(door, clock):
    door.acquire("a", "me", 30)
    door.waits("x")
    door.waits("y")
    door.leave("a", "x", "r")
    assert door.get("a").waiting == 1
    clock.move(LOCK_TICKET_SECONDS_MAX - 0.5)
    door.waits("y")
    assert isinstance(door.waits("x", "r2"), Queued)
    door.release("a", 1)
    assert isinstance(door.waits("y"), Queued)
    door.leave("a", "x", "r")  # a late word of the first request says nothing about the second
    assert isinstance(door.waits("y"), Queued)
    door.leave("a", "x", "r2")
    assert door.waits("y").fence == 2


def test_who_comes_back_too_late_has_lost_its_place(door, clock):
    door.acquire("a", "me", 30)
    door.waits("x")
    door.leave("a", "x", "r")
    door.waits("y")
    clock.move(LOCK_TICKET_SECONDS_MAX + 0.1)
    door.waits("y")
    door.waits("x", "r2")
    door.release("a", 1)
    assert isinstance(door.waits("x", "r2"), Queued)
    assert door.waits("y").fence == 2


def test_one_who_says_nothing_any_more_holds_up_nobody_for_long(door, clock):
    door.acquire("a", "me", 30)
    door.waits("x")
    clock.move(LOCK_SILENCE_SECONDS_MAX - 0.1)
    door.waits("y")
    door.release("a", 1)
    assert isinstance(door.waits("y"), Queued)
    clock.move(0.2)
    assert door.waits("y").fence == 2


def test_tickets_go_when_their_time_is_over(door, clock):
    door.acquire("a", "me", 300)
    door.waits("x")
    door.waits("y")
    clock.move(LOCK_SILENCE_SECONDS_MAX + LOCK_TICKET_SECONDS_MAX - 1)
    door.waits("y")
    assert door.forget(9) == 0
    clock.move(1.1)
    assert door.forget(9) == 2
    left = door.conn.execute("select operation from steadhold.lock_tickets where fence is null").fetchall()
    assert left == [("y",)]
    clock.move(LOCK_SILENCE_SECONDS_MAX + LOCK_TICKET_SECONDS_MAX)
    assert door.forget(9) == 1


def test_what_nobody_was_told_of_is_given_back(door):
    door.waits("x", "r")
    door.give_back("a", "x", "r", 1)
    assert not door.get("a").held
    assert door.waits("x", "r2") == LockLost("a")


def test_what_another_request_was_told_of_is_not_given_back(door):
    door.waits("x", "r")
    assert door.waits("x", "r2").again
    door.give_back("a", "x", "r", 1)
    assert door.get("a").held
