"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import get_args

from steadhold.effects import model
from steadhold.effects.model import AT_REST, MOVES, Reason
from steadhold.effects.routes import ROUTES
from steadhold.effects.telling import EVENTS
from steadhold.web.codes import PROBLEMS
from tests.effects.people import DIGEST, Desk

GUIDE = files("steadhold.effects").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_table_of_moves_is_that_of_the_code():
    told = re.findall(r"^\| (\w+) \| (\w+) \| .+ \|$", section("Three states"), re.MULTILINE)
    assert set(told) - {("from", "to")} == {(a, b) for a, ends in (MOVES | AT_REST).items() for b in ends}


def test_every_state_is_in_the_picture():
    picture = re.search(r"```text\n(.*?)```", GUIDE, re.DOTALL)[1]
    assert [state for state in MOVES | AT_REST if not re.search(rf"\b{state}\b", picture)] == []


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems} - {"condition_false", "condition_inexact"}
    flat = " ".join(GUIDE.split())
    assert [code for code in codes if f"`{PROBLEMS[code].status} {code}`" not in flat] == []
    assert codes - PROBLEMS.keys() == set()


def test_every_route_and_scope_is_told():
    told = re.findall(r"^\| `(\w+) ([^?` ]+)[^|]*\| `([^`]+)`", section("Routes"), re.MULTILINE)
    assert set(told) == {(route.method, route.path, route.scope) for route in ROUTES}


def test_every_event_and_reason_is_told():
    assert [name for name in EVENTS.values() if f"`{name}`" not in section("Events and waiting")] == []
    assert [reason for reason in get_args(Reason) if f"`{reason}`" not in section("Facts")] == []


def test_the_bounds_are_those():
    bounds = section("Three states")
    assert f"`answer_within_seconds` ({model.ANSWER_WITHIN_SECONDS:g})" in bounds
    assert f"`settles_within_seconds` ({model.SETTLES_WITHIN_SECONDS / 86_400:g} days)" in bounds
    told = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", section("Planning"), re.MULTILINE))
    assert told["expires_in_seconds"] == f"{model.EXPIRES_IN_SECONDS:g}"
    assert model.ANNOUNCED_EVERY_SECONDS == 86_400


def test_the_program_runs(committed, workspace):
    """What is shown of your own transaction, in one."""
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    program = program.replace("psycopg.connect(dsn) as conn", "conn.transaction()").replace('"acme"', repr(workspace))
    names = {"conn": committed, "digest": DIGEST}
    exec(program, names)
    assert names["outcome"].effect.execution == "planned"
    with committed.transaction():
        assert Desk(committed, workspace).get("charge:order-7").amount == "12.50"
