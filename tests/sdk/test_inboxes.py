"""client.inboxes over a real server: both clients send, read, and receive what a consumer has not acknowledged."""

from __future__ import annotations

from itertools import islice

import msgspec
import pytest

from steadhold.sdk.errors import (
    BeyondHead,
    ConsumerLeased,
    GapNotAccepted,
    InboxRestored,
    NotFound,
    OperationMismatch,
    RevisionConflict,
    StaleFence,
)
from steadhold.sdk.inboxes_shapes import New
from tests.sdk.site import key, real_aclient, real_client, site  # noqa: F401 - fixtures


@pytest.fixture
def orders(client):
    client.inboxes["orders"].create()
    return client.inboxes["orders"]


def test_an_inbox_is_made_changed_and_deleted(client):
    orders = client.inboxes["orders"]
    with pytest.raises(NotFound):
        orders.get()
    assert orders.create(max_age_seconds=None, max_events=5).revision == 1
    with pytest.raises(RevisionConflict):
        orders.create()
    seen = orders.get()
    assert (seen.retention.max_age_seconds, seen.retention.max_events, seen.last_sequence) == (None, 5, 0)
    assert orders.configure(if_revision=1, max_bytes=7).revision == 2
    assert orders.get().retention.max_age_seconds == 30 * 86_400
    assert [box.name for box in client.inboxes.list()] == ["orders"]
    orders.delete(if_revision=2)
    assert list(client.inboxes.list()) == []


def test_events_are_accepted_once_and_read_as_they_are(orders):
    first = orders.append("order.paid", {"amount": 12}, key="k", aggregate_id="order:7", aggregate_revision=3)
    again = orders.append("order.paid", {"amount": 12}, key="k", aggregate_id="order:7", aggregate_revision=3)
    assert (first.sequence, first.duplicate, again.sequence, again.duplicate) == (1, False, 1, True)
    with pytest.raises(OperationMismatch):
        orders.append("order.paid", {"amount": 13}, key="k")
    orders.append("order.paid", raw=b'{"a": 1.10}')
    orders.append_bytes("seen", b"\x00\xff", "image/png")
    orders.append("far", data_ref="blob:1")
    page = orders.read()
    assert [event.raw for event in page.events] == [b'{"amount":12}', b'{"a": 1.10}', b"\x00\xff", b""]
    assert (page.events[0].value, page.events[0].aggregate_id, page.events[3].data_ref) == (
        {"amount": 12},
        "order:7",
        "blob:1",
    )
    found = orders.receipt("k")
    assert (found.sequence, found.event_id) == (1, first.event_id)
    with pytest.raises(NotFound):
        orders.receipt("l")
    assert [event.sequence for event in orders.export()] == [1, 2, 3, 4]
    assert [event.sequence for event in islice(orders.follow(), 4)] == [1, 2, 3, 4]


def test_an_export_ends_however_fast_the_inbox_grows(client):
    busy = client.inboxes["busy"]
    busy.create()
    busy.append_many([New(type="t", data=msgspec.Raw(b"1")) for _ in range(150)])
    seen = []
    for event in busy.export():
        seen.append(event.sequence)
        if event.sequence % 100 == 1 and event.sequence < 900:
            busy.append_many([New(type="t", data=msgspec.Raw(b"1")) for _ in range(150)])
    assert seen == [*range(1, 201)]


def test_many_events_have_an_outcome_each(orders):
    data = msgspec.Raw(b"1")
    lines = orders.append_many([New(type="t", data=data, key="a"), New(type="t"), New(type="t", data=data, key="a")])
    assert [(line.ok, line.status, line.duplicate, line.code) for line in lines] == [
        (True, 201, False, None),
        (False, 400, False, "bad_member"),
        (True, 200, True, None),
    ]


def test_positions_and_floors(orders):
    for n in range(3):
        orders.append("t", n)
    billing = orders.consumer("billing")
    assert billing.create().revision == 1
    epoch = billing.get().epoch
    assert billing.acknowledge(epoch, 2).position == 2
    assert billing.acknowledge(epoch, 1).position == 2
    with pytest.raises(BeyondHead):
        billing.acknowledge(epoch, 4)
    with pytest.raises(InboxRestored) as restored:
        billing.acknowledge("other", 3)
    assert restored.value.epoch == epoch
    assert [one.name for one in orders.consumers()] == ["billing"]
    assert orders.consumer("late").create((epoch, 3)).revision == 1
    lease = billing.lease("me", lease_seconds=30)
    with pytest.raises(ConsumerLeased):
        billing.lease("you")
    with pytest.raises(StaleFence):
        billing.acknowledge(epoch, 3)
    assert billing.acknowledge(epoch, 3, fences=[lease.grant]).position == 3
    assert orders.consumer("billing", fence=lease.fence).acknowledge(epoch, 3).position == 3
    assert billing.renew(lease.fence).lease_seconds == 30
    billing.release(lease.fence)
    billing.delete(if_revision=1)
    with pytest.raises(NotFound):
        billing.get()


def test_a_consumer_receives_what_it_has_not_acknowledged(orders):
    for n in range(3):
        orders.append("t", n)
    billing = orders.consumer("billing")
    billing.create()
    for item in islice(billing, 2):
        assert not item.gap
        assert item.ack().position == item.sequence
    assert [item.value for item in islice(billing, 1)] == [2]
    assert billing.get().position == 2


async def test_async_receives_too(aclient):
    orders = aclient.inboxes["orders"]
    await orders.create()
    await orders.append("t", 1)
    billing = orders.consumer("billing")
    await billing.create()
    async for event in billing:
        assert (event.type, event.value, event.event_id) == ("t", 1, event.event.event_id)
        assert (await event.ack()).position == 1
        break
    assert (await billing.get()).lag == 0


def test_a_gap_is_an_item(client, site):  # noqa: F811
    orders = client.inboxes["orders"]
    orders.create(max_events=1)
    for n in range(4):
        orders.append("t", n)
    billing = orders.consumer("billing")
    billing.create((orders.get().epoch, 0))
    orders.configure(if_revision=1, max_events=1)
    for _ in range(600):
        if orders.read(epoch=orders.get().epoch, after=0, wait_seconds=0.1).gaps:
            break
    items = islice(billing, 2)
    removed = next(items)
    assert (removed.gap, removed.range.from_sequence, removed.range.to_sequence) == (True, 1, 3)
    last = next(items)
    with pytest.raises(GapNotAccepted) as refused:
        last.ack()
    assert refused.value.range == (1, 3)
    assert removed.ack().position == 3
    assert last.ack().position == 4
