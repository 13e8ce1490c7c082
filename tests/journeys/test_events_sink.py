"""From a change to NATS JetStream: a real server, a real NATS, and metrics that say what waits."""

from __future__ import annotations

import asyncio
import re

from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures
from tests.sinks.server import Nats

JSON = {"content-type": "application/json"}
CREATE = {"if-none-match": "*", **JSON}


async def gauge(client, name):
    return float(re.search(rf"^{name} (\S+)$", (await client.get("/metrics")).text, re.MULTILINE)[1])


async def until(client, name, value):
    async with asyncio.timeout(60):
        while await gauge(client, name) != value:
            pass


async def test_events_wait_for_a_sink_that_is_away_and_arrive_once(house, place, key, tmp_path):  # noqa: F811
    async with Nats(tmp_path / "jetstream") as nats:
        await nats.add_stream("ORDERS", ["orders.>"])
        sinks = (f"{place}/orders={nats.url}/orders",)
        with server(house.dsn, sinks=sinks) as one, server(house.dsn, sinks=sinks) as two:
            async with one.aclient(key) as client, two.aclient(key) as other:
                told = b'{"types":["order.*"],"target":{"sink":"orders"}}'
                assert (await client.put("/v1/subscriptions/s", content=told, headers=CREATE)).status_code == 201
                lost = await other.put(
                    "/v1/subscriptions/t", content=told.replace(b'"orders"', b'"no"'), headers=CREATE
                )
                assert lost.json()["code"] == "target_unknown"
                event = b'{"events":[{"type":"order.placed","data":{"total":1.10}}]}'
                await client.post("/v1/aggregates/o-1/events", content=event, headers=CREATE)
                async with asyncio.timeout(60):
                    while not (found := await nats.messages("ORDERS")):
                        pass
                assert b'"data":{"total":1.10}' in found[0].data
                await nats.kill()
                await other.post("/v1/aggregates/o-2/events", content=event, headers=CREATE)
                for each in (client, other):
                    await until(each, "steadhold_publications_blocked", 1)
                await nats.start()
                for each in (client, other):
                    await until(each, "steadhold_publications_blocked", 0)
                    await until(each, "steadhold_publications_pending", 0)
        assert [found.headers["Nats-Msg-Id"] for found in await nats.messages("ORDERS")] == ["o-1@1", "o-2@1"]
