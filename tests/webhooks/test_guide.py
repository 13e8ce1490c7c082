"""The guide says what is so."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from importlib.resources import files

from steadhold.inboxes.applied_table import TABLES
from steadhold.kit import traces
from steadhold.sdk.webhook import Delivery, Webhook
from steadhold.web.codes import PROBLEMS
from steadhold.webhooks import heading, health, sign
from steadhold.webhooks.model import MOVES
from steadhold.webhooks.routes import ROUTES

GUIDE = files("steadhold.webhooks").joinpath("guide.md").read_text(encoding="utf-8")


def section(title):
    return GUIDE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_code_of_the_routes_is_told():
    codes = {code for route in ROUTES for code in route.problems}
    assert codes == set(re.findall(r"\| `(\w+)` \|", section("What is refused")))
    assert codes <= PROBLEMS.keys()


def test_every_route_and_its_scope_are_told():
    told = re.findall(r"^\| `(\w+) (/v1/[^`?]+)`[^|]*\| `(webhooks:\w+)` \|", section("Routes"), re.MULTILINE)
    assert set(told) == {(route.method, route.path.replace(":uuid", ""), route.scope) for route in ROUTES}


def test_the_states_are_those_of_the_model():
    told = {}
    for row in re.findall(r"^\| \w+ (`\w+` → [^|]*) \|", section("States"), re.MULTILINE):
        state, *to = re.findall(r"`(\w+)`", row)
        told[state] = frozenset(to)
    assert told == {state: to - {state} for state, to in MOVES.items() if to}


def test_the_waits_are_those_that_are_kept():
    units = {"s": 1, "min": 60, "h": 3600}
    told = re.findall(r"(\d+) (s|min|h)\b", section("When it fails").partition("each a fifth")[0])
    assert tuple(float(n) * units[unit] for n, unit in told) == health.RETRY_SECONDS[1:]


def test_the_first_number_is_of_the_attempt_that_waits_for_nothing():
    waits = [float(n) for n in re.search(r"`\[([\d, ]+)\]` are three", section("When it fails"))[1].split(", ")]
    assert len(waits) == 3
    assert [health.next_wait(waits, tries, "d") is None for tries in (1, 2, 3)] == [False, False, True]
    assert abs(health.next_wait(waits, 1, "d") - waits[1]) <= waits[1] * health.JITTER


def test_every_field_that_is_sent_is_told():
    told = set(re.findall(r"^\| `([\w-]+)` \|", section("What is sent"), re.MULTILINE))
    source = files("steadhold.webhooks").joinpath("heading.py").read_text(encoding="utf-8")
    assert told == {
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        traces.HEADER,
        *re.findall(r'"(x-steadhold-[a-z-]+)"', source),
    } - {"x-steadhold-"}
    assert f"up to {heading.FIELDS_MAX}" in section("What is sent")


def test_the_program_of_a_receiver_runs():
    program = re.search(r"```python\n(.*?)```", section("What your receiver must do"), re.DOTALL)[1]
    secret, seen = sign.secret_text(bytes(32)), set()

    def keep(event_id, body):
        new = event_id not in seen
        seen.add(event_id)
        return new

    names = {"secret": secret, "keep": keep}
    exec(program, names)
    now = int(names["webhook"]._now())
    headers = sign.headers([sign.read_secret(secret)], "job:1@1", now, b"{}")
    assert isinstance(names["webhook"], Webhook)
    assert [names["receive"](headers, b"{}") for _ in range(2)] == [202, 200]
    assert names["receive"](headers, b"{ }") == 401


def test_the_program_of_a_handler_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(sqlite3.connect("shop.db")) as conn:
        conn.executescript(TABLES["sqlite"] + "create table orders (id, paid); insert into orders values (7, 0);")
    program = re.findall(r"```python\n(.*?)```", section("What your receiver must do"), re.DOTALL)[1]
    names = {"sqlite3": sqlite3}
    exec(program, names)
    delivery = Delivery("order:7@1", 0, b'{"data": {"id": 7}}')
    assert [names["keep"](delivery).order for _ in range(2)] == ["next", "duplicate"]
