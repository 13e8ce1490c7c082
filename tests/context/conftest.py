from __future__ import annotations

import functools

import msgspec
import pytest

from steadhold import access
from steadhold.access.authenticate import Keyring, permits, within
from steadhold.access.model import HOUSE
from steadhold.context.routes import ROUTES
from steadhold.db.pool import Pool
from steadhold.play.lockstep import Lockstep
from steadhold.play.single import Single
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.web.toy import Client


class House:
    """The doors of context over a real database, and a client that may do everything."""

    def __init__(self, player, workspace):
        self.player, self.workspace, self.keyring = player, workspace, Keyring(player)
        above = Above(
            play=player.play,
            authenticate=self.keyring.principal,
            permits=permits,
            reach=within,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            house=HOUSE,
        )
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=("context:*",)):
        token = a_token()
        wanted = {"env": "live", "subject": "anna", "kind": "service", "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        self.client = Client(self.doors, token.text)
        return self

    async def __call__(self, method, target, value=None, **more):
        body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        return await self.client(method, target, body, **more)

    async def create(self, path, body=b"1", **more):
        """Create a file, of octets unless something else is said."""
        more.setdefault("content_type", "application/octet-stream")
        return await self("PUT", f"/v1/context/{path}", body, if_none_match="*", **more)

    async def limited(self, **most):
        wanted = access.Entitlements(**most)
        by = access.Actor("operator", None)
        await self.player.play(access.put_entitlements.call(self.workspace, wanted, None, by=by))


@pytest.fixture(params=["single", "lockstep"])
async def house(request, dsn, workspace):
    async with Pool(dsn, size=6) as pool:
        player = Single(pool) if request.param == "single" else Lockstep(pool)
        yield await House(player, workspace).enter()
        if request.param == "lockstep":
            await player.close()
