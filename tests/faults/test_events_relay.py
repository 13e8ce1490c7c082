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


def waiting(conn, workspace, aggregates):
    """Let events of aggregates wait for a subscription's target."""
    with conn.transaction():
        events.subscribe(conn, workspace, "s", Spec(("*",), "sink:x"), None)
        for n in range(aggregates):
            events.append(conn, workspace, f"a-{n}", None, [Happened("t")] * EACH)


@pytest.fixture
def full(committed, workspace):
    """A workspace in which events of several aggregates wait."""
    waiting(committed, workspace, AGGREGATES)
    return committed


@pytest.fixture
def one_lane(committed, workspace):
    """One aggregate's alone, so that a relay that is stopped at a point is in the midst of nothing else."""
    waiting(committed, workspace, 1)
    return committed


def begun(dsn, workspace, file, armed=""):
    command = [sys.executable, PROGRAM, dsn, workspace, file, "1"]
    return subprocess.Popen(command, env={**os.environ, "STEADHOLD_FAILPOINTS": armed})


def relay(dsn, workspace, file, at=""):
    moment, _, passes = at.partition(":")
    with begun(dsn, workspace, file, f"{moment}=kill{':' + passes if passes else ''}" if at else "") as process:
        process.wait(120)
    return process


def firsts(file, aggregate):
    """The revisions of an aggregate in the order in which each was published first."""
    told = [line.split() for line in file.read_text().splitlines()]
    return list(dict.fromkeys(int(revision) for name, revision in told if name == aggregate))


@pytest.mark.parametrize("point", POINTS)
def test_a_relay_that_is_killed_loses_nothing(full, dsn, workspace, clock, tmp_path, point):
    file = tmp_path / "published"
    assert relay(dsn, workspace, file, point).returncode == -signal.SIGKILL
    clock.move(relaying.LANE_SECONDS + 1)
    assert relay(dsn, workspace, file).returncode == 0
    for n in range(AGGREGATES):
        assert firsts(file, f"a-{n}") == [*range(1, EACH + 1)]
    with full.transaction():
        assert events.publications(full, workspace, "pending", None, 10) == []


@pytest.mark.parametrize("point", ["relay.lane_held", "relay.claimed", "relay.published"])
def test_a_relay_that_is_stopped_past_its_lease_publishes_nothing_first_that_is_late(
    one_lane, dsn, workspace, clock, tmp_path, point
):
    file = tmp_path / "published"
    with begun(dsn, workspace, file, f"{point}=stop") as old:
        assert os.WIFSTOPPED(os.waitpid(old.pid, os.WUNTRACED)[1])
        clock.move(relaying.LANE_SECONDS + 1)
        with one_lane.transaction():
            events.append(one_lane, workspace, "a-0", EACH, [Happened("t")])
        assert relay(dsn, workspace, file).returncode == 0
        whole = firsts(file, "a-0")
        old.send_signal(signal.SIGCONT)
        assert old.wait(120) == 0
    assert whole == [*range(1, EACH + 2)]
    assert firsts(file, "a-0") == whole
