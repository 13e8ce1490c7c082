"""A commit that appends events, and one that relies on where an aggregate stands."""

from __future__ import annotations

import pytest

from steadhold.sdk import Client, errors
from steadhold.sdk.events import NewEvent
from tests.sdk.site import key, site  # noqa: F401 - fixtures


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
