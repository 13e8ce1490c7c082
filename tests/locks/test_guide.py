"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files

from steadhold import locks
from steadhold.kit import fields
from steadhold.locks.model import MOVES
from steadhold.locks.routes import ROUTES
from steadhold.sdk import Client
from steadhold.web.codes import PROBLEMS
from tests.sdk.site import key, site  # noqa: F401 - fixtures

GUIDE = files("steadhold.locks").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems}
    assert codes == set(re.findall(r"\| `(\w+)` \|", section("What is refused")))
    assert codes <= PROBLEMS.keys()


def test_every_route_and_its_scope_are_told():
    told = re.findall(r"^\| `(\w+) (/v1/[^`?]+)(?:\?[^`]*)?`[^|]*\| `(locks:\w+)` \|", section("Routes"), re.MULTILINE)
    assert set(told) == {(route.method, route.path, route.scope) for route in ROUTES}


def test_the_states_are_those_of_the_model():
    rows = re.findall(r"^\| \w+ `(\w+)` → `(\w+)`, `(\w+)`", section("States"), re.MULTILINE)
    assert {state: frozenset(to) for state, *to in rows} == {state: to for state, to in MOVES.items() if to}


def test_capabilities_tell_what_a_fence_may_name():
    found = fields.fences('"lock:a";fence=1, "job:a";fence=1, "consumer:a/b";fence=1')
    assert [ref.kind for ref in found] == locks.CAPABILITIES["fences"]


def test_every_event_is_told():
    assert all(f"`lock.{what}`" in section("Events") for what in ("granted", "released", "expired"))


def test_the_program_in_a_transaction_runs(committed, workspace, dsn):
    program = re.search(r"```python\n(.*?)```", section("In your own transaction"), re.DOTALL)[1]
    with committed.transaction():
        names = {"conn": committed}
        exec(re.sub(r"with psycopg.*\n", "if True:\n", program).replace('"acme"', repr(workspace)), names)
        assert isinstance(names["lock"], locks.Granted)


def test_the_program_of_the_sdk_runs(site, key):  # noqa: F811
    program = re.search(r"```python\n(.*?)```", section("From Python"), re.DOTALL)[1]
    with Client(site.url, key.key) as client:
        client.state.create("release", 0)
        for revision in range(1, 7):
            client.state.put("release", revision, if_revision=revision)
        exec(program, {"client": client})
        assert client.state.get("release").value == "v42"
        assert not client.locks.get("deploy").held
