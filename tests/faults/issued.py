"""Clients that write, claim and hold while servers change under them, and note every number that they were told."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count

from steadhold import AsyncClient
from steadhold.kit.ids import new_id
from steadhold.sdk.errors import RevisionConflict, StaleFence

LEASE_SECONDS = 10
NAME_WRITES = 20


class Issued:
    """Each number a subject was given, and by which act it was: no number may be given for two."""

    def __init__(self) -> None:
        self.acts: dict[tuple[str, int], str] = {}
        self.faults: list[str] = []
        self.told = Counter[str]()
        self.news = asyncio.Event()
        self.stopping = False

    def note(self, subject: str, number: int, act: str) -> None:
        """`act` was told that `number` is its own."""
        before = self.acts.setdefault((subject, number), act)
        if before != act:
            self.faults.append(f"{number} of {subject} was issued to {before} and to {act}")
        self.told[subject.partition(" ")[0]] += 1
        self.news.set()

    async def more(self, **least: int) -> None:
        """Wait until so many more of each kind were told."""
        goals = {kind: self.told[kind] + more for kind, more in least.items()}
        async with asyncio.timeout(60):
            while any(self.told[kind] < goal for kind, goal in goals.items()):
                await self.news.wait()
                self.news.clear()

    async def write(self, client: AsyncClient, writer: int) -> None:
        """Write name after name, each a while; what is lost is written again from what is there."""
        for n in count():
            name, revision = f"w{writer}/{n}", None
            for round in range(NAME_WRITES):
                act = f"{writer}.{n}.{round}"
                if self.stopping:
                    return
                try:
                    if revision is None:
                        written = await client.state.create(name, act)
                    else:
                        written = await client.state.put(name, act, if_revision=revision)
                except RevisionConflict as conflict:
                    revision = conflict.current_revision
                else:
                    revision = written.revision
                    self.note(f"revision {name}", revision, act)

    async def bounce(self, client: AsyncClient, worker: int) -> None:
        """Claim one job again and again, and hand it back."""
        type = f"bounce{worker}"
        job = await client.jobs.submit(type)
        while not self.stopping:
            act = new_id()
            for held in await client.jobs.claim("me", [type], lease_seconds=1, operation_id=act, wait_seconds=1):
                assert held.job_id == job.job_id
                self.note(f"fence {job.job_id}", held.fence, act)
                self.note(f"job-revision {job.job_id}", held.revision, act)
                with suppress(StaleFence):
                    back = await client.jobs.release(held.job_id, held.fence)
                    self.note(f"job-revision {job.job_id}", back.revision, f"{act} back")


class Held:
    """A job that its holder renews, and that a rival wants and notes when it was given it, on the database's clock."""

    def __init__(self) -> None:
        self.job_id = ""
        self.fence = 0
        self.renewed = 0
        self.refused = False
        self.taken: list[tuple[int, datetime]] = []
        self.stopping = False

    async def begin(self, client: AsyncClient) -> None:
        """The holder has it."""
        await client.jobs.submit("held")
        [mine] = await client.jobs.claim("holder", ["held"], lease_seconds=LEASE_SECONDS)
        self.job_id, self.fence = mine.job_id, mine.fence

    async def hold(self, client: AsyncClient) -> None:
        """Renew it until told otherwise."""
        while not (self.stopping or self.refused):
            try:
                await client.jobs.heartbeat(self.job_id, self.fence)
                self.renewed += 1
            except StaleFence:
                self.refused = True

    async def rival(self, client: AsyncClient) -> None:
        """Ask for it all the time."""
        while not self.stopping:
            for got in await client.jobs.claim("rival", ["held"], lease_seconds=LEASE_SECONDS, wait_seconds=1):
                self.taken.append((got.fence, got.lease_expires_at - timedelta(seconds=LEASE_SECONDS)))
