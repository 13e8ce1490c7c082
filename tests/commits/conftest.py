from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from steadhold import access, fences
from steadhold.access.authenticate import within
from steadhold.db.pool import Pool
from steadhold.kit.ids import new_id
from steadhold.play.single import Single
from steadhold.server import rooms
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.access.people import a_token
from tests.jobs.house import House as Jobs
from tests.web.toy import Client


class Touched(Hub):
    """Remembers what was touched."""

    def __init__(self):
        super().__init__()
        self.topics = []

    def touch(self, topic):
        self.topics.append(topic[1:])
        super().touch(topic)


class House(Jobs):
    """All doors over a real database, and clients with keys of any scopes."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        self.hub = Touched()
        above = replace(self.doors.above, reach=within, require=fences.require)
        self.doors = Doors(rooms.routes(), above, hub=self.hub, flights=Flights())

    async def ask(self, method, target, value=None, **headers):
        return await self(method, target, value, **headers)

    async def key(self, *scopes, kind="service", subject="anna"):
        token = a_token()
        wanted = {"env": "live", "subject": subject, "kind": kind, "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        client = Client(self.doors, token.text)

        async def ask(method, target, value=None, **headers):
            body = b"" if value is None else msgspec.json.encode(value)
            return await client(method, target, body, **{"idempotency_key": new_id(), **headers})

        return ask

    async def put(self, name, value=b"1"):
        await self.ask("PUT", f"/v1/state/{name}", value, if_none_match="*")

    async def running(self):
        return await self.claimed()

    async def locked(self, name="deploy"):
        return (await self.ask("POST", f"/v1/locks/{name}/acquire", {"owner": "anna", "ttl_seconds": 30})).json["fence"]

    async def inbox(self):
        """Inbox `a` with one event and the consumer `c`: its epoch."""
        await self.ask("PUT", "/v1/inboxes/a", {}, if_none_match="*")
        await self.ask("PUT", "/v1/inboxes/a/consumers/c", {}, if_none_match="*")
        json = {"content_type": "application/json"}
        return (await self.ask("POST", "/v1/inboxes/a/events", {"type": "t", "data": 1}, **json)).json["epoch"]

    async def approved(self, **artifact):
        asked = {"artifact": artifact, "action": "deploy", "title": "May I?", "approvers": ["berta"],
                 "expires_in_seconds": 60}  # fmt: skip
        id = (await self.ask("POST", "/v1/approvals", asked)).json["approval_id"]
        berta = await self.key("approvals:*", kind="person", subject="berta")
        await berta("POST", f"/v1/approvals/{id}/votes", {"decision": "approve", "hash": artifact["hash"]})
        return id

    async def commit(self, *, require=(), apply=(), ask=None, **headers):
        return await (ask or self.ask)("POST", "/v1/commits", {"require": require, "apply": apply}, **headers)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield await House(Single(pool), workspace).enter(("*:*",))
