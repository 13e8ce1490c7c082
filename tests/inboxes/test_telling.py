"""What is told of inboxes and of their consumers: each transition once, and none of what only moves on."""

from __future__ import annotations

import json

import pytest

from steadhold import inboxes
from steadhold.inboxes import consuming
from steadhold.inboxes.plans import put


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


def test_a_name_that_would_be_a_consumers(door):
    with pytest.raises(ValueError, match="stands in no inbox's name"):
        put(door.conn, door.workspace, "a:consumer:c", inboxes.Retention(), None)


async def test_its_address(house):
    refused = await house.make("a:consumer:c")
    assert (refused.status, refused.json["code"]) == (400, "bad_name")


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
