"""A server logs in with no right but to act as the application's role."""

from __future__ import annotations

import asyncio
import secrets
from urllib.parse import parse_qs, quote, urlsplit

from steadhold.server.app import App
from steadhold.server.settings import Settings
from steadhold.testing.database import Database
from tests.server.conftest import key_of
from tests.web.toy import Client


async def test_a_server_needs_no_right_but_the_applications(fresh_database: Database) -> None:
    """It serves, is ready, and does its duties, as a login that owns nothing."""
    workspace = fresh_database.new_workspace()
    login = f"plain_{secrets.token_hex(4)}"
    with fresh_database.connect() as conn:
        conn.execute(f"create role {login} login".encode())
        conn.execute(f"grant steadhold_app to {login}".encode())
        at = urlsplit(fresh_database.dsn)
        where = parse_qs(at.query)["host"][0]
        app = App(Settings(database_url=f"postgresql://{login}@{at.path}?host={quote(where)}"))
        try:
            await app.start()
            call = Client(app, await key_of(app, workspace))
            assert (await call("PUT", "/v1/state/n", b"1", if_none_match="*")).status == 201
            assert (await call("GET", "/readyz")).status == 200
            async with asyncio.timeout(10):
                while "duties" not in app.engine.tallies.successes:
                    await asyncio.sleep(0)
        finally:
            await app.stop()
            conn.execute(f"drop role {login}".encode())
