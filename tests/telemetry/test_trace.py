"""One job, from the request that submits it to the delivery that tells of its end, is one connected trace."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import trace

from steadhold import AsyncClient
from steadhold.kit.traces import trace_id
from steadhold.sdk.events_shapes import NewEvent
from steadhold.testing import Probe
from steadhold.worker import Worker
from tests.webhooks.listener import listening


@pytest.fixture
async def client(server):
    async with AsyncClient(**server.place) as made:
        yield made


class Work:
    """A worker with one type of job, asynchronous or in a thread, that notes which span was current where."""

    def __init__(self, place, kind):
        self.seen, self.probe = {}, Probe()
        self.worker = Worker(**place, on=self.probe, drain_seconds=0)
        self.worker.job("paint")({"async": self._painted, "thread": self._painted_in_thread}[kind])

    def note(self, where):
        self.seen[where] = trace.get_current_span().get_span_context()
        return where

    async def _painted(self, ctx, input):
        self.note("handler")
        return await ctx.stage("mix", self.note, "stage")

    def _painted_in_thread(self, ctx, input):
        self.note("handler")
        return ctx.stage("mix", self.note, "stage")

    async def __aenter__(self):
        self.task = asyncio.create_task(self.worker.serve())
        return self

    async def __aexit__(self, *_):
        self.worker.stop()
        await self.task


def connected(spans):
    """Whether each of these but the first has its parent among them."""
    ids = {span.context.span_id for span in spans}
    return [span.name for span in spans if span.parent is None or span.parent.span_id not in ids]


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_a_job_from_its_submission_to_the_delivery_of_its_end(server, client, spans, kind):
    with listening() as receiver:
        hook = await client.webhooks.create(receiver.url, ["job.completed"])
        await client.webhooks.enable(hook.webhook_id)
        async with Work(server.place, kind) as work:
            with trace.get_tracer("shop").start_as_current_span("order") as order:
                job = await client.jobs.submit("paint", {"colour": "red"})
            await work.probe.seen("job.settled", job_id=job.job_id)
            ((fields, _),) = await asyncio.to_thread(receiver.some, 1)
    ours = order.get_span_context().trace_id
    told = [span for span in spans.all if span.context.trace_id == ours]
    assert connected(told) == ["order"]
    assert {span.name for span in told} >= {
        "order", "POST /v1/jobs", "claim paint", "job paint", "stage mix",
        "PUT /v1/jobs/{id:uuid}/checkpoints/{stage}", "event job.completed", "deliver",
    }  # fmt: skip
    (handler,), (stage,) = spans.named("job paint"), spans.named("stage mix")
    assert {where: span.span_id for where, span in work.seen.items()} == {
        "handler": handler.context.span_id, "stage": stage.context.span_id,
    }  # fmt: skip
    (delivery,) = spans.named("deliver")
    told_to_receiver = dict(fields)["traceparent"]
    assert told_to_receiver == f"00-{ours:032x}-{delivery.context.span_id:016x}-01"
    assert delivery.attributes["steadhold.event.id"].startswith(f"job:{job.job_id}@")
    assert trace_id((await client.jobs.get(job.job_id)).trace) == f"{ours:032x}"


async def test_an_event_from_its_append_to_the_inbox_that_gets_it(server, client, spans):
    await client.inboxes["orders"].create()
    await client.subscriptions.put("all", ["*"], {"inbox": "orders"})
    with trace.get_tracer("shop").start_as_current_span("order") as order:
        await client.aggregates.append("order-1", [NewEvent(type="placed")])
    async for entry in client.inboxes["orders"].follow():
        assert entry.type == "placed"
        break
    ours = order.get_span_context().trace_id
    told = [span for span in spans.all if span.context.trace_id == ours]
    assert connected(told) == ["order"]
    (publish,) = spans.named("publish placed")
    assert publish in told
    assert publish.attributes["steadhold.target"] == "inbox:orders"


async def test_without_opentelemetry_on_the_way_what_the_client_named_goes_all_the_way(server, client):
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    with listening() as receiver:
        hook = await client.webhooks.create(receiver.url, ["job.accepted"])
        await client.webhooks.enable(hook.webhook_id)
        again = given.replace("4bf9", "5bf9")  # the same request: a trace is no part of it
        assert [await submitted(server, one) for one in (given, again)] == [202, 202]
        ((fields, _),) = await asyncio.to_thread(receiver.some, 1)
    assert dict(fields)["traceparent"] == given


async def submitted(server, given):
    reader, writer = await asyncio.open_connection("127.0.0.1", int(server.url.rpartition(":")[2]))
    body = b'{"type":"nobody","input":1}'
    writer.write(
        b"POST /v1/jobs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %b\r\nidempotency-key: k\r\ntraceparent: %b\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b"
        % (server.key.encode(), given.encode(), len(body), body)
    )
    answer = await reader.read()
    writer.close()
    return int(answer.split(b" ")[1])
