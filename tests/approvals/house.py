"""The doors of approvals over a real database, and somebody at each."""

from __future__ import annotations

import functools

import msgspec

from steadhold import access
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.approvals.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.approvals.people import HOUR, ONE
from tests.web.toy import Client

AGENT = ("approvals:request", "approvals:read", "approvals:use")


class Somebody:
    """A client of one subject."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, method, target, value=None, **headers):
        headers = {k: v for k, v in {"idempotency_key": new_id(), **headers}.items() if v is not None}
        body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        return await self.client(method, target, body, **headers)

    async def asked(self, **more):
        return (await self.ask(**more)).json["approval_id"]

    async def ask(self, headers=None, **more):
        body = {"artifact": shown(ONE), "action": "deploy", "title": "Deploy it?", "expires_in_seconds": HOUR}
        return await self("POST", "/v1/approvals", {**body, **more}, **(headers or {}))

    async def votes(self, id, decision="approve", hash=ONE.hash, headers=None, **more):
        body = {"decision": decision, "hash": hash, **more}
        return await self("POST", f"/v1/approvals/{id}/votes", body, **(headers or {}))

    async def says(self, verb, id, value=None, **headers):
        return await self("POST", f"/v1/approvals/{id}/{verb}", value, **headers)

    async def uses(self, id, artifact=ONE, use_id="u", **headers):
        return await self.says("use", id, {**named(artifact), "use_id": use_id}, **headers)

    async def reads(self, id, query="", **headers):
        return await self("GET", f"/v1/approvals/{id}{query}", **headers)


class House:
    """The doors, and a key for whoever comes."""

    def __init__(self, player, workspace):
        self.player, self.workspace = player, workspace
        keyring = Keyring(player)
        above = Above(
            play=player.play,
            authenticate=keyring.principal,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            rate=keyring.rate,
            known=keyring.known,
            forget=keyring.forget,
            house=HOUSE,
        )
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def enter(self, subject, kind="person", scopes=("approvals:*",)):
        token = a_token()
        wanted = {"env": "live", "subject": subject, "kind": kind, "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        return Somebody(Client(self.doors, token.text))

    async def agent(self):
        """A program that asks and acts."""
        return await self.enter("agent", "service", AGENT)


def named(artifact):
    """The three members that name an artifact."""
    return {"reference": artifact.reference, "version": artifact.version, "hash": artifact.hash}


def shown(artifact):
    """An artifact as it is sent."""
    return {**named(artifact), "length": artifact.length}
