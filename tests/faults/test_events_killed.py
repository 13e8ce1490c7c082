"""A server, and PostgreSQL itself, killed at each point of the way from a change to an inbox: all arrives, once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from steadhold import events, inboxes
from steadhold.events import Happened, Spec, relaying
from steadhold.kit.failpoints import VARIABLE
from tests.faults.postgres import killed_under, postgres  # noqa: F401 - a fixture
from tests.faults.servers import Server, house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).with_name("publishing.py")
AGGREGATES, EACH = 5, 4
ALL = AGGREGATES * EACH
ON_THE_WAY = (
    "events.unmatched", "events.publish", "events.matched", "fences.grant", "relay.lane_held", "events.ready",
    "inboxes.append", "events.published", "events.ended", "fences.release",
)  # fmt: skip


def happen(conn, workspace):
    with conn.transaction():
        for n in range(AGGREGATES):
            events.append(conn, workspace, f"a-{n}", None, [Happened("t")] * EACH)


def subscribed(conn, workspace, **targets):
    with conn.transaction():
        inboxes.put(conn, workspace, "x", inboxes.Retention(), None)
        for id, target in targets.items():
            events.subscribe(conn, workspace, id, Spec(("t",), target), None)


def arrived(conn, workspace):
    """What an inbox holds: numbers, and of each aggregate its revisions in the order of their numbers."""
    with conn.transaction():
        page = inboxes.read(conn, workspace, "x", limit=500)
    found = [(event.envelope.aggregate_id, event.envelope.aggregate_revision) for event in page.events]
    assert [event.sequence for event in page.events] == [*range(1, len(found) + 1)]
    assert page.gaps == ()
    return {f"a-{n}": [revision for id, revision in found if id == f"a-{n}"] for n in range(AGGREGATES)}


WHOLE = {f"a-{n}": [*range(1, EACH + 1)] for n in range(AGGREGATES)}


@pytest.mark.parametrize("point", ON_THE_WAY)
def test_a_server_that_is_killed_loses_nothing_and_repeats_nothing(house, place, key, point):  # noqa: F811
    with house.enter(place) as conn:
        subscribed(conn, place, i="inbox:x")
        killed = Server(house.dsn, failpoints=f"{point}=kill")
        try:
            happen(conn, place)
            killed.died()
        finally:
            killed.close()
        house.clock.move(relaying.LANE_SECONDS + 1)
        with server(house.dsn) as other, other.client(key) as client:
            last = 0
            while last < ALL:
                last = client.get(
                    "/v1/inboxes/x/events", params={"wait_seconds": 30, "after": last, "epoch": epoch(client)}
                )
                last = last.json()["last_sequence"]
        assert arrived(conn, place) == WHOLE
    house.clock.reset()


def epoch(client):
    return client.get("/v1/inboxes/x").json()["epoch"]


def relay(dsn, workspace, file, armed=""):
    command = [sys.executable, PROGRAM, dsn, workspace, file, "1"]
    return subprocess.Popen(command, env={**os.environ, VARIABLE: armed})


@pytest.mark.parametrize("point", [*ON_THE_WAY, "relay.claimed", "relay.published"])
def test_postgresql_that_is_killed_loses_nothing(postgres, tmp_path, point):  # noqa: F811
    file = tmp_path / "published"
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        workspace = f"killed-at-{point}"
        conn.execute("insert into steadhold.workspaces (workspace, created_at) values (%s, now())", [workspace])
        subscribed(conn, workspace, i="inbox:x", s="sink:x")
        happen(conn, workspace)
    with relay(postgres.dsn, workspace, file, f"{point}=stop") as stopped:
        killed_under(postgres, stopped)
        stopped.send_signal(signal.SIGCONT)
        stopped.wait(120)
    with psycopg.connect(postgres.dsn, autocommit=True) as conn:
        conn.execute(
            "update steadhold.grants set until = until - interval '1 hour' where starts_with(subject, 'lane:')"
        )
        with relay(postgres.dsn, workspace, file) as again:
            assert again.wait(120) == 0
        assert arrived(conn, workspace) == WHOLE
        with conn.transaction():
            for state in ("pending", "blocked", "parked"):
                assert events.publications(conn, workspace, state, None, 10) == []
    told = [line.split() for line in file.read_text().splitlines()]
    for n in range(AGGREGATES):
        assert [*dict.fromkeys(int(r) for id, r in told if id == f"a-{n}")] == [*range(1, EACH + 1)]
