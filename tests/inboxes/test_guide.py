"""The guide says what is so."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from importlib.resources import files
from types import SimpleNamespace

from steadhold.inboxes.applied_table import TABLES
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
    told = re.findall(
        r"^\| `(\w+) (/v1/[^`?]+)`[^|]*\| (?:`(inboxes:\w+)`|none: [^|]*) \|", section("Routes"), re.MULTILINE
    )
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
        for _run in range(2):  # the second goes on where the first came to
            exec(re.sub(r"with psycopg.*\n", "if True:\n", program).replace('"acme"', repr(workspace)), names)
            assert applied == [1, 2]
        assert door.get_consumer("orders", "billing").position == 2


def test_the_program_that_sends_runs(committed, workspace, dsn):
    program = re.findall(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    with committed.transaction(force_rollback=True):
        Door(committed, workspace).make("orders")
        committed.execute("create temporary table orders on commit drop as select 7 as id, false as paid")
        exec(re.sub(r"with psycopg.*\n", "if True:\n", program).replace('"acme"', repr(workspace)), {"conn": committed})
        assert committed.execute("select target from steadhold.publications").fetchall() == [("inbox:orders",)]


def test_the_program_that_applies_once_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(sqlite3.connect("shop.db")) as shop, shop:
        shop.executescript(TABLES["sqlite"])
        shop.executescript("create table orders (id, paid); insert into orders values ('order:7', 0)")
    program = re.search(r"```python\n(.*?)```", section("Applying once"), re.DOTALL)[1]
    acked = []
    names = {
        "event": SimpleNamespace(
            event_id="e", aggregate_id="order:7", aggregate_revision=1, ack=lambda: acked.append(1)
        )
    }
    for order in ("next", "duplicate"):
        exec(program, names)
        names["shop"].close()
        assert (names["applied"].order, names["applied"].outcome) == (order, {"paid": True})
    with contextlib.closing(sqlite3.connect("shop.db")) as shop:
        assert shop.execute("select paid from orders").fetchall() == [(1,)]
    assert acked == [1, 1]
