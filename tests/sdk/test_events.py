"""client.aggregates, .events, .subscriptions and .publications at a real server."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

import pytest

from steadhold.kit.fields import FenceRef
from steadhold.sdk import AsyncClient, errors
from steadhold.sdk.events import NewEvent
from tests.sdk.site import key, real_client, site  # noqa: F401 - fixtures

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


def test_changes_and_their_events(client):
    made = client.aggregates.append("o", [NewEvent(type="placed", raw=b'{"n":1.10}')], state="new", aggregate_type="t")
    paid = NewEvent(type="paid", causation_id=made.event_ids[0])
    assert client.aggregates.append("o", [paid], if_revision=1, transition=("new", "paid")).revision == 2
    stands = client.aggregates.get("o")
    assert (stands.state, stands.aggregate_type, stands.owner) == ("paid", "t", None)
    one, two = client.aggregates.events("o")
    assert (one.raw, one.type, two.raw, two.data) == (b'{"n":1.10}', "placed", b"", None)
    assert [event.type for event in client.aggregates.events("o", after_revision=1)] == ["paid"]
    assert [event.type for event in islice(client.aggregates.tail("o"), 2)] == ["placed", "paid"]
    assert client.events.get(two.event_id) == two
    causes = client.events.causes(two.event_id)
    assert ([event.event_id for event in causes.items], causes.complete) == ([one.event_id], True)
    assert [found.aggregate_id for found in client.aggregates.list()] == ["o"]
    with pytest.raises(errors.RevisionConflict) as late:
        client.aggregates.append("o", [paid], if_revision=1)
    assert late.value.current_revision == 2


def test_a_tail_goes_on_with_what_happens_next(client):
    client.aggregates.append("o", [NewEvent(type="a")])
    tail = client.aggregates.tail("o")
    assert next(tail).type == "a"
    client.aggregates.append("o", [NewEvent(type="b")], if_revision=1)
    assert next(tail).type == "b"


def test_types_and_owners(client):
    client.aggregates.put_type("order", ["new", "paid"], [("new", "paid")])
    assert [(edge.before, edge.after) for edge in client.aggregates.get_type("order").edges] == [("new", "paid")]
    assert list(client.aggregates.types()) == [client.aggregates.get_type("order")]
    with pytest.raises(errors.Problem) as refused:
        client.aggregates.append("o", [NewEvent(type="a")], state="lost", aggregate_type="order")
    assert refused.value.code == "transition_not_permitted"
    with pytest.raises(errors.StaleFence):
        client.aggregates.append("o", [NewEvent(type="a")], owner="lock")
    grant = client.locks.acquire("o")
    held = [FenceRef("lock:o", grant.fence)]
    assert client.aggregates.append("o", [NewEvent(type="a")], owner="lock", fences=held).revision == 1


def test_subscriptions_and_what_is_on_its_way(client):
    made = client.subscriptions.put("s", ["a*"], {"inbox": "nowhere"}, ordered_by="none")
    assert client.subscriptions.get("s") == made
    assert list(client.subscriptions.list()) == [made]
    client.aggregates.append("o", [NewEvent(type="a")])
    seen = []
    while not seen:
        seen = list(client.publications.list("blocked"))
    assert client.publications.skip(seen[0].publication_id).state == "skipped"
    assert client.publications.retry_parked("s", expect_count=0).left == client.publications.retry_parked().count == 0
    with pytest.raises(errors.Problem) as over:
        client.publications.retry(seen[0].publication_id)
    assert over.value.code == "publication_settled"
    assert client.subscriptions.replay("s", *ALWAYS) == 1
    assert client.subscriptions.delete("s", if_revision=1) == 2
    with pytest.raises(errors.NotFound):
        client.subscriptions.get("s")


async def test_it_is_the_same_without_blocking(site, key):  # noqa: F811 - the fixtures
    async with AsyncClient(site.url, key.key) as client:
        made = await client.aggregates.append("o", [NewEvent(type="a", data=1)])
        assert [event.data async for event in client.aggregates.events("o")] == [1]
        assert (await client.events.get(made.event_ids[0])).type == "a"


def test_an_event_has_its_data_once():
    with pytest.raises(TypeError):
        NewEvent(type="a", data=1, raw=b"1").body()
    assert bytes(NewEvent(type="a", data=None).body()["data"]) == b"null"
    assert NewEvent(type="a").body() == {"type": "a"}
