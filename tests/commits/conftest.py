from __future__ import annotations

import functools

import msgspec
import pytest

from steadhold import access
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.db.pool import Pool
from steadhold.kit.ids import new_id
from steadhold.play.single import Single
from steadhold.server import rooms
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.web.toy import Client


class House:
    """All doors over a real database, and clients with keys of any scopes."""

    def __init__(self, player, workspace):
        self.player, self.workspace, keyring = player, workspace, Keyring(player)
        above = Above(
            play=player.play,
            authenticate=keyring.principal,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            known=keyring.known,
            house=HOUSE,
        )
        self.hub = Hub()
        self.doors = Doors(rooms.routes(), above, hub=self.hub, flights=Flights())

    async def key(self, *scopes, kind="service", subject="anna"):
        token = a_token()
        wanted = {"env": "live", "subject": subject, "kind": kind, "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        client = Client(self.doors, token.text)

        async def ask(method, target, value=None, **headers):
            headers.setdefault("idempotency_key", new_id())
            body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
            return await client(method, target, body, **headers)

        return ask

    async def enter(self):
        self.ask = await self.key("*:*")
        return self

    async def put(self, name, value=b"1"):
        await self.ask("PUT", f"/v1/state/{name}", value, if_none_match="*")

    async def running(self):
        job = (await self.ask("POST", "/v1/jobs", {"type": "t"})).json["job_id"]
        (claimed,) = (await self.ask("POST", "/v1/jobs:claim", {"worker": "w", "types": ["t"]})).json["jobs"]
        assert claimed["job_id"] == job
        return claimed

    async def locked(self, name="deploy"):
        return (await self.ask("POST", f"/v1/locks/{name}/acquire", {"owner": "anna", "ttl_seconds": 30})).json["fence"]

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
        yield await House(Single(pool), workspace).enter()
