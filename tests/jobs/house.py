"""The doors of jobs over a real database."""

from __future__ import annotations

import functools

import msgspec

from steadhold import access
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.jobs.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.web.toy import Client

NOBODY = "0198f000-0000-7000-8000-000000000000"


class House:
    """The doors of jobs over a real database, and a client that may do everything."""

    def __init__(self, player, workspace):
        self.player, self.workspace, self.keyring = player, workspace, Keyring(player)
        above = Above(
            play=player.play,
            authenticate=self.keyring.principal,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            rate=self.keyring.rate,
            known=self.keyring.known,
            forget=self.keyring.forget,
            house=HOUSE,
        )
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=("jobs:*",)):
        token = a_token()
        wanted = {"env": "live", "subject": "anna", "kind": "service", "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        self.client = Client(self.doors, token.text)
        return self

    async def __call__(self, method, target, value=None, **headers):
        headers.setdefault("idempotency_key", new_id())
        body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        return await self.client(method, target, body, **headers)

    async def submitted(self, type="t", **more):
        return (await self("POST", "/v1/jobs", {"type": type, **more})).json["job_id"]

    async def claimed(self, type="t", **more):
        """A job that is admitted and claimed: the claim's own account of it."""
        await self.submitted(type, **more)
        (job,) = (await self("POST", "/v1/jobs:claim", {"worker": "w", "types": [type], "limit": 1})).json["jobs"]
        return job

    async def settled(self, job, **outcome):
        return await self("POST", f"/v1/jobs/{job['job_id']}/settle", {"fence": job["fence"], "outcome": outcome})
