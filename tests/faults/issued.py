"""Clients that write, claim and hold while servers change under them, and note every number that they were told."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count

from steadhold import AsyncClient
from steadhold.kit.ids import new_id
from steadhold.sdk.errors import LockHeld, LockLost, OutcomeUnknown, RevisionConflict, StaleFence

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

    async def lock(self, client: AsyncClient, owner: int) -> None:
        """Take one lock again and again, and give it back."""
        name = f"bounce{owner}"
        while not self.stopping:
            act = new_id()
            with suppress(LockHeld, LockLost):
                got = await client.locks.acquire(name, ttl=1, wait_seconds=1, operation_id=act)
                self.note(f"lock {name}", got.fence, act)
                with suppress(OutcomeUnknown):  # its answer was lost, and then it had ended
                    await client.locks.release(name, got.fence)


class Held(ABC):
    """What a holder renews, and a rival wants and notes when it was given it, on the database's clock."""

    ends_with: str
    """The event of its end, where nobody ended it."""

    def __init__(self) -> None:
        self.subject, self.fence, self.renewed = "", 0, 0
        self.refused = self.stopping = False
        self.taken: list[tuple[int, datetime]] = []

    @abstractmethod
    async def take(self, client: AsyncClient, who: str) -> tuple[str, int, datetime] | None:
        """Take it for LEASE_SECONDS: its subject, the fence, and the end."""

    @abstractmethod
    async def renew(self, client: AsyncClient) -> None:
        """Say that it is still held. Raises StaleFence or LockLost."""

    async def hold(self, client: AsyncClient) -> None:
        """Renew it until told otherwise."""
        while not (self.stopping or self.refused):
            try:
                await self.renew(client)
                self.renewed += 1
            except (StaleFence, LockLost):
                self.refused = True

    async def rival(self, client: AsyncClient) -> None:
        """Ask for it all the time."""
        while not self.stopping:
            if got := await self.take(client, "rival"):
                self.taken.append((got[1], got[2] - timedelta(seconds=LEASE_SECONDS)))


class HeldJob(Held):
    """A job of its own type."""

    ends_with = "job.accepted"

    async def take(self, client: AsyncClient, who: str) -> tuple[str, int, datetime] | None:
        if not self.subject:
            await client.jobs.submit("held")
        for got in await client.jobs.claim(who, ["held"], lease_seconds=LEASE_SECONDS, wait_seconds=1):
            return f"job:{got.job_id}", got.fence, got.lease_expires_at
        return None

    async def renew(self, client: AsyncClient) -> None:
        await client.jobs.heartbeat(self.subject.partition(":")[2], self.fence)


class HeldLock(Held):
    """A lock."""

    ends_with = "lock.expired"

    async def take(self, client: AsyncClient, who: str) -> tuple[str, int, datetime] | None:
        try:
            got = await client.locks.acquire("held", owner=who, ttl=LEASE_SECONDS, wait_seconds=1)
        except LockHeld:
            return None
        return f"lock:{got.name}", got.fence, got.expires_at

    async def renew(self, client: AsyncClient) -> None:
        await client.locks.renew("held", self.fence, ttl=LEASE_SECONDS)
