"""A relay is killed at every point: nothing is lost or altered, and first publications are in order."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from steadhold import events
from steadhold.events import Happened, Spec, relaying
from tests.forks import begin

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).with_name("publishing.py")
LOADED = ("steadhold.inboxes", "steadhold.db.pool", "steadhold.events.loops", "steadhold.play.single")
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


def begun(dsn, workspace, file, armed=""):
    command = [PROGRAM, dsn, workspace, file, "1"]
    return begin(command, load=LOADED, env={**os.environ, "STEADHOLD_FAILPOINTS": armed})


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
    full, dsn, workspace, clock, tmp_path, point
):
    file = tmp_path / "published"
    with begun(dsn, workspace, file, f"{point}=stop") as old:
        assert os.WIFSTOPPED(os.waitpid(old.pid, os.WUNTRACED)[1])
        clock.move(relaying.LANE_SECONDS + 1)
        with full.transaction():
            for n in range(AGGREGATES):
                events.append(full, workspace, f"a-{n}", EACH, [Happened("t")])
        assert relay(dsn, workspace, file).returncode == 0
        whole = [firsts(file, f"a-{n}") for n in range(AGGREGATES)]
        old.send_signal(signal.SIGCONT)
        assert old.wait(120) == 0
    assert whole == [[*range(1, EACH + 2)]] * AGGREGATES
    assert [firsts(file, f"a-{n}") for n in range(AGGREGATES)] == whole
