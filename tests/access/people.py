"""Whom the tests of access know: keys, their makers, and what was recorded of them."""

from __future__ import annotations

import asyncio

from steadhold import access
from steadhold.access import plans
from steadhold.access.model import Actor
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.play.single import Unavailable

NOBODY = Actor("nobody", None)


def a_token(random=bytes(range(32)), env="live"):
    return Token(env, key_id_of(new_id()), secret_of(random))


def a_name():
    return f"w{key_id_of(new_id()).lower()}"


def make(conn, workspace, by, *, subject="robot", kind="service", scopes=("state:read",), seconds=None, token=None):
    token = token or a_token()
    wanted = {"subject": subject, "kind": kind, "scopes": scopes, "expires_in_seconds": seconds}
    return access.make_key(conn, workspace, token.key_id, token.hash, **wanted, by=by)


def find(conn, workspace, key_id):
    return plans.find_key(conn, workspace, key_id)


def trail(conn, workspace, **wanted):
    return [(row.subject, row.key_id, row.kind, row.resource) for row in access.trail(conn, workspace, 100, **wanted)]


async def made(player, workspace, *, scopes=("*:*",), kind="person", env="live"):
    token = a_token(env=env)
    wanted = {"env": env, "subject": "boss", "kind": kind, "scopes": scopes}
    await player.play(access.import_key.call(workspace, token.key_id, token.hash, **wanted))
    return token


def by(token):
    return Actor("boss", token.key_id)


def dumped(database):
    """Everything that lies in the tables of a database, as text; bytes are written in hexadecimal."""
    with database.connect() as owner:
        tables = owner.execute(
            "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname = 'steadhold'"
        ).fetchall()
        rows = [row[0] for (table,) in tables for row in owner.execute(f"select t::text from {table} t").fetchall()]
    return "\n".join(rows)


class Time:
    """A process's own clock, moved by hand."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


class Counted:
    """A player that counts what it is asked, and can be held up or cut off."""

    def __init__(self, player):
        self.player, self.asked = player, []
        self.gate, self.cut = asyncio.Event(), False
        self.gate.set()

    async def play(self, call):
        self.asked.append(call.name)
        await self.gate.wait()
        if self.cut:
            raise Unavailable("the database is away")
        return await self.player.play(call)
