"""What is told of inboxes and of their consumers: each transition once, and none of what only moves on."""

from __future__ import annotations

import itertools
import json

import pytest

from steadhold import inboxes
from steadhold.inboxes import consuming, telling
from steadhold.inboxes.plans import put
from steadhold.kit.outcome import RevisionConflict


def told(door, aggregate):
    found = door.conn.execute(
        "select type, aggregate_revision, convert_from(coalesce(data, '{}'), 'utf8') from steadhold.events"
        " where aggregate_id = %s order by 2",
        [aggregate],
    ).fetchall()
    assert [number for _, number, _ in found] == list(range(1, len(found) + 1)), "the numbers have a gap"
    return [(type, json.loads(data)) for type, _, data in found]


def words(door, aggregate):
    return [type.partition(".")[2] for type, _ in told(door, aggregate)]


def test_what_is_done_with_an_inbox(door):
    door.make()
    door.put("a", inboxes.Retention(None, 5, None), 1)
    door.fill(3)
    door.delete("a", 2)
    door.make()
    assert [type for type, _ in told(door, "inbox:a")] == [
        "inbox.created", "inbox.changed", "inbox.deleted", "inbox.created",
    ]  # fmt: skip


def test_what_becomes_of_a_consumer(door):
    door.make()
    door.fill(3)
    door.consume()
    door.ack(2)
    door.put_consumer("a", "c", inboxes.Start("latest"), 1)
    leased = door.lease("a", "c", "me", 30.0)
    door.renew("a", "c", leased.fence)
    door.release("a", "c", leased.fence)
    door.release("a", "c", leased.fence)
    door.delete_consumer("a", "c", 2)
    found = told(door, "inbox:a:consumer:c")
    assert [type.partition(".")[2] for type, _ in found] == ["created", "changed", "leased", "released", "deleted"]
    about = {"inbox": "a", "consumer": "c", "fence": leased.fence}
    assert found[2][1] == {**about, "owner": "me", "lease_seconds": 30.0}
    assert found[3][1] == about


def test_a_lease_that_ran_out_is_told_once(door, clock):
    """By the sweep, or by whoever comes next."""
    door.make()
    door.consume()
    one = door.lease("a", "c", "me", 30.0)
    clock.move(31)
    assert consuming.expire(door.conn, door.workspace, 10) == 1
    two = door.lease("a", "c", "you", 30.0)
    clock.move(31)
    three = door.lease("a", "c", "me", 30.0, "key")
    assert door.lease("a", "c", "me", 30.0, "key").again
    assert consuming.expire(door.conn, door.workspace, 10) == 0
    found = told(door, "inbox:a:consumer:c")[1:]
    assert [(type.partition(".")[2], data["fence"]) for type, data in found] == [
        ("leased", one.fence), ("lease_expired", one.fence), ("leased", two.fence), ("lease_expired", two.fence),
        ("leased", three.fence),
    ]  # fmt: skip


def test_a_lease_whose_inbox_is_gone_ends_untold(door, clock):
    door.make()
    door.consume()
    door.lease("a", "c", "me", 30.0)
    door.delete("a", 1)
    clock.move(31)
    assert consuming.expire(door.conn, door.workspace, 10) == 1
    assert words(door, "inbox:a:consumer:c") == ["created", "leased"]


def test_a_consumer_of_an_inbox_that_is_made_anew(door):
    """Its numbers are its own: an `If-Match` of the one before is refused, and all that is told has a place."""
    door.make()
    was = door.consume()
    for n in range(4):
        door.release("a", "c", door.lease("a", "c", f"o{n}", 30.0).fence)
    door.delete("a", 1)
    door.make()
    now = door.consume()
    assert now.revision > was.revision
    assert door.delete_consumer("a", "c", was.revision) == RevisionConflict(now.revision)
    door.lease("a", "c", "me", 30.0)
    found = door.conn.execute(
        "select type from steadhold.events where aggregate_id = 'inbox:a:consumer:c' order by aggregate_revision"
    ).fetchall()
    ended = ["leased", "released"] * 4
    assert [type for (type,) in found] == [f"consumer.{word}" for word in ("created", *ended, "created", "leased")]


OTHERS = ("a:consumer:c", "a:consumer", "a:send:s", "a:send")


@pytest.mark.parametrize("name", OTHERS)
def test_a_name_under_which_others_are_told(door, name):
    """`a:consumer` with its consumer `x` would be the consumer `consumer:x` of `a`."""
    with pytest.raises(ValueError, match="stands in no name of an inbox"):
        put(door.conn, door.workspace, name, inboxes.Retention(), None)


async def test_its_address(house):
    for name in OTHERS:
        refused = await house.make(name)
        assert (refused.status, refused.json["code"]) == (400, "bad_name")


NAMES = ("a", "a:b", "a:b:c", "send:a", "consumer:a", "a:send", "a:consumer", "send", ":", ":consumer", "a:sen", "nd")


def test_no_two_things_are_told_under_one_name(door):
    """Names hold colons themselves: what is sent is lost where its place is another's."""
    for name in NAMES:
        if telling.name_fault(name) is None:
            assert isinstance(door.make(name), inboxes.Written)
    for inbox, name in itertools.product(door.inboxes("", 100), NAMES):
        assert isinstance(door.put_consumer(inbox.name, name, inboxes.Start("latest"), None), inboxes.Written)
        sent = door.send(inbox.name, inboxes.Sending(type="t", id=name))
        assert (inbox.name, name, sent.again) == (inbox.name, name, False)


@pytest.mark.races
def test_a_release_and_the_sweep_tell_one_end(explore):
    def plant(stage):
        ws = stage.workspace
        stage.play(inboxes.put.call(ws, "a", inboxes.Retention(), None))
        stage.play(inboxes.put_consumer.call(ws, "a", "c", inboxes.Start("earliest"), None))
        return stage.play(inboxes.lease.call(ws, "a", "c", "me", 30.0)).fence

    def check(scene):
        found = scene.conn.execute(
            "select type from steadhold.events where workspace = %s and aggregate_id = 'inbox:a:consumer:c'",
            [scene.workspace],
        ).fetchall()
        ends = [type for (type,) in found if type in {"consumer.released", "consumer.lease_expired"}]
        assert len(ends) <= 1

    seen = explore(
        setup=plant,
        actors={
            "owner": lambda scene: inboxes.release.call(scene.workspace, "a", "c", scene.facts),
            "sweep": lambda scene: consuming.expire.call(scene.workspace, 10),
        },
        always=check,
        clock_moves={"past the lease": 31},
    )
    assert seen.interleavings >= 10
