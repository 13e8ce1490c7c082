"""The doors for third parties of the inbox `a`, over a real database, and a third party that has no key."""

from __future__ import annotations

import base64
from dataclasses import replace

from steadhold.inboxes.door_keeper import Doorkeeper
from steadhold.inboxes.routes import routes
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.inboxes.house import House
from tests.inboxes.test_schemes import signed
from tests.web.toy import Client

KEY = b"It's a Secret to Everybody"
NAMES = ("standard", "github", "stripe", "slack", "hmac")
SECRETS = {name: KEY.decode() for name in NAMES} | {"standard": "whsec_" + base64.b64encode(KEY).decode()}
BODY = b'{"id": "evt_1", "event_id": "Ev1", "type": "paid", "n": 1.10}'
FIRST_IDS = {"standard": "m1", "github": "d1", "stripe": "evt_1", "slack": "Ev1", "hmac": "g1"}


class Street(House):
    """Doors of the inbox `a`, and a third party that has no key."""

    def sealed_by(self, sealing):
        self.keeper = keeper = Doorkeeper(self.player, self.keyring)
        watching = keeper.watching(self.doors.above.on)
        above = replace(self.doors.above, admit=keeper.principal, rate=keeper.rate, on=watching)
        made = routes(1e6, sealing, "https://hooks.example")
        self.doors = Doors(made, above, hub=Hub(), flights=Flights())
        return self

    async def open(self, scheme="github", **more):
        made = await self("POST", "/v1/inboxes/a/doors", {"scheme": scheme, "secret": SECRETS[scheme], **more})
        assert made.status == 201, made.json
        return made.json

    async def knock(self, token, headers, body=BODY):
        sent = {name.replace("-", "_"): value for name, value in headers.items()}
        return await Client(self.doors, None)("POST", f"/v1/in/{token}", body, **sent)

    def now(self):
        return int(self.clock.now().timestamp())

    async def send_as_client(self, key):
        return await super().send(key)

    async def send(self, door, body=BODY, key=KEY, off=0, **more):
        headers = {"content-type": "application/json", **signed(door["scheme"], body, key, self.now() + off), **more}
        return await self.knock(door["token"], headers, body)
