"""The doors of effects over a real database, and somebody at each."""

from __future__ import annotations

import msgspec

from steadhold.effects.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.approvals.house import House as Approvals
from tests.effects.people import DIGEST

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


class House(Approvals):
    """The doors, and a key for whoever comes."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        self.doors = Doors(ROUTES, self.doors.above, hub=Hub(), flights=Flights())

    async def enter(self, subject="worker", scopes=("effects:*",)):
        return Somebody((await super().enter(subject, "service", scopes)).client)
