"""A dispatcher is killed at every point: nothing is lost, and what is told of attempts is true."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections import Counter
from pathlib import Path

import psycopg
import pytest

from steadhold.kit import seal
from steadhold.testing.clock import Clock
from steadhold.webhooks import delivering, heading, plans, replaying, sign
from steadhold.webhooks.connecting import CHECKED_SECONDS_MAX
from steadhold.webhooks.model import LANE_SECONDS, Spec
from tests.faults.postgres import killed_under, postgres  # noqa: F401 - a fixture
from tests.forks import begin
from tests.webhooks.house import BY, event, fan_out, listed
from tests.webhooks.listener import listening

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).with_name("sending.py")
LOADED = ("asyncpg", "steadhold.db.pool", "steadhold.play.single", "steadhold.webhooks.dispatch")
KEY = seal.new_key()
SECRET = sign.secret_text(bytes(range(32)))
EVENTS = 6
POINTS = (
    "fences.grant", "webhooks.begin", "webhooks.secrets", "webhooks.begun", "webhooks.still", "webhooks.looked",
    "webhooks.looked:1", "webhooks.answered", "webhooks.end_attempts", "webhooks.hold_deliveries", "webhooks.move",
    "before_commit:2", "after_commit:2", "after_commit:4", "fences.release",
)  # fmt: skip


def begun(dsn, workspace, at="", action="kill"):
    moment, _, passes = at.partition(":")
    armed = f"{moment}={action}{':' + passes if passes else ''}" if at else ""
    command = [PROGRAM, dsn, workspace, KEY]
    return begin(command, load=LOADED, env={**os.environ, "STEADHOLD_FAILPOINTS": armed})


def dispatch(dsn, workspace, at=""):
    return begun(dsn, workspace, at).wait(120)


def endpoint(conn, workspace, url, **more):
    id = str(uuid.uuid4())
    sealed = seal.read_keys(KEY).seal(SECRET.encode(), heading.of_secret(workspace, id))
    plans.create(conn, workspace, id, Spec(url, ("*",), **more), ((sealed, None),), by=BY)
    return plans.enable(conn, workspace, id, by=BY).endpoint


@pytest.mark.parametrize("point", POINTS)
def test_a_dispatcher_that_is_killed_loses_nothing(committed, dsn, workspace, clock, point):
    with listening() as receiver:
        with committed.transaction():
            made = endpoint(committed, workspace, receiver.url, concurrency=2)
            fan_out(committed, workspace, [event(revision=n) for n in range(1, EVENTS + 1)])
        assert dispatch(dsn, workspace, point) == -signal.SIGKILL
        arrived = len(receiver.seen)
        clock.move(LANE_SECONDS + 1)
        with committed.transaction():
            ended = delivering.lapse(committed, workspace, 100)
        clock.move(10)
        assert dispatch(dsn, workspace) == 0
    with committed.transaction():
        found = [replaying.delivery(committed, workspace, d.id) for d in listed(committed, workspace, made)]
    assert [f.delivery.state for f in found] == ["delivered"] * EVENTS
    assert {fields["webhook-id"] for fields in map(dict, (seen[0] for seen in receiver.seen))} == {
        f"order:1@{n}" for n in range(1, EVENTS + 1)
    }
    states = [attempt.state for each in found for attempt in each.attempts]
    assert states.count("unknown") == ended
    assert len(receiver.seen) <= len(states)
    assert arrived <= EVENTS


def sent(receiver):
    """What arrived, by delivery and attempt."""
    fields = [{name.lower(): value for name, value in seen} for seen, _ in receiver.seen]
    return Counter((told["x-steadhold-delivery-id"], int(told["x-steadhold-attempt"])) for told in fields)


@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies too"])
@pytest.mark.parametrize(
    "point",
    ["before_commit:1", "webhooks.begun", "webhooks.still", "webhooks.looked", "webhooks.answered", "webhooks.move"],
)
def test_postgresql_that_is_killed_under_a_dispatcher_loses_nothing(postgres, point, dies):  # noqa: F811
    """What was sent has its row, and what nobody could write down of it is `unknown`, and tried again."""
    workspace = f"killed-at-{point}-{dies}"
    with listening() as receiver:
        with psycopg.connect(postgres.dsn, autocommit=True) as conn:
            conn.execute("insert into steadhold.workspaces (workspace, created_at) values (%s, now())", [workspace])
            with conn.transaction():
                made = endpoint(conn, workspace, receiver.url, concurrency=2)
                fan_out(conn, workspace, [event(revision=n) for n in range(1, EVENTS + 1)])
        with begun(postgres.dsn, workspace, point, "stop") as stopped:
            killed_under(postgres, stopped)
            stopped.send_signal(signal.SIGKILL if dies else signal.SIGCONT)
            stopped.wait(120)
        with psycopg.connect(postgres.dsn, autocommit=True) as conn:
            clock = Clock(conn)
            clock.move(LANE_SECONDS + 1)
            with conn.transaction():
                delivering.lapse(conn, workspace, 100)
            clock.move(10)
            assert dispatch(postgres.dsn, workspace) == 0
            with conn.transaction():
                found = [replaying.delivery(conn, workspace, d.id) for d in listed(conn, workspace, made)]
    assert [f.delivery.state for f in found] == ["delivered"] * EVENTS
    rows = {(f.delivery.id, attempt.n): attempt.state for f in found for attempt in f.attempts}
    arrived = sent(receiver)
    assert set(arrived.values()) == {1}
    told = Counter(rows[attempt] for attempt in arrived)
    assert (told["delivered"], set(told) - {"delivered", "unknown"}) == (EVENTS, set())
    assert told["unknown"] or not (dies and point in {"webhooks.answered", "webhooks.move"})
    for each in found:  # an attempt that PostgreSQL's end kept from being made is none of the endpoint's
        assert each.delivery.tries == sum(attempt.state != "refused" for attempt in each.attempts)


@pytest.mark.parametrize(
    "point, away_seconds", [("webhooks.begun", 0.0), ("webhooks.looked", CHECKED_SECONDS_MAX + 0.1)]
)
def test_a_dispatcher_that_stood_still_sends_nothing_once_disable_was_answered(
    committed, dsn, workspace, point, away_seconds
):
    """It stands between the row of its attempt and the connection; a look that is not old yet may be that of before."""
    with listening() as receiver:
        with committed.transaction():
            made = endpoint(committed, workspace, receiver.url)
            fan_out(committed, workspace, [event()])
        process = begun(dsn, workspace, point, "stop")
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        with committed.transaction():
            plans.disable(committed, workspace, made.id, by=BY)
        threading.Event().wait(away_seconds)  # so long it stands still
        process.send_signal(signal.SIGCONT)
        assert process.wait(120) == 0
    with committed.transaction():
        (found,) = (replaying.delivery(committed, workspace, d.id) for d in listed(committed, workspace, made))
    assert ([attempt.state for attempt in found.attempts], found.delivery.tries) == (["refused"], 0)
    assert receiver.seen == []
