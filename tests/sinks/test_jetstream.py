"""Events leave to a real NATS server: at least once, in order, and never to the harm of an inbox."""

from __future__ import annotations

import json

import pytest

from steadhold import events, inboxes
from steadhold.events import Happened, Spec
from steadhold.events.flow import Inside
from steadhold.sinks import Sinks, jetstream, read_sinks
from tests.sinks.server import Nats


class Outlet:
    """A workspace's sinks, and a relay that publishes to them and to inboxes."""

    def __init__(self, stream, entries):
        self.stream = stream
        self.sinks = Sinks(read_sinks(entry.replace("WORKSPACE", stream.workspace) for entry in entries))
        self.relay = stream.another("outlet", sink=self.sinks.target, inbox=Inside(inboxes.publish))

    async def published(self):
        await self.stream.match()
        return await self.stream.publish(self.relay)


@pytest.fixture
async def outlet(stream, nats):
    """A sink `x` whose stream is there."""
    await nats.add_stream("ORDERS", ["orders.>"])
    made = Outlet(stream, [f"WORKSPACE/x={nats.url}/orders", f"WORKSPACE/b={nats.url}/bytes?mode=binary&source=urn:s"])
    yield made
    await made.relay.close()
    await made.sinks.close()


async def reasons(stream):
    return {one.why for one in await stream.listed("blocked")}


async def test_an_event_is_a_message_whose_id_is_its_own(outlet, nats):
    stream = outlet.stream
    await stream.subscribe()
    told = Happened("order.placed", b'{"total":1.10}', correlation_id="c")
    await stream(events.append, "o-1", None, [told, Happened("order.paid")])
    assert await outlet.published() == 1
    first, second = await nats.messages("ORDERS")
    assert (first.subject, second.subject) == ("orders.order.placed", "orders.order.paid")
    assert (first.headers["Nats-Msg-Id"], second.headers["Nats-Msg-Id"]) == ("o-1@1", "o-1@2")
    assert b'"data":{"total":1.10}' in first.data
    said = json.loads(first.data)
    assert (said["id"], said["source"]) == ("o-1@1", f"urn:steadhold:{stream.workspace}")
    assert first.headers["content-type"].startswith("application/cloudevents+json")
    assert await stream.listed("pending") == await stream.listed("blocked") == []


async def test_in_binary_mode_the_data_is_the_message(outlet, nats):
    await nats.add_stream("BYTES", ["bytes.>"])
    await outlet.stream.subscribe(target="sink:b")
    await outlet.stream(events.append, "o-1", None, [Happened("order.placed", b'{"total":1.10}')])
    await outlet.published()
    (found,) = await nats.messages("BYTES")
    assert (found.data, found.headers["content-type"]) == (b'{"total":1.10}', "application/json")
    assert {name: found.headers[name] for name in ("ce-id", "ce-type", "ce-source", "ce-specversion")} == {
        "ce-id": "o-1@1", "ce-type": "order.placed", "ce-source": "urn:s", "ce-specversion": "1.0",
    }  # fmt: skip


async def test_what_is_published_again_is_no_second_message(outlet, nats):
    stream = outlet.stream
    await stream.subscribe()
    await stream.subscribe("twin")
    await stream.happen("a", 3)
    await outlet.published()
    assert [found.headers["Nats-Msg-Id"] for found in await nats.messages("ORDERS")] == ["a@1", "a@2", "a@3"]


async def test_each_aggregate_is_in_order(outlet, nats):
    stream = outlet.stream
    await stream.subscribe()
    for n in range(8):
        await stream.happen(f"a-{n}", 25)
    await outlet.published()
    found = [found.headers["Nats-Msg-Id"] for found in await nats.messages("ORDERS")]
    for n in range(8):
        assert [name for name in found if name.startswith(f"a-{n}@")] == [f"a-{n}@{r}" for r in range(1, 26)]
    assert len(found) == 200


