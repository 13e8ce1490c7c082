"""What a row means to somebody who could not take it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from steadhold.fences import Grant, Granted, Held, KeySpent, Wanted
from steadhold.fences.model import judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SOON, PAST = NOW + timedelta(seconds=5), NOW - timedelta(seconds=5)
MINE = Wanted("lock:a", "me", 10, key="k")


def row(until, key=None):
    return Grant("lock:a", 3, "them", key, 10, until, released=False, server_time=NOW)


def test_what_is_held_names_its_holder_and_how_long():
    held = judge(MINE, row(SOON))
    assert held == Held("lock:a", "them", 3, SOON, NOW)
    assert held.expires_in_seconds == 5


def test_what_is_free_by_now_is_asked_for_again():
    assert judge(MINE, None) is judge(MINE, row(PAST)) is judge(MINE, row(None)) is judge(MINE, row(NOW)) is None


def test_the_same_asking_is_the_same_grant_or_a_lost_one():
    assert judge(MINE, row(SOON, "k")) == Granted("lock:a", 3, SOON, 10, again=True)
    assert judge(MINE, row(PAST, "k")) == judge(MINE, row(None, "k")) == KeySpent("lock:a", 3)


def test_no_key_is_nobodys_key():
    assert isinstance(judge(Wanted("lock:a", "me", 10), row(SOON, None)), Held)


def test_a_grant_began_its_length_before_its_end():
    assert Granted("lock:a", 1, SOON, 10).granted_at == NOW - timedelta(seconds=5)
