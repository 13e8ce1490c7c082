"""Acknowledge, write, append and finish: together, or not at all."""

from __future__ import annotations

import pytest

from steadhold.sdk import Client
from steadhold.sdk.errors import BeyondHead, NotFound, OperationMismatch, StaleFence
from tests.sdk.site import key, site  # noqa: F401 - fixtures


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        yield made


@pytest.fixture
def work(client):
    """An event to be handled, a job that handles it, and an inbox for what comes of it."""
    for name in ("orders", "invoices"):
        client.inboxes[name].create()
    client.inboxes["orders"].append("order.paid", {"n": 7}, key="order-7")
    client.inboxes["orders"].consumer("billing").create()
    client.jobs.put_type("bill", {})
    client.jobs.submit("bill")
    (job,) = client.jobs.claim("w", ["bill"])
    return job


def handled(client, job, sequence=1):
    epoch = client.inboxes["orders"].get().epoch
    with client.commit() as commit:
        done = commit.apply.jobs.complete(job.job_id, job.fence, {"ok": True})
        sent = commit.apply.inboxes["invoices"].append("invoice.made", {"n": 7}, key="invoice-7")
        commit.apply.state.create("invoice/7", 7)
        acked = commit.apply.inboxes["orders"].consumer("billing").acknowledge(epoch, sequence)
    return done.result, sent.result, acked.result


def stands(client):
    boxes = client.inboxes
    return boxes["orders"].consumer("billing").get().position, boxes["invoices"].get().last_sequence


def test_all_of_it_happens(client, work):
    done, sent, acked = handled(client, work)
    assert (done.state, sent.sequence, acked.position) == ("completed", 1, 1)
    assert stands(client) == (1, 1)
    assert client.inboxes["invoices"].read().events[0].value == {"n": 7}
    assert client.state.get("invoice/7").value == 7


def test_or_nothing(client, work):
    with pytest.raises(BeyondHead) as refused:
        handled(client, work, sequence=2)
    assert (refused.value.extras["list"], refused.value.extras["index"]) == ("apply", 3)
    assert stands(client) == (0, 0)
    client.inboxes["invoices"].append("invoice.made", {"n": 8}, key="invoice-7")
    with pytest.raises(OperationMismatch):
        handled(client, work)
    assert stands(client) == (0, 1)
    assert client.jobs.get(work.job_id).state == "running"


def test_two_events_and_two_consumers_in_one(client, work):
    epoch = client.inboxes["orders"].get().epoch
    client.inboxes["orders"].consumer("audit").create()
    with client.commit() as commit:
        sent = [commit.apply.inboxes["invoices"].append("t", n, key=f"k{n}") for n in range(3)]
        for name in ("billing", "audit"):
            commit.apply.inboxes["orders"].consumer(name).acknowledge(epoch, 1)
    assert [one.result.sequence for one in sent] == [1, 2, 3]
    assert [one.position for one in client.inboxes["orders"].consumers()] == [1, 1]


def test_what_relies_on_a_lease_goes_with_it(client, work):
    billing = client.inboxes["orders"].consumer("billing")
    lease = billing.lease("me", operation_id="one")
    with client.commit() as commit:
        commit.apply.state.create("a", 1, fences=[lease.grant])
        commit.apply.state.create("b", 1, fences=[lease.grant])
    billing.release(lease.fence)
    with pytest.raises(StaleFence), client.commit() as commit:
        commit.apply.state.create("c", 1, fences=[lease.grant])
    assert client.state.get("b").value == 1
    with pytest.raises(NotFound):
        client.state.get("c")