async def test_a_dead_server_blocks_no_inbox(outlet, nats, clock):
    stream = outlet.stream
    await stream(inboxes.put, "in", inboxes.Retention(), None)
    await stream.subscribe("s", "sink:x")
    await stream.subscribe("i", "inbox:in")
    await nats.kill()
    await stream.happen("a", 2)
    await outlet.published()
    assert [why.partition(":")[0] for why in await reasons(stream)] == ["NATS cannot be reached"]
    assert (await stream(inboxes.get, "in")).last_sequence == 2
    await nats.start()
    clock.move(2)
    await outlet.published()
    assert [found.headers["Nats-Msg-Id"] for found in await nats.messages("ORDERS")] == ["a@1", "a@2"]


async def test_a_silent_server_blocks_no_inbox_and_holds_no_transaction(outlet, nats, clock, committed, monkeypatch):
    stream = outlet.stream
    await stream(inboxes.put, "in", inboxes.Retention(), None)
    await stream.subscribe("s", "sink:x")
    await stream.happen("a")
    await outlet.published()
    await stream.subscribe("i", "inbox:in")
    monkeypatch.setattr(jetstream, "ACKNOWLEDGE_SECONDS", 1.0)
    nats.stop()
    await stream.happen("a", expected=1)
    await stream.match()
    assert await outlet.relay.publish(stream.workspace) == 1
    assert (await stream(inboxes.get, "in")).last_sequence == 1
    open_ones = (
        "select count(*) from pg_stat_activity where state like 'idle in transaction%%' and pid <> pg_backend_pid()"
    )
    assert committed.execute(open_ones + " and datname = current_database()").fetchone() == (0,)
    await outlet.relay.idle()
    assert [why.partition(":")[0] for why in await reasons(stream)] == ["not acknowledged"]


async def test_what_the_server_never_takes_is_parked_and_holds_up_its_own_key_alone(stream, tmp_path):
    async with Nats(tmp_path / "small") as nats:
        await nats.add_stream("SMALL", ["small.>"], max_msg_size=2_000)
        outlet = Outlet(stream, [f"WORKSPACE/x={nats.url}/small"])
        await stream.subscribe()
        await stream(events.append, "large", None, [Happened("t", b'"%s"' % (b"x" * 4_000)), Happened("t")])
        await stream(events.append, "small", None, [Happened("t"), Happened("t")])
        await outlet.published()
        assert [found.headers["Nats-Msg-Id"] for found in await nats.messages("SMALL")] == ["small@1", "small@2"]
        assert [(one.aggregate_id, one.aggregate_revision) for one in await stream.listed("parked")] == [("large", 1)]
        assert [one.aggregate_id for one in await stream.listed("pending")] == ["large"]
        await outlet.sinks.close()


async def test_without_a_stream_events_wait(outlet, nats, clock):
    stream = outlet.stream
    await stream.subscribe(target="sink:b")
    await stream.happen("a")
    await outlet.published()
    assert await reasons(stream) == {"no stream takes the subject bytes.a"}
    await nats.add_stream("BYTES", ["bytes.>"])
    clock.move(2)
    await outlet.published()
    assert len(await nats.messages("BYTES")) == 1


async def test_a_stream_is_of_one_sink(stream, nats, clock):
    await nats.add_stream("BOTH", ["one.>", "two.>"])
    outlet = Outlet(stream, [f"WORKSPACE/x={nats.url}/one", f"WORKSPACE/y={nats.url}/two"])
    await stream.subscribe("s", "sink:x")
    await stream.happen("a")
    await outlet.published()
    await stream(events.subscribe, "t", Spec(("*",), "sink:y"), None)
    await stream.happen("b")
    await outlet.published()
    assert await reasons(stream) == {f"the stream BOTH is that of the sink {stream.workspace}/x: give each its own"}
    await outlet.sinks.close()


async def test_a_sink_that_is_not_set_up_here_is_left_to_others(outlet):
    await outlet.stream.subscribe(target="sink:none")
    await outlet.stream.happen("a")
    assert await outlet.published() == 0
    assert len(await outlet.stream.listed("pending")) == 1
