"""A relay is killed at every point: nothing is lost or altered, and first publications are in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from steadhold import events
from steadhold.events import Happened, Spec, relaying

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).with_name("publishing.py")
POINTS = (
    "events.unmatched", "events.publish", "events.matched", "fences.grant", "relay.lane_held", "events.ready",
    "relay.claimed", "relay.published", "events.published", "events.ended", "fences.release", "before_commit:3",
    "after_commit:5",
)  # fmt: skip
AGGREGATES, EACH = 5, 4


@pytest.fixture
def full(committed, workspace):
    """A workspace in which events wait for a subscription's target."""
    with committed.transaction():
        events.subscribe(committed, workspace, "s", Spec(("*",), "sink:x"), None)
        for n in range(AGGREGATES):
            events.append(committed, workspace, f"a-{n}", None, [Happened("t")] * EACH)
    return committed


def relay(dsn, workspace, file, at=""):
    moment, _, passes = at.partition(":")
    armed = f"{moment}=kill{':' + passes if passes else ''}" if at else ""
    command = [sys.executable, PROGRAM, dsn, workspace, file, "1"]
    return subprocess.run(command, env={**os.environ, "STEADHOLD_FAILPOINTS": armed}, timeout=120, check=False)


@pytest.mark.parametrize("point", POINTS)
def test_a_relay_that_is_killed_loses_nothing(full, dsn, workspace, clock, tmp_path, point):
    file = tmp_path / "published"
    assert relay(dsn, workspace, file, point).returncode == -signal.SIGKILL
    clock.move(relaying.LANE_SECONDS + 1)
    assert relay(dsn, workspace, file).returncode == 0
    told = [line.split() for line in file.read_text().splitlines()]
    for n in range(AGGREGATES):
        came = [int(revision) for aggregate, revision in told if aggregate == f"a-{n}"]
        assert list(dict.fromkeys(came)) == [*range(1, EACH + 1)]
    with full.transaction():
        assert events.publications(full, workspace, "pending", None, 10) == []
