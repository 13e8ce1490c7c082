"""What is sealed is nowhere to be read: not in the server's memory, its log, its metrics, nor in the database."""

from __future__ import annotations

import contextlib
import itertools
import re
import secrets
from pathlib import Path

import httpx2
import pytest

from steadhold.envelopes import Keyring
from steadhold.sdk import Client
from steadhold.sdk.errors import PlaintextRefused
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures


def memory(pid):
    """All that a process holds in memory, region by region."""
    with Path(f"/proc/{pid}/maps").open(encoding="utf-8") as maps, Path(f"/proc/{pid}/mem").open("rb", 0) as mem:
        for line in maps:
            low, high, modes = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if modes.startswith("rw"):
                mem.seek(int(low, 16))
                with contextlib.suppress(OSError):  # a region that is not there to be read, such as vvar
                    yield mem.read(int(high, 16) - int(low, 16))


def tables(database):
    """Every row of every table as text, in which bytes are hexadecimal."""
    of = "from pg_class c where c.relkind = 'r' and c.relnamespace = 'steadhold'::regnamespace"
    with database.connect() as conn:
        for (name,) in conn.execute(f"select c.oid::regclass::text {of}").fetchall():
            yield from (row.encode() for (row,) in conn.execute(f"select t::text from {name} t"))


def assert_nowhere(looked, *places):
    for region in itertools.chain(*places):
        assert not [what for what in looked if what in region]


def unsealed(site, key, text):  # noqa: F811 - fixtures
    """What is answered to who sends what can be read to a private prefix, as if there were no client of ours."""
    with site.client(key) as client:
        headers = {"if-none-match": "*", "content-type": "application/json"}
        refused = [
            client.put(f"/v1/{room}/secret/b", content=f'"{text}"', headers=headers) for room in ("state", "context")
        ]
    assert [answer.json()["code"] for answer in refused] == ["plaintext_refused"] * 2
    return b"".join(answer.content + str(answer.headers).encode() for answer in refused)


def test_a_canary_is_found_nowhere(house, key):  # noqa: F811 - fixtures
    canary, bare, keyring = secrets.token_hex(24), secrets.token_hex(24), Keyring.generate()
    looked = [form for it in (canary.encode(), keyring.primary.secret) for form in (it, it.hex().encode())]
    with server(house.dsn) as site, Client(site.url, key) as client:
        client.prefixes.make("state", "secret")
        client.prefixes.make("context", "secret")
        private, files = client.private(keyring).state, client.private(keyring).context
        private.create("secret/a", canary)
        private.update("secret/a", lambda value: [value, value])
        assert private.get("secret/a").value == [canary, canary]
        files.write("secret/a", canary.encode() * 9_000, if_revision=None)
        assert files.read("secret/a").body == canary.encode() * 9_000
        with pytest.raises(PlaintextRefused):
            private.create("open/a", canary)
        refused = unsealed(site, key, bare)
        told = httpx2.get(f"{site.url}/metrics").content
        assert any(b"secret/a" in region for region in memory(site.process.pid)), "what is not sealed is found"
        assert any(b"secret/a" in row for row in tables(house))
        assert_nowhere(looked, memory(site.process.pid), [site.said().encode(), told], tables(house))
        assert_nowhere(
            [bare.encode(), bare.encode().hex().encode()], [refused, site.said().encode(), told], tables(house)
        )
