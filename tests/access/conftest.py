"""The first key of a test's workspace."""

from __future__ import annotations

import pytest

from steadhold import access
from steadhold.access.model import Actor, Made
from tests.access.people import a_token


@pytest.fixture
def boss(conn, workspace):
    """The first key of a workspace: a person with every scope. Answers the actor that it is."""
    token = a_token()
    made = access.import_key(
        conn, workspace, token.key_id, token.hash, env="live", subject="boss", kind="person", scopes=("*:*",)
    )
    assert isinstance(made, Made)
    return Actor("boss", token.key_id)
