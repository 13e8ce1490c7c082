"""jobs that wait for an inbox: whatever brings the event wakes them; what cannot be told ends the wait, and says so."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from steadhold import inboxes
from steadhold.inboxes.items import Envelope, item
from steadhold.jobs import InboxEvent, Match, NothingToAwait, Wait, sweeping
from steadhold.jobs.watching import AT_ONCE
from steadhold.worker.verdicts import StageFault
from steadhold.worker.waits import awaiting, behind
from tests.inboxes.conftest import Door, restored
from tests.jobs.racing import FAR


@pytest.fixture
def box(conn, workspace):
    """An inbox `a` on the connection of the desk."""
    found = Door(conn, workspace)
    found.make()
    return found


def attend(desk):
    return sweeping.attend(desk.conn, desk.workspace, 10)


def waits(desk, box, after=0, match=None, until=FAR, epoch=None):
    job = desk.running()
    awaited = InboxEvent("a", epoch or box.epoch(), after, match)
    settled = desk.said(job, Wait("go", awaited, until))
    assert settled.state == "waiting"
    return job


def told(desk, id):
    return json.loads(desk.checkpoint_of(id, "go").result)


def event(key, type="t", **more):
    return item(key, Envelope(type, **more), b"1")


def watched(desk):
    found = desk.conn.execute("select inbox, seen from steadhold.inbox_watches").fetchall()
    return dict(found)


def test_an_event_wakes_whoever_waits(desk, box):
    job = waits(desk, box)
    assert (attend(desk), desk.state(job.id)) == (0, "waiting")
    (placed,) = box.add("k")
    assert attend(desk) == 1
    assert desk.state(job.id) == "accepted"
    assert told(desk, job.id) == {
        "why": "happened", "inbox": "a", "state": "event", "epoch": box.epoch(), "sequence": 1,
        "event_id": placed.event_id, "type": "t",
    }  # fmt: skip
    assert (attend(desk), watched(desk)) == (0, {})


@pytest.mark.parametrize("source", ["client", "relay", "door"])
def test_whatever_brings_it(desk, box, source):
    job = waits(desk, box)
    box.append("a", [event("k", source=source)])
    assert (attend(desk), desk.state(job.id)) == (1, "accepted")


def test_what_is_there_already_answers_at_once(desk, box):
    box.fill(3)
    job = desk.running()
    settled = desk.said(job, Wait("go", InboxEvent("a", box.epoch(), 1), FAR))
    assert settled.state == "running"
    assert json.loads(settled.woke) == told(desk, job.id)
    assert told(desk, job.id)["sequence"] == 2
    assert watched(desk) == {}


def test_one_that_matches(desk, box):
    match = Match(type="paid", correlation_id="7")
    job = waits(desk, box, match=match)
    box.append("a", [event("1", "paid"), event("2", "sent", correlation_id="7")])
    assert (attend(desk), desk.state(job.id), watched(desk)) == (1, "waiting", {"a": 2})
    assert attend(desk) == 0
    box.append("a", [event("3", "paid", correlation_id="7")])
    assert (attend(desk), told(desk, job.id)["sequence"]) == (1, 3)


def test_a_long_backlog_is_gone_through_in_parts(desk, box):
    """No settlement and no pass reads all of it; what is behind it is found all the same."""
    box.append("a", [event(str(n)) for n in range(AT_ONCE)])
    box.append("a", [event(f"{n}-") for n in range(AT_ONCE)])
    job = waits(desk, box, match=Match(type="paid"))
    assert watched(desk) == {"a": AT_ONCE}
    box.append("a", [event("paid", "paid")])
    assert (attend(desk), desk.state(job.id), watched(desk)) == (1, "waiting", {"a": 2 * AT_ONCE})
    assert (attend(desk), told(desk, job.id)["sequence"]) == (1, 2 * AT_ONCE + 1)


def test_what_was_removed_is_told(desk, box):
    box.put("a", inboxes.Retention(None, 1, None), box.get("a").revision)
    job = waits(desk, box, match=Match(type="paid"))
    box.fill(3)
    box.sweep()
    assert attend(desk) == 1
    said_of_it = {"why": "happened", "inbox": "a", "state": "gap", "epoch": box.epoch(), "from": 1, "to": 2}
    assert told(desk, job.id) == said_of_it


def test_a_deleted_inbox_ends_the_wait(desk, box):
    job = waits(desk, box)
    box.delete("a", box.get("a").revision)
    assert (attend(desk), told(desk, job.id)) == (1, {"why": "happened", "inbox": "a", "state": "deleted"})
    assert desk.said(desk.running(), Wait("go", InboxEvent("a", "e", 0), FAR)) == NothingToAwait("inbox:a")


def test_one_made_again_under_its_name_is_another(desk, box):
    job, epoch = waits(desk, box), box.epoch()
    box.delete("a", box.get("a").revision)
    box.make()
    assert (attend(desk), told(desk, job.id)["state"]) == (1, "restored")
    assert told(desk, job.id)["epoch"] == box.epoch() != epoch


def test_another_epoch_ends_the_wait(desk, box):
    job = waits(desk, box)
    restored(desk.conn)
    assert (attend(desk), told(desk, job.id)["state"]) == (1, "restored")


def test_its_bound(desk, box, clock):
    job = waits(desk, box, until=clock.now() + timedelta(seconds=10))
    clock.move(11)
    assert (attend(desk), desk.wake(10)) == (0, 1)
    assert told(desk, job.id) == {"why": "timed_out"}
    box.add("k")
    assert (attend(desk), watched(desk)) == (1, {})


def test_an_event_that_came_before_the_bound_is_told_though_nobody_looked(desk, box, clock):
    job = waits(desk, box, until=clock.now() + timedelta(seconds=10))
    box.add("k")
    clock.move(11)
    assert (desk.wake(10), told(desk, job.id)["state"]) == (1, "event")


def test_each_looks_as_far_as_it_has_read(desk, box):
    box.fill(5)
    ahead, behind_all = waits(desk, box, after=7), waits(desk, box, after=5)
    assert watched(desk) == {"a": 5}
    box.add("x", "y")
    assert attend(desk) == 1
    assert (desk.state(ahead.id), desk.state(behind_all.id), watched(desk)) == ("waiting", "accepted", {"a": 7})
    box.add("z")
    attend(desk)
    assert told(desk, ahead.id)["sequence"] == 8


def test_who_waits_further_on_hides_nobody(desk, box):
    box.fill(2)
    behind_all, ahead = waits(desk, box, after=2), waits(desk, box, after=3)
    assert watched(desk) == {"a": 2}
    box.add("x")
    attend(desk)
    assert (desk.state(behind_all.id), desk.state(ahead.id)) == ("accepted", "waiting")


def test_a_cancelled_wait_leaves_nothing(desk, box):
    job = waits(desk, box)
    desk.cancel(job.id, "anna")
    box.add("k")
    assert (attend(desk), watched(desk), desk.state(job.id)) == (1, {}, "cancelled")


def test_a_watch_of_an_idle_inbox_goes_with_who_waited(desk, box, clock):
    """Nothing happens to the inbox any more, and nobody waits: it is looked at no longer at each tick."""
    job, other = waits(desk, box), waits(desk, box)
    desk.cancel(job.id, "anna")
    clock.move(900)
    assert (attend(desk), watched(desk)) == (1, {"a": 0})
    desk.cancel(other.id, "anna")
    assert attend(desk) == 0
    clock.move(900)
    assert (attend(desk), watched(desk), attend(desk)) == (1, {}, 0)


def test_the_tick_is_told(desk, box):
    def due():
        found = desk.conn.execute("select duty from steadhold.due() where workspace = %s", [desk.workspace]).fetchall()
        desk.conn.execute("set role steadhold_app")
        return "jobs.inboxes" in [duty for (duty,) in found]

    waits(desk, box)
    assert not due()
    box.add("k")
    assert due()
    attend(desk)
    assert not due()


def test_an_append_does_nothing_for_whoever_waits(desk, box):
    """Its plan is the same, and writes no row of waits or watches."""
    waits(desk, box)
    before = desk.conn.execute("select seen, xmin::text from steadhold.inbox_watches").fetchall()
    box.fill(3)
    assert desk.conn.execute("select seen, xmin::text from steadhold.inbox_watches").fetchall() == before
    assert desk.conn.execute("select happened from steadhold.waits").fetchall() == [(False,)]


def test_what_a_handler_may_wait_for():
    assert awaiting("go", None, None, None, FAR, None, behind("a", ("e", 3), {"type": "t"})) == Wait(
        "go", InboxEvent("a", "e", 3, Match(type="t")), FAR
    )
    for wrong in (("a", None, None), (None, ("e", 3), None), ("a", ("e", -1), None), ("a", ("e", 3), {"data": "x"})):
        with pytest.raises(StageFault, match="wait_for"):
            behind(*wrong)
    with pytest.raises(StageFault, match="exactly one"):
        awaiting("go", "ready", None, None, FAR, None, behind("a", ("e", 3), None))


async def test_over_http(house):
    job = await house.claimed()

    async def asked(**awaited):
        body = {"state": "waiting", "stage": "go", "until": "2999-01-01T00:00:00Z", "for": awaited}
        return await house.settled(job, **body)

    place = {"epoch": "e", "sequence": 0}
    lacks = await asked(inbox="a", after=place)
    assert (lacks.status, lacks.json["code"]) == (403, "missing_scope")
    await house.enter(("jobs:*", "inboxes:read:a"))
    none = await asked(inbox="a", after=place)
    assert (none.status, none.json["code"]) == (422, "unknown_subject")
    for wrong in ({"inbox": "a"}, {"signal": "x", "after": place}, {"inbox": "a", "after": {"epoch": "e"}}):
        refused = await asked(**wrong)
        assert (refused.status, refused.json["code"]) == (400, "bad_member")
    await house.player.play(inboxes.put.call(house.workspace, "a", inboxes.Retention(), None))
    epoch = (await house.player.play(inboxes.get.call(house.workspace, "a"))).epoch
    awaited = {"inbox": "a", "after": {"epoch": epoch, "sequence": 0}, "match": {"type": "paid"}}
    assert (await asked(**awaited)).json["state"] == "waiting"
    shown = (await house("GET", f"/v1/jobs/{job['job_id']}")).json["waiting"]
    assert shown["for"] == awaited
