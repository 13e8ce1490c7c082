"""A server as guides take it for given: it has a key to seal secrets with."""

from __future__ import annotations

import base64

import pytest

from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from tests.sdk.site import Site, operator_key, served


@pytest.fixture(scope="session")
def site(server_run):
    sealing = base64.b64encode(bytes(32)).decode()
    with (
        copied(server_run, "docs") as database,
        served(Settings(database_url=database.dsn, port=0, sealing_key=sealing)) as url,
    ):
        yield Site(url, operator_key(database), database)


@pytest.fixture
def key(site):
    return site.workspace()
