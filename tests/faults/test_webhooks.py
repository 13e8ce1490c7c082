"""A dispatcher is killed at every point: nothing is lost, and what is told of attempts is true."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from steadhold.kit import seal
from steadhold.webhooks import delivering, heading, plans, replaying, sign
from steadhold.webhooks.model import LANE_SECONDS, Spec
from tests.webhooks.house import BY, event, fan_out, listed
from tests.webhooks.listener import listening

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).with_name("sending.py")
KEY = seal.new_key()
SECRET = sign.secret_text(bytes(range(32)))
EVENTS = 6
POINTS = (
    "fences.grant", "webhooks.begin", "webhooks.begun", "webhooks.still", "webhooks.answered", "webhooks.end_attempts",
    "webhooks.move", "before_commit:2", "after_commit:2", "after_commit:4",
)  # fmt: skip


def dispatch(dsn, workspace, at=""):
    moment, _, passes = at.partition(":")
    armed = f"{moment}=kill{':' + passes if passes else ''}" if at else ""
    command = [sys.executable, PROGRAM, dsn, workspace, KEY]
    return subprocess.run(command, env={**os.environ, "STEADHOLD_FAILPOINTS": armed}, timeout=120, check=False)


@pytest.mark.parametrize("point", POINTS)
def test_a_dispatcher_that_is_killed_loses_nothing(committed, dsn, workspace, clock, point):
    id = str(uuid.uuid4())
    sealed = seal.read_keys(KEY).seal(SECRET.encode(), heading.of_secret(workspace, id))
    with listening() as receiver:
        with committed.transaction():
            spec = Spec(receiver.url, ("*",), concurrency=2)
            plans.create(committed, workspace, id, spec, ((sealed, None),), by=BY)
            made = plans.enable(committed, workspace, id, by=BY).endpoint
            fan_out(committed, workspace, [event(revision=n) for n in range(1, EVENTS + 1)])
        assert dispatch(dsn, workspace, point).returncode == -signal.SIGKILL
        arrived = len(receiver.seen)
        clock.move(LANE_SECONDS + 1)
        with committed.transaction():
            ended = delivering.lapse(committed, workspace, 100)
        clock.move(10)
        assert dispatch(dsn, workspace).returncode == 0
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
