"""A server over the test database, and somebody before its dashboard."""

from __future__ import annotations

import pytest

from steadhold.server.app import App
from steadhold.server.settings import Settings
from tests.dashboard.seats import SEALING, Seat, key_of
from tests.web.toy import Client


@pytest.fixture
def settings(dsn):
    return Settings(database_url=dsn, pool_size=4, background=False, sealing_key=SEALING)


@pytest.fixture
async def app(settings):
    app = App(settings)
    await app.start()
    yield app
    await app.stop()


@pytest.fixture
async def owner(app, workspace):
    """A key of a person with every scope, by which tests put things there."""
    return await key_of(app, workspace)


@pytest.fixture
def door(app, owner):
    """The workspace's doors, as its owner: `await door("PUT", "/v1/state/a", b"1", if_none_match="*")`."""
    return Client(app, owner)


@pytest.fixture
async def seat(app, owner):
    """The owner before the dashboard, logged in."""
    seat = Seat(app)
    await seat.log_in(owner)
    return seat


@pytest.fixture
def seated(app, workspace):
    """Log in with a key of these scopes: `seat = await seated("jobs:read")`."""

    async def sit(*scopes, kind="person"):
        seat = Seat(app)
        await seat.log_in(await key_of(app, workspace, kind=kind, scopes=scopes))
        return seat

    return sit
