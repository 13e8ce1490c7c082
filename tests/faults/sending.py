"""A dispatcher in a process of its own: `sending.py DSN WORKSPACE KEY` sends what is due, until nothing is."""

from __future__ import annotations

import asyncio
import sys

import asyncpg

from steadhold.db.pool import Pool
from steadhold.kit import seal
from steadhold.kit.ids import new_id
from steadhold.play.single import Single
from steadhold.webhooks import dispatch, guard
from steadhold.webhooks.dispatch import Dispatcher

DUE = "select workspace, webhook::text from steadhold.due_deliveries() where workspace = $1"

dispatch.IDLE_SECONDS = (0.25,)  # what has nothing to send is left at once


def alarm(error, facts):
    raise error


async def main(dsn, workspace, key):
    async with Pool(dsn, size=4) as pool:
        conn = await asyncpg.connect(dsn)

        async def due():
            return [tuple(row) for row in await conn.fetch(DUE, workspace)]

        rules = guard.read_rules(("http://127.0.0.0/8:*",))
        dispatcher = Dispatcher(Single(pool).play, due, seal.read_keys(key), rules, new_id(), alarm)
        while await due():
            await dispatcher.tick()
            await dispatcher.drained()
        await conn.close()


asyncio.run(main(*sys.argv[1:]))
