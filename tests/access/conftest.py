"""The first key of a test's workspace, and a keyring to present it to."""

from __future__ import annotations

import pytest

from steadhold import access
from steadhold.access.authenticate import Keyring
from steadhold.access.model import Actor, Made
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests.access.people import Counted, Time, a_token


@pytest.fixture
def boss(conn, workspace):
    """The first key of a workspace: a person with every scope. Answers the actor that it is."""
    token = a_token()
    made = access.import_key(
        conn, workspace, token.key_id, token.hash, env="live", subject="boss", kind="person", scopes=("*:*",)
    )
    assert isinstance(made, Made)
    return Actor("boss", token.key_id)


@pytest.fixture
async def player(dsn):
    async with Pool(dsn, size=4) as pool:
        yield Single(pool)


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def here(player, time):
    return Keyring(Counted(player), now=time)
