"""Inboxes let go of what they do not keep, and say so."""

from __future__ import annotations

import pytest

from steadhold.inboxes import plans
from steadhold.inboxes.loops import duties
from steadhold.inboxes.model import (
    NoInbox,
    Retention,
    Written,
)
from steadhold.inboxes.routes import routes
from steadhold.kit.outcome import Missing
from steadhold.play.caller import play
from tests.inboxes.conftest import EVERYTHING, event, gaps, numbers, told

DAY = 86_400


def test_one_that_is_made_again_begins_anew(door):
    door.make()
    door.fill(3)
    door.consume()
    epoch = door.epoch()
    door.delete("a", 1)
    assert door.add("k1") == NoInbox("a")
    assert door.make() == Written(3)
    assert door.epoch() != epoch
    assert door.get_consumer("a", "c") == Missing()
    assert numbers(door.add("k3", "k2")) == [1, 2]
    door.sweep(4)
    assert told(door.read("a")) == [1, 2]
    left = door.conn.execute("select count(*), (select count(*) from steadhold.inbox_keys) from steadhold.inbox_events")
    assert left.fetchone() == (2, 2)


@pytest.mark.parametrize(
    ("retention", "left"),
    [(Retention(None, 4, None), 4), (Retention(None, None, 80), 3), (Retention(None, 0, None), 0), (EVERYTHING, 10)],
)
def test_what_is_not_kept_goes_from_the_beginning(door, retention, left):
    door.make("a", retention)
    door.append("a", [event(f"k{n}", b'"%b"' % (b"x" * 12)) for n in range(10)])  # with its head, 24 bytes each
    door.sweep()
    page = door.read("a", door.epoch(), 0)
    assert told(page) == list(range(11 - left, 11))
    assert gaps(page) == ([(1, 10 - left, "retention")] if left < 10 else [])
    assert door.get("a").bytes == 24 * left
    assert numbers(door.add("k0", "new")) == [1, 11]


def test_age_takes_what_is_old(door, clock):
    door.make("a", Retention(60.0, None, None))
    door.fill(3)
    clock.move(50)
    door.add("younger")
    clock.move(20)
    door.sweep()
    assert told(door.read("a")) == [4]


def test_a_range_is_told_once_however_often_it_grew(door, monkeypatch):
    monkeypatch.setattr(plans, "INBOX_PURGE_ITEMS_MAX", 2)
    door.make("a", Retention(None, 1, None))
    door.fill(6)
    door.sweep(3)
    epoch = door.epoch()
    assert gaps(door.read("a", epoch, 0)) == [(1, 5, "retention")]
    assert gaps(door.read("a", epoch, 3)) == [(4, 5, "retention")]
    assert door.read("a", epoch, 3).next_after == 6
    assert gaps(door.read("a", epoch, 5)) == gaps(door.read("a")) == []


def test_keys_outlive_events(door, clock):
    door.make("a", Retention(10.0, None, None))
    door.add("x")
    clock.move(20)
    door.sweep()
    assert door.add("x")[0].duplicate
    clock.move(34 * DAY)
    door.sweep()
    assert door.add("x")[0].duplicate
    clock.move(2 * DAY)
    door.sweep()
    assert numbers(door.add("x")) == [2]


def test_the_key_of_an_event_that_is_kept_is_known_for_ever(door, clock):
    door.make()
    door.add("x")
    clock.move(1_000 * DAY)
    door.sweep()
    assert door.add("x")[0].duplicate


def test_a_server_keeps_keys_as_long_as_it_is_set(door, clock):
    (sweep, _), (receipt,) = duties(60.0), [r for r in routes(60.0) if r.path.endswith("/receipts/{key}")]
    assert sweep.call(door.workspace, 1).name == "inboxes.sweep"
    door.make("a", Retention(10.0, None, None))
    door.add("x")
    clock.move(71)
    door.conn.execute("update steadhold.inbox_sweeps set check_at = steadhold.clock()")
    for _ in range(2):
        play(door.conn, sweep.call(door.workspace, 1))
    assert numbers(door.add("x")) == [2]
    assert receipt.handle.keywords == {"kept_seconds": 60.0}


def test_what_is_due_is_found(database, door, clock):
    door.make()
    due = "select count(*) from steadhold.due_inboxes() where workspace = %s"
    assert door.conn.execute(due, [door.workspace]).fetchone() == (0,)
    clock.move(61)
    assert door.conn.execute(due, [door.workspace]).fetchone() == (1,)
    door.sweep()
    assert door.conn.execute(due, [door.workspace]).fetchone() == (0,)
    clock.move(899)
    assert door.conn.execute(due, [door.workspace]).fetchone() == (0,)
    clock.move(2)
    assert door.conn.execute(due, [door.workspace]).fetchone() == (1,)
