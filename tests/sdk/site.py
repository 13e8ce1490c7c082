"""A real server in a thread of the test process, over the run's PostgreSQL."""

from __future__ import annotations

import asyncio
import secrets
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from steadhold import access
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.play.transaction import opening
from steadhold.sdk import AsyncClient, Client
from steadhold.server.app import App
from steadhold.server.run import listen, serving, url_of
from steadhold.server.settings import Settings
from steadhold.testing.database import copied


class Site:
    """Where the server is, and an operator's key to it."""

    def __init__(self, url, operator_key, database):
        self.url, self.operator_key, self.database = url, operator_key, database

    def workspace(self):
        """A new workspace's first key."""
        with Client(self.url, self.operator_key) as operator:
            return operator.workspaces.create(f"t-{uuid.uuid4().hex[:12]}")


@contextmanager
def served(settings) -> Iterator[str]:
    """Serve from a thread; the address."""
    listener = listen(settings)
    started, ended = threading.Event(), asyncio.Event()
    loops = []

    async def serve():
        async with serving(App(settings), listener):
            loops.append(asyncio.get_running_loop())
            started.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(30)
        yield url_of(settings, listener)
    finally:
        loops[0].call_soon_threadsafe(ended.set)
        thread.join()
        listener.close()


def operator_key(database):
    """Import an operator's key."""
    token = Token("test", key_id_of(new_id()), secret_of(secrets.token_bytes(32)))
    with database.connect() as conn, conn.transaction():
        conn.execute(opening(access.HOUSE, 5_000).encode())
        made = access.import_key(
            conn, access.HOUSE, token.key_id, token.hash,
            env="test", subject="operator", kind="operator", scopes=["*:*"],
        )  # fmt: skip
    assert isinstance(made, access.Made), made
    return token.text


@pytest.fixture(scope="module")
def site(server_run):
    with (
        copied(server_run, "site") as database,
        served(Settings(database_url=database.dsn, port=0)) as url,
    ):
        yield Site(url, operator_key(database), database)


@pytest.fixture
def key(site):
    return site.workspace()


@pytest.fixture(name="client")
def real_client(site, key):
    """A client in a workspace of its own, for modules that import this."""
    with Client(site.url, key.key) as made:
        yield made


@pytest.fixture(name="aclient")
async def real_aclient(site, key):
    """The same, asynchronous."""
    async with AsyncClient(site.url, key.key) as made:
        yield made
