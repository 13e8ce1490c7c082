"""inboxes under rivals: every interleaving of two, at the boundaries of their statements."""

from __future__ import annotations

import pytest

from steadhold import inboxes
from steadhold.inboxes import consuming, plans
from steadhold.inboxes.model import Acknowledged, Appended, GapNotAccepted, Leased, Mismatch, Retention, Start
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.inboxes.conftest import EVERYTHING, event

pytestmark = pytest.mark.races


def made(retention=EVERYTHING, count=0):
    def setup(stage):
        stage.play(inboxes.put.call(stage.workspace, "a", retention, None))
        stage.play(inboxes.put_consumer.call(stage.workspace, "a", "c", Start("earliest"), None))
        stage.play(inboxes.append.call(stage.workspace, "a", [event(f"k{n}") for n in range(count)]))
        return stage.play(inboxes.get.call(stage.workspace, "a")).epoch

    return setup


def add(*keys, body=b"1"):
    return lambda scene: inboxes.append.call(scene.workspace, "a", [event(key, body) for key in keys])


def page(scene, after=None):
    epoch = None if after is None else scene.facts
    return scene.play(inboxes.read.call(scene.workspace, "a", epoch, after))


def placed(scene):
    return [outcome for outcomes in scene.outcomes.values() for outcome in outcomes]


def test_rivals_number_without_a_hole(explore):
    def check(scene):
        numbers = [outcome.sequence for outcome in placed(scene)]
        assert sorted(numbers) == [1, 2, 3, 4]
        assert [received.sequence for received in page(scene).events] == [1, 2, 3, 4]

    seen = explore(setup=made(), actors={"one": add("p", "q"), "two": add("r", "s")}, always=check)
    assert seen.interleavings >= 4
    assert seen.waits


@pytest.mark.parametrize("body", [b"1", b"2"])
def test_one_key_is_accepted_once(explore, body):
    def check(scene):
        first = [o for o in placed(scene) if isinstance(o, Appended) and not o.duplicate]
        assert len(first) == 1
        (other,) = [o for o in placed(scene) if o not in first]
        assert other.sequence == first[0].sequence == 1
        assert isinstance(other, Appended if body == b"1" else Mismatch)
        assert page(scene).last_sequence == 1

    seen = explore(setup=made(), actors={"one": add("p"), "two": add("p", body=body)}, always=check)
    assert seen.interleavings >= 4
    assert seen.waits


def test_a_reader_sees_a_prefix_at_every_moment(explore):
    def reads(scene):
        return inboxes.read.call(scene.workspace, "a")

    def check(scene):
        found = scene.outcomes["reader"]
        assert [received.sequence for received in found.events] == list(range(1, found.last_sequence + 1))
        assert found.events == page(scene).events[: found.last_sequence]

    seen = explore(setup=made(), actors={"one": add("p", "q"), "two": add("r"), "reader": reads}, always=check)
    assert {outcomes["reader"].last_sequence for outcomes in seen.outcomes} == {0, 1, 2, 3}


def acknowledges(scene, through=None):
    return inboxes.acknowledge.call(scene.workspace, "a", "c", scene.facts, 3, accept_gap_through=through)


def test_an_acknowledgement_and_retention_agree_on_one_gap(explore):
    def setup(stage):
        epoch = made(count=4)(stage)
        stage.play(inboxes.put.call(stage.workspace, "a", Retention(None, 1, None), 1))
        return epoch

    def sweeps(scene):
        return plans.sweep.call(scene.workspace, 1)

    def check(scene):
        assert [(gap.from_sequence, gap.to_sequence) for gap in page(scene, 0).gaps] == [(1, 3)]
        consumer = scene.play(inboxes.get_consumer.call(scene.workspace, "a", "c"))
        match scene.outcomes["ack"]:
            case Acknowledged(_, position, moved):
                assert (position, moved, consumer.gap) == (3, True, None)
            case refused:
                assert refused == GapNotAccepted(1, 3)
                assert consumer.gap == (1, 3)

    seen = explore(setup=setup, actors={"ack": acknowledges, "retention": sweeps}, always=check)
    assert {type(outcomes["ack"]) for outcomes in seen.outcomes} == {Acknowledged, GapNotAccepted}


