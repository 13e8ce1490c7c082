"""The checker finds each breach that it is there for."""

from __future__ import annotations

import copy

import pytest

from tests.faults.history import History, Row

GOOD = History(
    {"j": Row(3, 6, 2, 7, b'["t0","t1"]', None)},
    {
        "j": [
            (1, "accepted", {}),
            (2, "running", {"cause": "claim", "fence": 1}),
            (3, "checkpointed", {"stage": "s0", "fence": 1}),
            (4, "accepted", {"cause": "lapse", "fence": 1}),
            (5, "running", {"cause": "claim", "fence": 2}),
            (6, "checkpointed", {"stage": "s1", "fence": 2}),
            (7, "completed", {"cause": "completed", "fence": 2}),
        ]
    },
    {"j": {"s0": (1, "t0"), "s1": (2, "t1")}},
    [
        {"what": "act", "n": 7, "stage": 0, "fence": 1, "token": "t0"},
        {"what": "act", "n": 7, "stage": 1, "fence": 1, "token": "lost"},
        {"what": "seen", "n": 7, "stage": 0, "fence": 2, "token": "t0"},
        {"what": "act", "n": 7, "stage": 1, "fence": 2, "token": "t1"},
        {"what": "seen", "n": 7, "stage": 1, "fence": 2, "token": "t1"},
    ],
)
GOOD.rows["j"].revision = 7


def event(at, what=None, **data):
    def change(history):
        revision, before, facts = history.events["j"][at]
        history.events["j"][at] = (revision, what or before, {**facts, **data})

    return change


def twice(history):
    history.events["j"].append((8, "completed", {"fence": 2}))
    history.rows["j"].revision = 8


def noted(what, **facts):
    return lambda history: history.notes.append({"what": what, "n": 7, "stage": 0, "fence": 2, "token": "t0", **facts})


BREACHES = {
    "an event is missing": (lambda history: history.events["j"].pop(2), "its events are"),
    "it ended twice": (twice, "it ended ['completed', 'completed']"),
    "it never ended": (lambda history: history.events["j"].pop(), "it ended []"),
    "its row says something else": (lambda history: setattr(history.rows["j"], "state", 4), "its state is 4"),
    "no such edge": (event(3, "running", fence=3), "it went from running to running"),
    "a fence that fell": (event(4, fence=1), "it became running by fence 1 under 1"),
    "an end by an old owner": (event(6, fence=1), "it became completed by fence 1 under 2"),
    "a stage by an old owner": (event(5, fence=1), "stage s1 came under fence 1 while running under 2"),
    "a stage between owners": (event(5, stage="s1", fence=3), "stage s1 came under fence 3"),
    "another fence in its row": (lambda history: setattr(history.rows["j"], "fence", 3), "its row has fence 3"),
    "a stage that was replaced": (lambda history: history.stages["j"].update(s0=(2, "other")), "its result is"),
    "a stage that was read otherwise": (noted("seen", token="other"), "was seen"),
    "a stage that was lost": (noted("seen", stage=2), "None is kept"),
    "a stage that was done again": (noted("act", token="again"), "acted again"),
}


def test_a_good_history_has_no_faults():
    assert list(GOOD.faults()) == []
    assert (GOOD.count("running"), GOOD.count("accepted", "lapse")) == (2, 1)


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_found(name):
    history = copy.deepcopy(GOOD)
    breach, says = BREACHES[name]
    breach(history)
    assert any(says in fault for fault in history.faults()), list(history.faults())
