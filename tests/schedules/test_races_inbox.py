"""schedules that send to an inbox, under rivals."""

from __future__ import annotations

import json

import pytest

from steadhold import inboxes, schedules
from tests.jobs.racing import preempted
from tests.schedules.sending import HOUR, relay, sends
from tests.schedules.test_races import move, runs, tick

pytestmark = [pytest.mark.races, pytest.mark.usefixtures("clock")]


def test_two_servers_send_an_instant_once(explore):
    def plant(stage):
        stage.play(inboxes.put.call(stage.workspace, "a", inboxes.Retention(), None))
        first = stage.play(schedules.put.call(stage.workspace, "s", sends(), None)).schedule.next_at
        move(stage, first + 2 * HOUR)
        return first

    def check(scene):
        assert [run.outcome for run in runs(scene)] == ["started"] * 3
        relay(scene.play, scene.workspace)
        page = scene.play(inboxes.read.call(scene.workspace, "a"))
        told = [json.loads(event.body)["scheduled_at"] for event in page.events]
        assert (len(told), told) == (3, sorted(set(told)))

    seen = preempted(explore, {"one": tick, "two": tick}, setup=plant, always=check)
    assert len(seen) >= 10


def test_an_inbox_that_is_deleted_while_an_instant_is_recorded(explore):
    """The instant is recorded once: sent, or failed. What was sent to nowhere is asked again, and parked in the end."""

    def plant(stage):
        stage.play(inboxes.put.call(stage.workspace, "a", inboxes.Retention(), None))
        move(stage, stage.play(schedules.put.call(stage.workspace, "s", sends(), None)).schedule.next_at)

    def check(scene):
        (run,) = runs(scene)
        assert (run.outcome, run.reason) in {("started", None), ("failed", "inbox_missing")}

    actors = {"tick": tick, "anna": lambda scene: inboxes.delete.call(scene.workspace, "a", 1)}
    assert len(preempted(explore, actors, setup=plant, always=check)) >= 10


RIVALS = {
    "edit": lambda scene: schedules.put.call(scene.workspace, "s", sends(every_seconds=1_800), 1),
    "pause": lambda scene: schedules.pause.call(scene.workspace, "s"),
    "trigger": lambda scene: schedules.trigger.call(scene.workspace, "s", "by-hand"),
    "backfill": lambda scene: schedules.backfill.call(
        scene.workspace, "s", scene.facts - 2 * HOUR, scene.facts + 9 * HOUR, "again"
    ),
    "delete": lambda scene: schedules.delete.call(scene.workspace, "s", 1),
}


@pytest.mark.parametrize("rival", RIVALS)
def test_whoever_comes_while_it_ticks_each_instant_is_sent_once(explore, rival):
    """Three instants are due when the rival comes: whoever settles them, the inbox has each of them once, in order."""

    def plant(stage):
        stage.play(inboxes.put.call(stage.workspace, "a", inboxes.Retention(), None))
        first = stage.play(schedules.put.call(stage.workspace, "s", sends(), None)).schedule.next_at
        move(stage, first + 2 * HOUR)
        return first

    def check(scene):
        relay(scene.play, scene.workspace)
        told = [json.loads(one.body) for one in scene.play(inboxes.read.call(scene.workspace, "a")).events]
        assert len({one["trigger_id"] for one in told}) == len(told)
        stamps = [one["scheduled_at"] for one in told if one["schedule_id"] == "s"]
        due = [(scene.facts + n * HOUR).isoformat(timespec="microseconds").replace("+00:00", "Z") for n in range(3)]
        assert [stamp for stamp in stamps if stamp in due] == due
        assert len(told) == {"trigger": 4, "backfill": 5}.get(rival, 3)

    assert len(preempted(explore, {"tick": tick, "rival": RIVALS[rival]}, setup=plant, always=check)) >= 8