def test_retention_racing_a_reader_is_one_gap_to_it(explore, monkeypatch):
    """A reader of three at a time, and retention that takes two at a time: each number comes once, or in one gap."""
    monkeypatch.setattr(plans, "INBOX_PURGE_ITEMS_MAX", 2)

    def setup(stage):
        epoch = made(count=6)(stage)
        stage.play(inboxes.put.call(stage.workspace, "a", Retention(None, 2, None), 1))
        return epoch

    def reads(scene):
        events, gaps, after = [], [], 0
        for _ in range(2):
            found = yield from inboxes.read.plan(scene.workspace, "a", scene.facts, after, 3)
            gaps += [(gap.from_sequence, gap.to_sequence) for gap in found.gaps]
            events += [received.sequence for received in found.events]
            after = found.next_after
        return events, gaps

    def sweeps(scene):
        return [plans.sweep.call(scene.workspace, 1), lambda _: plans.sweep.call(scene.workspace, 1)]

    def check(scene):
        events, gaps = scene.outcomes["reader"]
        told = [*events, *(n for first, last in gaps for n in range(first, last + 1))]
        assert sorted(told) == [1, 2, 3, 4, 5, 6]
        assert [(gap.from_sequence, gap.to_sequence) for gap in page(scene, 0).gaps] == [(1, 4)]

    seen = explore(setup=setup, actors={"reader": reads, "retention": sweeps}, always=check)
    ways = {tuple(outcomes["reader"][1]) for outcomes in seen.outcomes}
    assert ways == {(), ((1, 2),), ((1, 4),), ((4, 4),)}


def test_who_leases_is_not_passed_by(explore):
    """An acknowledgement without the fence comes before the lease, or not at all."""

    def leases(scene):
        return consuming.lease.call(scene.workspace, "a", "c", "me", 30)

    def check(scene):
        assert isinstance(scene.outcomes["lease"], Leased)
        assert isinstance(scene.outcomes["ack"], Acknowledged | StaleFence)

    actors = {"ack": acknowledges, "lease": leases}
    seen = explore(setup=made(count=4), actors=actors, always=check)
    assert {type(outcomes["ack"]) for outcomes in seen.outcomes} == {Acknowledged, StaleFence}


def test_a_lease_that_ended_acknowledges_nothing(explore):
    def setup(stage):
        epoch = made(count=4)(stage)
        stage.play(consuming.lease.call(stage.workspace, "a", "c", "old", 30))
        return epoch

    def old(scene):
        held = [FenceRef("consumer:a/c", 1)]
        return inboxes.acknowledge.call(scene.workspace, "a", "c", scene.facts, 4, fences_held=held)

    def new(scene):
        return consuming.lease.call(scene.workspace, "a", "c", "new", 30)

    def check(scene):
        position = scene.play(inboxes.get_consumer.call(scene.workspace, "a", "c")).position
        assert position == (4 if isinstance(scene.outcomes["old"], Acknowledged) else 0)

    moves = {"past its end": 31}
    seen = explore(setup=setup, actors={"old": old, "new": new}, always=check, clock_moves=moves)
    assert {type(outcomes["old"]) for outcomes in seen.outcomes} == {Acknowledged, StaleFence}


def test_two_acknowledgements_leave_the_higher(explore):
    def ack(n):
        return lambda scene: inboxes.acknowledge.call(scene.workspace, "a", "c", scene.facts, n)

    def check(scene):
        assert scene.play(inboxes.get_consumer.call(scene.workspace, "a", "c")).position == 4
        assert scene.outcomes["high"].position == 4

    seen = explore(setup=made(count=4), actors={"low": ack(2), "high": ack(4)}, always=check)
    assert seen.waits


def test_an_inbox_is_made_once(explore):
    def makes(scene):
        return inboxes.put.call(scene.workspace, "new", EVERYTHING, None)

    def check(scene):
        kinds = sorted(type(o).__name__ for o in scene.outcomes.values())
        assert kinds == ["RevisionConflict", "Written"]
        assert RevisionConflict(1) in scene.outcomes.values()

    explore(setup=made(), actors={"one": makes, "two": makes}, always=check)


def test_nothing_is_appended_to_what_is_being_deleted(explore):
    def deletes(scene):
        return inboxes.delete.call(scene.workspace, "a", 1)

    def check(scene):
        assert scene.play(inboxes.get.call(scene.workspace, "a")) == Missing()

    seen = explore(setup=made(), actors={"one": add("p"), "two": deletes}, always=check)
    assert {isinstance(outcomes["one"], list) for outcomes in seen.outcomes} == {True, False}


def test_one_sending_is_sent_once_and_its_twin_is_told(explore):
    def send(scene):
        return inboxes.send.call(scene.workspace, "a", inboxes.Sending(type="t", id="s"))

    def once(scene):
        assert {told.again for told in scene.outcomes.values()} == {False, True}

    seen = explore(setup=made(), actors={"one": send, "two": send}, always=once)
    assert seen.waits
