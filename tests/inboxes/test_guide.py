"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold.inboxes.model import MOVES, Start
from steadhold.inboxes.routes import ROUTES
from steadhold.web.codes import PROBLEMS
from tests.inboxes.conftest import Door

GUIDE = files("steadhold.inboxes").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems}
    cells = [line.split("|")[2] for line in section("What is refused").splitlines() if line.startswith("| 4")]
    told = {code for cell in cells for code in re.findall(r"`(\w+)`", cell)}
    assert codes == told
    assert codes <= PROBLEMS.keys()


def test_every_route_and_its_scope_are_told():
    told = re.findall(r"^\| `(\w+) (/v1/[^`?]+)`[^|]*\| `(inboxes:\w+)` \|", section("Routes"), re.MULTILINE)
    assert set(told) == {(route.method, route.path, route.scope) for route in ROUTES}


def test_the_states_are_those_of_the_model():
    rows = re.findall(r"^\| consumer lease `(\w+)` → `(\w+)`, `(\w+)`", section("States"), re.MULTILINE)
    assert {state: frozenset(to) for state, *to in rows} == {state: to for state, to in MOVES.items() if to}


def test_the_program_in_a_transaction_runs(committed, workspace, dsn):
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    door, applied = Door(committed, workspace), []
    with committed.transaction():
        door.make("orders")
        door.add("x", "y", inbox="orders")
        door.put_consumer("orders", "billing", Start("earliest"), None)
        names = {"conn": committed, "apply": lambda _conn, event: applied.append(event.sequence)}
        exec(re.sub(r"with psycopg.*\n", "if True:\n", program).replace('"acme"', repr(workspace)), names)
        assert applied == [1, 2]
        assert door.get_consumer("orders", "billing").position == 2
