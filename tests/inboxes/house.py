"""The doors of inboxes over a real database, and a client of them."""

from __future__ import annotations

from dataclasses import replace

from steadhold import fences
from steadhold.access.authenticate import within
from steadhold.inboxes.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.jobs.house import House as Jobs


class House(Jobs):
    """The doors of inboxes; the inbox is `a`, its consumer `c`."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        above = replace(self.doors.above, reach=within, require=fences.require, alarm=_raised)
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=("inboxes:*",)):
        return await super().enter(scopes)

    async def make(self, name="a", **retention):
        return await self("PUT", f"/v1/inboxes/{name}", {"retention": retention}, if_none_match="*")

    async def send(self, key=None, inbox="a", **event):
        event = {"type": "t", "data": 1, **event}
        headers = {"content_type": "application/json", "idempotency_key": key or new_id()}
        return await self("POST", f"/v1/inboxes/{inbox}/events", event, **headers)

    async def batch(self, *lines, inbox="a"):
        target = f"/v1/inboxes/{inbox}/events"
        return await self.client("POST", target, b"\n".join(lines), content_type="application/x-ndjson")

    async def read(self, inbox="a", **query):
        asked = "&".join(f"{name}={value}" for name, value in query.items())
        return await self("GET", f"/v1/inboxes/{inbox}/events" + (f"?{asked}" if asked else ""))

    async def consume(self, name="c", start="earliest"):
        return await self("PUT", f"/v1/inboxes/a/consumers/{name}", {"start": start}, if_none_match="*")

    async def ack(self, sequence, epoch=None, name="c", **more):
        epoch = epoch or (await self("GET", "/v1/inboxes/a")).json["epoch"]
        headers = {"fence": more.pop("held")} if "held" in more else {}
        body = {"epoch": epoch, "sequence": sequence, **more}
        return await self("POST", f"/v1/inboxes/a/consumers/{name}/acknowledge", body, **headers)


def _raised(error, _facts):
    raise error
