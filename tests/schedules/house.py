"""The doors of schedules and jobs over a real database."""

from __future__ import annotations

from dataclasses import replace

from steadhold.access.authenticate import within
from steadhold.jobs.routes import ROUTES as JOBS
from steadhold.schedules.routes import ROUTES
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.jobs.house import House as Jobs

SCOPES = ("schedules:*", "jobs:*", "inboxes:*")


class House(Jobs):
    """The doors, and a client that may do everything with schedules, jobs and inboxes."""

    def __init__(self, player, workspace):
        super().__init__(player, workspace)
        above = replace(self.doors.above, reach=within)
        self.doors = Doors((*ROUTES, *JOBS), above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=SCOPES):
        return await super().enter(scopes)

    async def made(self, id="s", **said):
        """A schedule, hourly unless it is said otherwise."""
        body = {"every_seconds": 3_600, "target": {"job": {"type": "t"}}, **said}
        return await self("PUT", f"/v1/schedules/{id}", body, if_none_match="*")
