"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold import jobs
from steadhold.jobs import doors
from steadhold.jobs.model import DEFAULTS, MOVES
from steadhold.jobs.routes import ROUTES
from steadhold.web.codes import PROBLEMS

GUIDE = files("steadhold.jobs").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_diagram_is_the_table_of_moves():
    drawn = re.findall(r"^    (\w+) --> (\w+) : (.+)$", GUIDE, re.MULTILINE)
    assert {(a, b): tuple(causes.split(", ")) for a, b, causes in drawn} == dict(MOVES)


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems} - {
        "condition_false",
        "condition_inexact",
        "condition_required",
    }
    told = set(re.findall(r"`(\w+)`", section("What is refused")))
    assert codes - told == set()
    assert codes - PROBLEMS.keys() == set()


def test_every_scope_of_the_routes_is_told():
    assert {route.scope for route in ROUTES} == set(re.findall(r"`(jobs:\w+)` \|", section("Routes")))


def test_every_filter_is_told():
    assert [name for name in doors.FILTERS if f"`{name}`" not in section("Routes")] == []


def test_the_defaults_are_those():
    told = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", section("Admission"), re.MULTILINE))
    assert (told["lease_seconds"], told["attempts_max"]) == (f"{DEFAULTS.lease_seconds:g}", str(DEFAULTS.attempts_max))
    assert f'"base_seconds": {DEFAULTS.retry.base_seconds:g}, "cap_seconds": {DEFAULTS.retry.cap_seconds:g}' in GUIDE


def test_the_program_runs(committed, workspace):
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    names = {"conn": committed}
    exec(program.replace('"acme"', repr(workspace)), names)
    with committed.transaction():
        assert jobs.get(committed, workspace, names["job"].id).state == "completed"
