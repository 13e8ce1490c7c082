"""The guide says what is so."""

from __future__ import annotations

import inspect
import re
from importlib.resources import files
from typing import get_args

from steadhold.approvals import verdicts
from steadhold.approvals.model import MOVES, STATES, USABLE_SECONDS, WHOEVER_VOTES, Reason
from steadhold.approvals.routes import ROUTES
from steadhold.web.codes import PROBLEMS
from tests.approvals.people import ONE, Desk

GUIDE = files("steadhold.approvals").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_diagram_is_the_table_of_moves():
    drawn = re.findall(r"^ +(\w+) --> (\w+) :", GUIDE, re.MULTILINE)
    assert {(a, b) for a, b in drawn} == {(a, b) for a, ends in MOVES.items() for b in ends}


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems}
    common = {"condition_false", "condition_inexact", "stale_fence", "bad_scope"}
    assert [code for code in codes - common if f"`409 {code}`" not in GUIDE and f" {code}`" not in GUIDE] == []
    assert codes - PROBLEMS.keys() == set()


def test_every_route_and_scope_is_told():
    told = re.findall(r"^\| `(\w+) ([^?` ]+)", section("Routes"), re.MULTILINE)
    assert set(told) == {(route.method, route.path.replace(":uuid", "")) for route in ROUTES}
    assert [route.scope for route in ROUTES if f"`{route.scope}`" not in GUIDE and route.scope] == []


def test_every_state_and_reason_is_told():
    told = section("Using")
    assert [reason for reason in get_args(Reason) if f"`{reason}`" not in told] == []
    assert [state for state in STATES if f"approval.{state}" not in section("Events and waiting")] == ["pending"]


def test_the_defaults_are_those():
    told = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", section("Asking"), re.MULTILINE))
    assert (told["approvers"], told["usable_seconds"]) == (f'`"{WHOEVER_VOTES}"`', f"{USABLE_SECONDS:g}")
    assert (told["quorum"], told["note"], told["allow_requester"]) == ("1", "none", "false")


def test_the_order_of_refusals_is_that_of_the_code():
    """The numbered list under Deciding, against the order in which a vote is decided."""
    code = inspect.getsource(verdicts.voted)
    order = ["not_approver(row", "repeated=True", "ApprovalEnded(", "ArtifactMismatch(", "AlreadyVoted("]
    places = [code.index(word) for word in order]
    assert places == sorted(places)
    numbered = re.findall(r"^\d\. (.+)$", section("Deciding"), re.MULTILINE)
    words = ["not_approver", "same vote", "approval_ended", "artifact_mismatch", "already_voted"]
    assert [word in line for word, line in zip(words, numbered, strict=True)] == [True] * 5


def test_the_program_runs(committed, workspace):
    """What is shown of your own transaction, in one."""
    desk = Desk(committed, workspace)
    with committed.transaction():
        id = desk.approved()
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    program = program.replace("psycopg.connect(dsn) as conn", "conn.transaction()").replace('"acme"', repr(workspace))
    names = {"conn": committed, "id": id, "artifact": ONE}
    exec(program, names)
    assert names["outcome"].approval.grant == "used"
    with committed.transaction():
        assert desk.state(id) == ("approved", "used")
