"""The doors of effects over a real database, and somebody at each."""

from __future__ import annotations

import functools

import msgspec

from steadhold import access
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.effects.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.effects.people import DIGEST
from tests.web.toy import Client

MEANT = {"kind": "charge", "target": "venue", "request_digest": DIGEST, "amount": "12.50", "currency": "EUR"}


class Somebody:
    """A client of one subject."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, method, target, value=None, **headers):
        headers = {k: v for k, v in {"idempotency_key": new_id(), **headers}.items() if v is not None}
        body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        return await self.client(method, target, body, **headers)

    async def plans(self, id=None, headers=None, **more):
        body = {"effect_id": id or f"c-{new_id()}", **MEANT, **more}
        return await self("POST", "/v1/effects", body, **(headers or {}))

    async def planned(self, **more):
        return (await self.plans(**more)).json["effect_id"]

    async def begun(self, **more):
        id = await self.planned(**more)
        assert (await self.says("initiate", id)).status == 200
        return id

    async def says(self, verb, id, value=None, **headers):
        return await self("POST", f"/v1/effects/{id}/{verb}", value, **headers)

    async def tells(self, id, execution, **more):
        return await self.says("outcome", id, {"execution": execution, **more})

    async def reads(self, id, query="", **headers):
        return await self("GET", f"/v1/effects/{id}{query}", **headers)

    async def enters(self, journal="sales", **entry):
        said = {"entry_id": "1", "amount": "12.50", "currency": "EUR", **entry}
        return await self("POST", f"/v1/journals/{journal}/entries", said)


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

    async def enter(self, subject="worker", scopes=("effects:*",)):
        token = a_token()
        wanted = {"env": "live", "subject": subject, "kind": "service", "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        return Somebody(Client(self.doors, token.text))
