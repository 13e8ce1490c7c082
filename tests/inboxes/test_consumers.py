"""Consumers against PostgreSQL: floors that never fall, and leases."""

from __future__ import annotations

from steadhold.inboxes import consuming
from steadhold.inboxes.model import (
    Acknowledged,
    BeyondHead,
    Consumer,
    ConsumerLeased,
    GapNotAccepted,
    NoConsumer,
    NoInbox,
    Restored,
    Retention,
    Start,
    Written,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.inboxes.conftest import lose

DAY = 86_400


def test_a_consumer_reads_on_from_what_no_loss_took_back(door):
    door.make()
    door.fill(9)
    door.consume()
    door.ack(8)
    lose(door.conn, 5)
    assert door.get_consumer("a", "c").position == 5
    door.add(*[f"new{n}" for n in range(9)])
    assert door.get_consumer("a", "c").position == 5
    lose(door.conn, 12)
    door.add("newer")
    assert door.get_consumer("a", "c").position == 5
    assert door.ack(13) == Acknowledged(door.epoch(), 13, True)
    assert door.get_consumer("a", "c").position == 13


def test_a_consumer_acknowledges_forward_only(door):
    door.make()
    door.fill(5)
    door.consume()
    epoch = door.epoch()
    assert door.ack(3) == Acknowledged(epoch, 3, True)
    assert door.ack(3) == Acknowledged(epoch, 3, False)
    assert door.ack(1) == Acknowledged(epoch, 3, False)
    assert door.ack(6) == BeyondHead(5)
    assert door.ack(4, epoch="other") == Restored(epoch, 5)
    assert door.ack(1, name="nobody") == NoConsumer("nobody")
    seen = door.get_consumer("a", "c")
    assert (seen.position, seen.lag, seen.gap) == (3, 2, None)


def test_consumers_are_independent(door):
    door.make()
    door.fill(5)
    door.consume("c")
    door.consume("d", "latest")
    door.consume("e", "position", epoch=door.epoch(), sequence=2)
    door.ack(4)
    assert [(one.name, one.position) for one in door.consumers("a", "", 9)] == [("c", 4), ("d", 5), ("e", 2)]
    assert [one.name for one in door.consumers("a", "c", 1)] == ["d"]


def test_reading_acknowledges_nothing(door):
    door.make()
    door.fill(5)
    door.consume()
    door.read("a")
    door.read("a", door.epoch(), 3)
    assert door.get_consumer("a", "c").position == 0


def test_a_gap_is_accepted_by_whoever_knows_of_it(door):
    door.make("a", Retention(None, 2, None))
    door.fill(6)
    door.consume()
    door.ack(1)
    door.sweep()
    assert door.get_consumer("a", "c").gap == (2, 4)
    assert door.ack(6) == GapNotAccepted(2, 4)
    assert door.ack(6, accept_gap_through=3) == GapNotAccepted(2, 4)
    assert door.ack(3) == GapNotAccepted(2, 4)
    assert door.ack(3, accept_gap_through=3).position == 3
    assert door.get_consumer("a", "c").gap == (4, 4)
    assert door.ack(6, accept_gap_through=4).position == 6
    assert door.get_consumer("a", "c").gap is None


def test_a_consumer_has_revisions_and_its_floor_stays(door):
    assert door.consume() == NoInbox("a")
    door.make()
    door.fill(5)
    assert door.consume() == Written(1)
    assert door.consume() == RevisionConflict(1)
    door.ack(3)
    again = [Start("earliest"), Start("latest")]
    assert door.put_consumer("a", "c", again[0], 1) == Written(2)
    assert door.get_consumer("a", "c").position == 3
    assert door.put_consumer("a", "c", again[1], 2) == Written(3)
    assert door.get_consumer("a", "c").position == 5
    assert door.put_consumer("a", "c", again[1], 2) == RevisionConflict(3)
    assert door.delete_consumer("a", "c", 2) == RevisionConflict(3)
    assert door.delete_consumer("a", "c", 3) == Written(4)
    assert door.delete_consumer("a", "c", 4) == Missing(4)
    assert door.put_consumer("a", "c", again[0], 4) == Missing()
    assert door.get_consumer("a", "c") == Missing()
    assert door.consume() == Written(5)
    assert door.get_consumer("a", "c").position == 0


def test_a_start_lies_within_the_inbox(door):
    door.make()
    door.fill(2)
    epoch = door.epoch()
    assert door.consume("c", "position", epoch="other", sequence=1) == Restored(epoch, 2)
    assert door.consume("c", "position", epoch=epoch, sequence=3) == BeyondHead(2)


def test_who_leases_a_consumer_has_it_alone(door, clock):
    door.make()
    door.fill(5)
    door.consume()
    mine = door.lease("a", "c", "me", 30)
    assert (mine.fence, mine.lease_seconds, mine.again) == (1, 30.0, False)
    held = door.lease("a", "c", "you", 30)
    assert isinstance(held, ConsumerLeased)
    assert held.holder == "me"
    ref = FenceRef("consumer:a/c", 1)
    assert door.ack(1) == StaleFence("consumer:a/c")
    assert door.ack(1, fences_held=[FenceRef("consumer:a/c", 2)]) == StaleFence("consumer:a/c")
    assert door.ack(1, fences_held=[ref]).position == 1
    seen = door.get_consumer("a", "c")
    assert isinstance(seen, Consumer)
    assert (seen.holder, seen.fence) == ("me", 1)
    clock.move(31)
    assert door.ack(2, fences_held=[ref]) == StaleFence("consumer:a/c")
    assert door.ack(2).position == 2
    assert door.renew("a", "c", 1) == StaleFence("consumer:a/c")
    assert door.lease("a", "c", "you", 30).fence == 2
    assert door.release("a", "c", 1) == StaleFence("consumer:a/c")
    assert not door.release("a", "c", 2).again
    assert door.release("a", "c", 2).again
    assert door.ack(3).position == 3


def test_a_lease_is_asked_for_once(door, clock):
    door.make()
    door.consume()
    first = door.lease("a", "c", "me", 30, "op")
    again = door.lease("a", "c", "me", 30, "op")
    assert (again.fence, again.again, first.again) == (1, True, False)
    clock.move(31)
    assert door.lease("a", "c", "me", 30, "op") == StaleFence("consumer:a/c")
    assert door.lease("a", "nobody", "me", 30) == NoConsumer("nobody")


def test_a_lease_that_ran_out_is_written_down(door, clock):
    door.make()
    door.consume()
    door.lease("a", "c", "me", 30)
    clock.move(31)
    assert consuming.expire(door.conn, door.workspace, 9) == 1
    assert consuming.expire(door.conn, door.workspace, 9) == 0


def test_a_fence_is_obeyed(door):
    door.make()
    door.fill(1)
    door.consume()
    assert door.ack(1, fences_held=[FenceRef("lock:x", 7)]) == StaleFence("lock:x")
