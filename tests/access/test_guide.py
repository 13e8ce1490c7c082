"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold.access.loops import DUTIES
from steadhold.access.routes import ROUTES
from steadhold.access.scopes import NARROWED, ONLY, VERBS
from steadhold.access.wire import Limits

GUIDE = files("steadhold.access").joinpath("guide.md").read_text()


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(title):
    rows = [line.strip("|").split("|") for line in section(title).splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row] for row in rows[1:]]


def test_every_scope_stands_there_with_those_whom_it_serves():
    told = {room: verbs.split(" · ") for room, verbs in table("Scopes")}
    for room, verbs in VERBS.items():
        serves = [f"`{v}`" + (f" ({ONLY[f'{room}:{v}']}s only)" if f"{room}:{v}" in ONLY else "") for v in verbs]
        assert told.pop(room) == serves
    assert told == {}


def test_the_rooms_that_are_narrowed_are_told():
    assert f"narrowed by names: {', '.join(sorted(NARROWED))}." in " ".join(section("Scopes").split())


def test_every_door_stands_there_with_its_scope():
    told = {re.match(r"`(\S+ [^\s`]+)", route)[1]: scope.strip("`") for route, scope, _ in table("Routes")}
    assert told == {f"{route.method} {route.path}": route.scope or "any key" for route in ROUTES}


def test_every_entitlement_stands_there():
    assert [row[0].strip("`") for row in table("Entitlements")] == list(Limits.__struct_fields__)


def test_every_problem_of_the_room_stands_there():
    own = {code for route in ROUTES for code in route.problems} - {"bad_name"}
    told = {row[1].strip("`") for row in table("Problems")}
    assert {code for code in own if not code.startswith("condition_")} <= told


def test_every_sweep_is_a_duty():
    assert {duty.name for duty in DUTIES} == {"access.keys", "access.recount"}


def test_the_program_at_the_database_runs(conn, database, workspace, capsys):
    with database.connect() as owner:
        owner.execute("delete from steadhold.workspaces where workspace = %s", (workspace,))
    program = re.search(r"```python\n(.*?)```", section("At the database"), re.DOTALL)[1]
    exec(program.replace('"acme"', repr(workspace)), {"conn": conn})
    assert capsys.readouterr().out.startswith("sh_live_")
