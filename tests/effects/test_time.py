"""effects when nobody does anything: each bound acts, and decides nothing that only a fact can."""

from __future__ import annotations

import pytest

from steadhold.effects import MoveNotPermitted

DAY = 86_400


def test_what_was_not_begun_in_time_is_abandoned(desk, clock):
    id = desk.planned(expires_in_seconds=60)
    clock.move(59)
    assert desk.sweep() == 0
    clock.move(2)
    assert desk.begin(id) == MoveNotPermitted(id, "abandoned", "initiated")
    assert desk.told(id) == ["planned"]
    assert desk.sweep() == 1
    assert desk.stands(id) == ("abandoned", "none", "not_needed")
    assert desk.history(id, 0, 9)[-1].because == "expired"
    assert desk.sweep() == 0


def test_a_plan_stands_a_day(desk, clock):
    id = desk.planned()
    clock.move(DAY - 1)
    assert desk.sweep() == 0
    clock.move(2)
    assert (desk.sweep(), desk.stands(id)[0]) == (1, "abandoned")


@pytest.mark.parametrize(("asked", "bound"), [({}, 300), ({"answer_within_seconds": 5}, 5)])
def test_without_an_answer_it_is_unknown_and_somebody_has_to_look(desk, clock, asked, bound):
    id = desk.planned()
    desk.begin(id, **asked)
    clock.move(bound - 1)
    assert desk.sweep() == 0
    clock.move(2)
    assert desk.sweep() == 1
    assert desk.stands(id) == ("unknown", "none", "needed")
    assert desk.told(id)[2:] == ["unknown", "reconciliation_needed"]
    assert [line.actor for line in desk.history(id, 0, 9)][2:] == ["steadhold"] * 2


def test_an_answer_past_its_bound_counts(desk, clock):
    id = desk.begun()
    clock.move(301)
    desk.say(id, "succeeded")
    assert (desk.sweep(), desk.stands(id)) == (0, ("succeeded", "none", "not_needed"))


@pytest.mark.parametrize(("asked", "bound"), [({}, 30 * DAY), ({"settles_within_seconds": 60}, 60)])
@pytest.mark.parametrize("path", [["pending"], ["pending", "disputed"]])
def test_a_settlement_that_is_overdue_is_looked_at_and_nothing_else(desk, clock, path, asked, bound):
    id = desk.ended("succeeded")
    for to in path:
        desk.pays(id, to, **asked)
    clock.move(bound - 1)
    assert desk.sweep() == 0
    clock.move(2)
    assert desk.sweep() == 1
    assert desk.stands(id) == ("succeeded", path[-1], "needed")
    assert desk.get(id).reasons == ("settlement_overdue",)
    assert desk.sweep() == 0
    assert desk.get(id).settles_by is None
    desk.pays(id, "settled")
    assert desk.stands(id) == ("succeeded", "settled", "needed")
    assert desk.finds(id, "succeeded").effect.open is False


def test_whoever_has_to_look_is_reminded_each_day_and_nothing_is_decided(desk, clock):
    id = desk.ended("unknown")
    for day in range(1, 4):
        clock.move(DAY - 1)
        assert desk.sweep() == 0
        clock.move(2)
        assert desk.sweep() == 1
        assert desk.stands(id) == ("unknown", "none", "needed")
        assert desk.told(id)[3:] == ["reconciliation_needed"] * (day + 1)
    assert len(desk.lines(id)) == 4
    desk.finds(id, "failed")
    clock.move(2 * DAY)
    assert desk.sweep() == 0


def test_an_outcome_leaves_other_reasons(desk, clock):
    """An overdue settlement of what was unknown, too: the answer is one thing, the money another."""
    id = desk.begun(repeatable=True)
    desk.pays(id, "pending", settles_within_seconds=10)
    desk.say(id, "unknown")
    clock.move(11)
    assert desk.sweep() == 1
    assert desk.get(id).reasons == ("unknown_outcome", "settlement_overdue")
    desk.say(id, "succeeded")
    assert (desk.stands(id), desk.get(id).reasons) == (("succeeded", "pending", "needed"), ("settlement_overdue",))


def test_those_that_wait_longest_come_first(desk, clock):
    ids = []
    for _ in range(3):
        ids.append(desk.ended("unknown"))
        clock.move(1)
    assert [found.id for found in desk.effects("needed", None, 10)] == ids
    first = desk.effects("needed", None, 1)[0]
    assert [found.id for found in desk.effects("needed", (first.needed_since, first.id), 10)] == ids[1:]
    assert [found.id for found in desk.effects(None, None, 10)] == ids[::-1]


@pytest.mark.parametrize("begun", [False, True])
def test_what_is_due_is_told_to_the_house(database, workspace, clock, begun):
    from tests.effects.people import Desk

    with database.enter(workspace) as conn:
        desk = Desk(conn, workspace)
        with conn.transaction():
            _ = desk.begun() if begun else desk.planned()
        due = "select duty from steadhold.due() where workspace = %s and duty = 'effects.time'"
        assert conn.execute(due, [workspace]).fetchall() == []
        clock.move(DAY + 1)
        assert conn.execute(due, [workspace]).fetchall() == [("effects.time",)]
