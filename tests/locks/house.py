"""The doors of locks and state over a real database, and clients of them."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from steadhold import fences
from steadhold.access.authenticate import within
from steadhold.jobs.routes import ROUTES as JOBS
from steadhold.kit.ids import new_id
from steadhold.locks.routes import ROUTES
from steadhold.state.routes import ROUTES as STATE
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.jobs.house import House as Jobs
from tests.web.toy import Client


class House(Jobs):
    """Several servers' doors over one player; `at(n)` speaks to one of them."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        self.seen = lambda _outcome: None
        above = replace(self.doors.above, reach=within, play=self.play, require=fences.require)
        self.servers = [Doors((*ROUTES, *STATE, *JOBS), above, hub=Hub(), flights=Flights()) for _ in range(2)]
        self.doors = self.servers[0]

    async def play(self, call):
        """Play, and let the test see what it came to before anybody else does."""
        outcome = await self.player.play(call)
        self.seen(outcome)
        return outcome

    async def enter(self, scopes=("locks:*", "state:*", "jobs:*")):
        return await super().enter(scopes)

    def asking(self, name, owner, *, wait=30, ttl=30, key=None, server=0):
        """A request for a lock that goes on while the test does; `.leave()` breaks its connection."""
        return Asking(self.servers[server], self.client.key, name, owner, wait, ttl, key or new_id())

    async def acquire(self, name, owner="me", *, ttl=30, **more):
        key = more.pop("key", None) or new_id()
        body = {"owner": owner, "ttl_seconds": ttl, **more}
        return await self("POST", f"/v1/locks/{name}/acquire", body, idempotency_key=key)

    async def release(self, name, fence):
        return await self("POST", f"/v1/locks/{name}/release", {"fence": fence})

    async def waiting(self, name, count):
        """Return once so many stand in line."""
        async with asyncio.timeout(30):
            while True:
                got = await self("GET", f"/v1/locks/{name}")
                if got.status == 200 and got.json["waiting"] == count:
                    return
                await asyncio.sleep(0)


class Asking:
    """One request that waits."""

    def __init__(self, doors, token, name, owner, wait, ttl, key):
        self.client, self.key = Client(doors, token), key
        body = b'{"owner":"%s","ttl_seconds":%d,"wait_seconds":%s}' % (owner.encode(), ttl, str(wait).encode())
        asked = self.client("POST", f"/v1/locks/{name}/acquire", body, idempotency_key=key)
        self.task = asyncio.ensure_future(asked)

    def leave(self):
        self.client.leave()

    async def answer(self):
        async with asyncio.timeout(30):
            return await self.task

    @property
    def waits(self):
        return not self.task.done()
