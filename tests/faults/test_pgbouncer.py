"""The real PgBouncer lends connections by the transaction: its sessions are nobody's, and are left as they came."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from steadhold.db.connection import connect
from steadhold.server.app import App
from steadhold.server.settings import Settings
from tests.server.conftest import key_of
from tests.suites.npm import absent
from tests.web.toy import Client

CONFIG = """
[databases]
* = host={host} port=5432 user=steadhold
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
auth_type = any
pool_mode = transaction
default_pool_size = 3
"""


@pytest.fixture
def bouncer(fresh_database):
    """The URL of the database through PgBouncer, on a socket in a folder of its own."""
    program = shutil.which("pgbouncer") or absent("no PgBouncer: apt-get install pgbouncer")
    at = urlsplit(fresh_database.dsn)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        config = Path(folder, "pgbouncer.ini")
        config.write_text(CONFIG.format(host=parse_qs(at.query)["host"][0], folder=folder))
        other = ["-u", "nobody"] if os.geteuid() == 0 else []
        process = subprocess.Popen([program, "-q", *other, config], stderr=subprocess.PIPE)
        try:
            _listening(process, f"{folder}/.s.PGSQL.6432")
            yield f"postgresql://steadhold@{at.path}?host={folder}&port=6432"
        finally:
            process.terminate()
            process.communicate()


def _listening(process, path):
    while process.poll() is None:
        with socket.socket(socket.AF_UNIX) as asks:
            if asks.connect_ex(path) == 0:
                return
    pytest.fail(f"PgBouncer ended: {process.communicate()[1].decode()}")


async def test_its_sessions_are_known_not_to_be_ours(bouncer, fresh_database):
    for dsn, direct in ((bouncer, False), (fresh_database.dsn, True)):
        conn = await connect(dsn, seconds=10.0, statements=5, application_name="steadhold")
        assert conn.direct is direct
        await conn.close()


@pytest.mark.parametrize("player", ["lockstep", "single"])
async def test_a_server_leaves_nothing_in_its_sessions(bouncer, fresh_database, player):
    """Writes and readings of two workspaces, and whoever is lent a session afterwards finds it as it came."""
    places = [fresh_database.new_workspace() for _ in range(2)]
    settings = Settings(pool_size=4, player=player, prepared_statements=0, background=False)
    app = App(msgspec.structs.replace(settings, database_url=bouncer))
    await app.start()
    calls = [Client(app, await key_of(app, place)) for place in places]
    for n in range(6):
        for place, call in zip(places, calls, strict=True):
            assert (
                await call("PUT", f"/v1/state/n{n}", place.encode().join([b'"', b'"']), if_none_match="*")
            ).status == 201
            assert (await call("GET", f"/v1/state/n{n}")).body == b'"%b"' % place.encode()
    left = "select coalesce(current_setting('steadhold.workspace', true), '') || current_user"
    for _ in range(3):
        conn = await connect(bouncer, seconds=10.0, statements=0, application_name="somebody else")
        assert await conn.fetchval(left) == "steadhold"
        await conn.close()
    await app.stop()
