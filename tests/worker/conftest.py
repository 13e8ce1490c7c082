"""Workers in this process, through both doors, on the real database."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from steadhold.server.app import App
from steadhold.server.run import listen, serving, url_of
from steadhold.server.settings import Settings
from steadhold.testing import Probe
from steadhold.worker import Worker
from tests.server.conftest import key_of


class Yard:
    """A workspace with jobs in it, and workers for them."""

    def __init__(self, player, workspace, place):
        self.player, self.workspace, self.place = player, workspace, place

    def worker(self, **kw):
        """A worker that says to its probe what it does."""
        probe = Probe()
        made = Worker(**self.place, **{"on": probe, "drain_seconds": 0, **kw})
        made.probe = probe
        return made

    @asynccontextmanager
    async def working(self, worker):
        """Let it work for as long as the block runs."""
        task = asyncio.create_task(worker.serve())
        started = asyncio.create_task(worker.probe.seen("worker.started"))
        await asyncio.wait([task, started], return_when=asyncio.FIRST_COMPLETED)
        started.cancel()
        try:
            yield worker.probe
        finally:
            worker.stop()
            await task

    async def play(self, verb, *args, **kw):
        return await self.player.play(verb.call(self.workspace, *args, **kw))

    async def submit(self, type="t", input=b"null", **kw):
        submitted = await self.play(jobs.submit, jobs.Submission(type, input=input, **kw))
        return submitted.id

    async def look(self, id):
        return await self.play(jobs.get, id)

    async def result(self, id):
        return (await self.play(jobs.contents, id)).result

    async def stages(self, id):
        return {kept.stage: kept.result for kept in (await self.play(jobs.checkpoints, id, "", 100)).items}

    async def stages_under(self, id, fence):
        """What the worker that held this fence committed; who takes over may be at it already."""
        return [kept.stage for kept in (await self.play(jobs.checkpoints, id, "", 100)).items if kept.fence == fence]


@pytest.fixture
async def player(dsn):
    async with Pool(dsn, size=4) as pool:
        yield Single(pool)


@pytest.fixture
def on_postgres(player, dsn, workspace):
    return Yard(player, workspace, {"dsn": dsn, "workspace": workspace})


@asynccontextmanager
async def served(player, dsn, workspace):
    """Workers of a server that finds its database at `dsn`."""
    settings = Settings(database_url=dsn, pool_size=6, port=0, background=False)
    app = App(settings)
    listener = listen(settings)
    try:
        async with serving(app, listener):
            key = await key_of(app, workspace)
            yield Yard(player, workspace, {"url": url_of(settings, listener), "api_key": key})
    finally:
        listener.close()


@pytest.fixture
async def over_http(player, dsn, workspace):
    async with served(player, dsn, workspace) as yard:
        yield yard


@pytest.fixture(params=["on_postgres", "over_http"])
def yard(request):
    return request.getfixturevalue(request.param)
