"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import get_args

from steadhold import schedules
from steadhold.schedules import model
from steadhold.schedules.routes import ROUTES
from steadhold.schedules.telling import CHANGES, NAMES
from steadhold.schedules.wire import Missed, SpecBody
from steadhold.web.codes import PROBLEMS

GUIDE = files("steadhold.schedules").joinpath("guide.md").read_text(encoding="utf-8")
SHARED = {"condition_false", "condition_inexact", "condition_required"}


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_column(title):
    return re.findall(r"^\| `(\w+)` \|", section(title), re.MULTILINE)


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems} - SHARED
    assert codes - set(re.findall(r"`(\w+)` \|", section("What is refused"))) == set()
    assert codes - PROBLEMS.keys() == set()


def test_every_scope_of_the_routes_is_told():
    assert {route.scope for route in ROUTES} == set(re.findall(r"`(schedules:\w+)` \|", section("Routes")))


def test_every_member_is_told_with_its_default():
    told = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\|([^|]+)\|", section("A schedule is"), re.MULTILINE))))
    assert told == set(SpecBody.__struct_fields__)
    late = (
        f'"policy": "{Missed().policy}", "window_seconds": {Missed().window_seconds}, "max_runs": {Missed().max_runs}'
    )
    assert late in section("A schedule is")


def test_every_outcome_and_reason_is_told():
    told = first_column("A run is")
    assert set(told) - {"reason"} == {*get_args(model.Outcome), *get_args(model.Reason)}


def test_every_event_is_told():
    assert [name for name in (*NAMES, *CHANGES) if f"`{name}`" not in section("Events")] == []


def test_every_state_that_is_not_terminal_has_its_sweep():
    rows = re.findall(r"^\| (schedule with a next instant|run `waiting`.*?) \|.*\| (.+) \|$", GUIDE, re.MULTILINE)
    assert [sweep for _, sweep in rows] == ["`instants`", "jobs: `deadlines`"]


def test_the_program_runs(committed, workspace):
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    names = {"conn": committed}
    exec(program.replace('"acme"', repr(workspace)), names)
    with committed.transaction():
        assert schedules.get(committed, workspace, "nightly") == names["made"].schedule
