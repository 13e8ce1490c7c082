"""Doors to operations over a real database, with one verb of the kind that needs an id."""

from __future__ import annotations

import functools

import pytest

from steadhold.access.authenticate import permits
from steadhold.db.pool import Pool
from steadhold.events import Appended
from steadhold.operations.routes import routes
from steadhold.play.single import Single
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web import reply
from steadhold.web.ask import Ask, Principal, Problem, Route
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.operations.effects import make
from tests.web.toy import Client


def make_thing(ask):
    def render(made):
        if isinstance(made, Appended):
            return reply.json({"made": True}, 201, revision=made.revision, resource=ask.params["name"])
        return Problem("condition_false", "It is there already.")

    return Ask(make(ask.workspace, ask.params["name"]), render)


THING = Route("POST", "/v1/things/{name}", make_thing, "state:write", "Make", scoped="name", receipt="required")


class House:
    """Doors, and clients with scopes of their own."""

    def __init__(self, pool, workspace, kept_seconds=7 * 86_400.0):
        self.workspace, self.people = workspace, {}
        self.player = Single(pool, lock_timeout_ms=200)
        above = Above(
            play=self.player.play,
            authenticate=self.authenticate,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=kept_seconds),
            trouble=trouble,
        )
        self.doors = Doors((*routes(kept_seconds), THING), above, hub=Hub(), flights=Flights())

    async def authenticate(self, token):
        return self.people.get(token)

    def client(self, subject, *scopes):
        self.people[subject] = Principal(self.workspace, subject, subject, "service", scopes)
        return Client(self.doors, subject)


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield House(pool, workspace)


@pytest.fixture
async def patient_house(dsn, workspace):
    """Doors of a server that keeps receipts for thirty days."""
    async with Pool(dsn, size=4) as pool:
        yield House(pool, workspace, kept_seconds=30 * 86_400.0)


@pytest.fixture
def anna(house):
    return house.client("anna", "state:write")
