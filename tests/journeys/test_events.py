"""From a change to whoever reads of it: a real server, a subscription, an inbox."""

from __future__ import annotations

from itertools import islice

from steadhold.sdk import Client
from steadhold.sdk.events import NewEvent
from tests.sdk.site import key, site  # noqa: F401 - fixtures


def test_what_was_subscribed_to_arrives_in_an_inbox_in_order_and_once(site, key):  # noqa: F811 - the fixtures
    with Client(site.url, key.key) as client:
        inbox = client.inboxes["orders"]
        inbox.create()
        client.subscriptions.put("orders", ["order.*", "job.*"], {"inbox": "orders"})
        revision = None
        for n in range(20):
            event = NewEvent(type="order.changed", data={"n": n})
            revision = client.aggregates.append("o", [event], if_revision=revision).revision
        job = client.jobs.submit("report", {"of": "orders"})
        found = list(islice(inbox.follow(), 21))
        orders = [event for event in found if event.aggregate_id == "o"]
        assert [event.aggregate_revision for event in orders] == [*range(1, 21)]
        assert [event.value["n"] for event in orders] == [*range(20)]
        assert [event.type for event in found if event.aggregate_id == f"job:{job.job_id}"] == ["job.accepted"]
        assert [event.event_id for event in orders] == [f"o@{n}" for n in range(1, 21)]
        assert list(client.publications.list("pending")) == []
