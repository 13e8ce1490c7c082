"""What is told of what happens: ids, routes, states and times; never what somebody stored, or may come in by."""

from __future__ import annotations

import asyncio
import logging
import urllib.error
import urllib.request
from types import SimpleNamespace

import pytest
from opentelemetry import trace

from steadhold import AsyncClient, NotVerified, Webhook
from steadhold.kit.plan import Call
from steadhold.sdk.events_shapes import NewEvent
from steadhold.server.tallies import Tallies
from steadhold.telemetry.subscriber import Subscriber
from steadhold.testing import Probe
from steadhold.web.above import Seen
from steadhold.worker import Permanent, Worker
from tests.telemetry.conftest import whole
from tests.web.toy import Client
from tests.webhooks.listener import listening

CANARY = "c4n4ry"
AMOUNT = "7316.042"
DIGEST = "sha256:" + "0" * 64


@pytest.fixture
async def told(fresh_database, caplog):
    """A server that tells of everything, a client of it, and what was logged."""
    with caplog.at_level(logging.INFO, "steadhold"):
        async with whole(fresh_database, log_level="info") as server, AsyncClient(**server.place) as client:
            yield server, client, caplog


def lines(caplog, what):
    return [record.steadhold for record in caplog.records if record.getMessage().split(" ")[0] == what]


async def until(found):
    while not (some := found()):
        await asyncio.sleep(0)
    return some


async def test_a_request_is_told_with_its_ids(told, spans):
    server, client, caplog = told
    with trace.get_tracer("shop").start_as_current_span("order") as order:
        job = await client.jobs.submit("paint", {"a": 1}, operation_id="order-17")
    (line,) = await until(lambda: [x for x in lines(caplog, "request") if x.get("operation_id") == "order-17"])
    assert line.pop("duration_ms") > 0
    assert line == {
        "workspace": server.workspace, "route": "/v1/jobs", "method": "POST", "status": 202, "operation_id": "order-17",
        "job_id": job.job_id, "trace_id": f"{order.get_span_context().trace_id:032x}",
    }  # fmt: skip
    (span,) = spans.named("POST /v1/jobs")
    assert {name: span.attributes[name] for name in ("steadhold.job.id", "steadhold.operation.id", "http.route")} == {
        "steadhold.job.id": job.job_id, "steadhold.operation.id": "order-17", "http.route": "/v1/jobs",
    }  # fmt: skip


async def test_an_event_and_its_delivery_are_told_with_their_ids(told):
    _, client, caplog = told
    with listening() as receiver:
        hook = await client.webhooks.create(receiver.url, ["job.accepted"])
        await client.webhooks.enable(hook.webhook_id)
        job = await client.jobs.submit("paint", None)
        await asyncio.to_thread(receiver.some, 1)
        (line,) = await until(lambda: lines(caplog, "deliver"))
    event = f"job:{job.job_id}@1"
    assert (line["webhook_id"], line["event_id"], line["attempt"], line["state"], line["status"]) == (
        hook.webhook_id, event, 1, "delivered", 200,
    )  # fmt: skip
    (matched,) = [x for x in lines(caplog, "event") if x["event_id"] == event]
    assert (matched["type"], matched["job_id"]) == ("job.accepted", job.job_id)


async def everything(server, client, receiver):
    """Let canaries through every door: in bodies, names, amounts, secrets, addresses and failures."""
    await client.state.create(f"people/{CANARY}", {"is": CANARY})
    await client.context.write(f"files/{CANARY}.txt", CANARY, if_revision=None)
    await client.effects.plan("e", kind="pay", target=CANARY, request_digest=DIGEST, amount=AMOUNT, currency="EUR")
    await client.inboxes["orders"].create()
    await client.inboxes["orders"].append("t", {"is": CANARY})
    door = await client.inboxes["orders"].doors.create("standard", secret="whsec_" + "YzRuNHJ5" * 4)
    await asyncio.to_thread(knock, f"{server.url}{door.url}")
    hook = await client.webhooks.create(f"{receiver.url}?{CANARY}", ["placed", "job.*"], headers={"x-own": CANARY})
    await client.webhooks.enable(hook.webhook_id)
    await client.aggregates.append("o", [NewEvent(type="placed", data={"is": CANARY})])
    await client.jobs.submit("paint", {"is": CANARY, "amount": AMOUNT})
    return door, hook


def knock(url):
    request = urllib.request.Request(url, data=CANARY.encode(), method="POST")
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=30)


async def test_nothing_that_was_stored_and_no_secret_is_in_a_line_a_span_or_a_metric(told, spans):
    server, client, caplog = told
    probe = Probe()
    worker = Worker(**server.place, on=probe, drain_seconds=0)

    @worker.job("paint")
    async def paint(ctx, input):
        await ctx.stage("mix", lambda: {"is": CANARY})
        raise Permanent("dry", CANARY)

    with listening() as receiver, trace.get_tracer("shop").start_as_current_span("order"):
        door, hook = await everything(server, client, receiver)
        task = asyncio.create_task(worker.serve())
        await probe.seen("job.settled")
        worker.stop()
        await task
        await asyncio.to_thread(receiver.some, 4)
        await until(lambda: len(lines(caplog, "deliver")) >= 4)
    metrics = (await Client(server.app, "")("GET", "/metrics")).body.decode()
    shown = "\n".join([
        metrics, *(record.getMessage() + str(vars(record)) for record in caplog.records),
        *(span.to_json() for span in spans.all),
    ])  # fmt: skip
    secrets = {CANARY, AMOUNT, server.key, hook.secret, "YzRuNHJ5", door.url.rpartition("/")[2], receiver.url}
    assert {secret for secret in secrets if secret in shown} == set()
    assert "deliver" in shown
    assert "stage mix" in shown
    with pytest.raises(NotVerified):
        Webhook(hook.secret).verify({}, b"")


def test_words_that_are_no_methods_are_told_as_one():
    tallies = Tallies()
    told = Subscriber(tallies.see)
    turn = SimpleNamespace(span=None, cause=None, workspace=None, operation=None)
    for word in ("GET", "ONE", "OTHER"):
        told.served(Seen("/v1/jobs", word, 405, None, 0.1, turn))
    assert tallies.requests == {("/v1/jobs", "GET", 405): 1, ("/v1/jobs", "_OTHER", 405): 2}


async def test_what_is_passed_on_is_told_once_and_when_it_is_committed(caplog):
    told, commits = Subscriber(lambda _seen: None), [False, True]
    take = told.taking(lambda _workspace, _happened: iter(["a step"]))
    happened = [SimpleNamespace(event_id="e", type="paint", trace=None, aggregate_id="wall")]

    async def play(call):
        for _ in range(2):  # as where a statement has to be prepared first
            assert list(call.begin()) == ["a step"]
        assert lines(caplog, "event") == []
        if not commits.pop(0):
            raise ConnectionError

    with caplog.at_level(logging.INFO, "steadhold"):
        with pytest.raises(ConnectionError):
            await told.playing(play)(Call(lambda: take("here", happened), "here", "match"))
        await told.playing(play)(Call(lambda: take("here", happened), "here", "match"))
        assert lines(caplog, "event") == [{"workspace": "here", "event_id": "e", "type": "paint"}]
