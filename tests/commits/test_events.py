"""A commit that appends events, and one that relies on where an aggregate stands."""

from __future__ import annotations

import pytest

from steadhold import events
from steadhold.events import Happened
from steadhold.sdk import Client, errors
from steadhold.sdk.events import NewEvent
from tests.commits.desk import put, run
from tests.sdk.site import key, site  # noqa: F401 - fixtures

pytestmark = pytest.mark.races


def append(workspace, expected, type="a"):
    return events.append.call(workspace, "o", expected, [Happened(type)])


def test_what_is_required_of_an_aggregate_stays_so_to_the_commit(explore):
    def relying(scene):
        return run(scene.workspace, [events.require.call(scene.workspace, "o", 1)], [put(scene.workspace, "x")])

    def never_both(scene):
        committed = type(scene.outcomes["relies"]).__name__ == "Committed"
        moved = scene.outcomes["moves"].revision if hasattr(scene.outcomes["moves"], "revision") else None
        seen = scene.outcomes["moves"], scene.outcomes["relies"]
        assert moved == 2, seen
        assert committed or type(scene.outcomes["relies"]).__name__ == "Refused", seen

    seen = explore(
        setup=lambda stage: stage.play(append(stage.workspace, None)),
        actors={"relies": relying, "moves": lambda scene: append(scene.workspace, 1)},
        always=never_both,
    )
    assert seen.waits


def beyond(client):
    with client.commit() as commit:
        commit.require.aggregates.get("o", if_revision=7)
        commit.apply.aggregates.append("q", [NewEvent(type="paid")])


def late(client):
    with client.commit() as commit:
        commit.apply.state.create("other", 1)
        commit.apply.aggregates.append("p", [NewEvent(type="paid")])


def test_events_and_state_together_or_not_at_all(site, key):  # noqa: F811 - the fixtures
    with Client(site.url, key.key) as client:
        made = client.aggregates.append("o", [NewEvent(type="placed")])
        with client.commit() as commit:
            commit.require.aggregates.get("o", if_revision=made.revision)
            told = commit.apply.aggregates.append("p", [NewEvent(type="paid", data=1)], state="paid")
            commit.apply.state.create("total", 1)
        assert told.result.revision == 1
        for refused in (beyond, late):
            with pytest.raises(errors.RevisionConflict):
                refused(client)
        with pytest.raises(errors.NotFound):
            client.state.get("other")
        with pytest.raises(errors.NotFound):
            client.aggregates.get("q")
        assert [event.type for event in client.aggregates.events("p")] == ["paid"]
