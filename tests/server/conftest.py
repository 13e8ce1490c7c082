"""A whole server over the test database, in this process, and keys to speak to it with."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest

from steadhold import access
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.play.single import Single
from steadhold.server.app import App
from steadhold.server.settings import Settings
from tests.web.toy import Client


@pytest.fixture(params=["lockstep", "single"])
def settings(request: pytest.FixtureRequest, dsn: str) -> Settings:
    return Settings(database_url=dsn, pool_size=6, player=request.param, background=False)


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    app = App(settings)
    await app.start()
    yield app
    await app.stop()


async def key_of(app: App, workspace: str, *, kind: str = "person", scopes: tuple[str, ...] = ("*:*",)) -> str:
    token = Token("test", key_id_of(new_id()), secret_of(os.urandom(32)))
    single = Single(app.engine.pool)
    where = access.HOUSE if kind == "operator" else workspace
    made = await single.play(
        access.import_key.call(
            where, token.key_id, token.hash, env="test", subject=f"{kind}-{token.key_id}", kind=kind, scopes=scopes
        )
    )
    assert isinstance(made, access.Made)
    return token.text


@pytest.fixture
async def call(app: App, workspace: str) -> Client:
    return Client(app, await key_of(app, workspace))
