"""Two servers, a schedule that sends to an inbox, and a job that waits for what it sends."""

from __future__ import annotations

import asyncio
import json

import pytest

from steadhold import AsyncClient
from steadhold.worker import Worker
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys

INSTANTS = 4


@pytest.fixture(scope="module")
def pair(house):  # noqa: F811
    """Two servers over one database, with loops running."""
    with server(house.dsn) as one, server(house.dsn) as two:
        yield one, two


@pytest.fixture
async def client(pair, key):  # noqa: F811
    async with AsyncClient(pair[0].url, key) as made:
        yield made


async def test_each_instant_arrives_once_and_wakes_who_waits(pair, client, key):  # noqa: F811
    box = client.inboxes["ticks"]
    await box.create()
    epoch = (await box.get()).epoch
    worker = Worker(pair[1].url, key, name="w")

    @worker.job("follow")
    async def follow(ctx, _input):
        seen, after = [], 0
        for n in range(INSTANTS):
            told = await ctx.wait_for(
                f"tick-{n}", inbox="ticks", after=(epoch, after), match={"type": "tick"}, timeout_seconds=60
            )
            seen.append(told["state"])
            after = told["sequence"]
        return seen

    job = await client.jobs.submit("follow")
    await client.schedules.put_event("beat", "ticks", "tick", {"n": 1}, every_seconds=1)
    running = asyncio.create_task(worker.serve())
    try:
        ended = await client.jobs.wait(job.job_id, timeout_seconds=60)
    finally:
        worker.stop()
        await running
    assert ended.state == "completed"
    assert (await client.jobs.result(job.job_id)).value == ["event"] * INSTANTS
    beat = await client.schedules.get("beat")
    await client.schedules.delete("beat", if_revision=beat.revision)
    runs = [run async for run in client.schedules.runs("beat") if run.outcome == "started"]
    last = len(runs)
    found = (await box.read(epoch=epoch, after=0, limit=100)).events
    while len(found) < last:  # the relay brings the rest
        found += (await box.read(epoch=epoch, after=found[-1].sequence, limit=100, wait_seconds=20)).events
    told = [json.loads(event.raw)["scheduled_at"] for event in found]
    assert told == sorted({run.scheduled_at.isoformat(timespec="microseconds").replace("+00:00", "Z") for run in runs})
