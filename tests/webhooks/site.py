"""A workspace with endpoints, and dispatchers that send to them: real rows, real sockets."""

from __future__ import annotations

import uuid
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import asyncpg

from steadhold.kit.ids import new_secret
from steadhold.kit.seal import Sealing
from steadhold.play.single import Single
from steadhold.webhooks import guard, heading, plans, replaying, sign
from steadhold.webhooks.dispatch import Dispatcher
from steadhold.webhooks.model import Spec
from tests.webhooks.house import BY, fan_out

RULES = guard.read_rules(("http://127.0.0.0/8:*",))
SECRET = sign.secret_text(bytes(range(32)))


class Site:
    """A workspace with endpoints, and dispatchers that send to them."""

    def __init__(self, dsn, pool, workspace):
        self.dsn, self.workspace, self.play = dsn, workspace, Single(pool).play
        self.sealing, self.alarms = Sealing((new_secret(),)), []

    async def endpoint(self, url, *, types=("*",), enabled=True, **spec):
        id = str(uuid.uuid4())
        sealed = self.sealing.seal(SECRET.encode(), heading.of_secret(self.workspace, id))
        await self.play(plans.create.call(self.workspace, id, Spec(url, types, **spec), ((sealed, None),), by=BY))
        if enabled:
            await self.play(plans.enable.call(self.workspace, id, by=BY))
        return id

    async def happen(self, *happened):
        await self.play(fan_out.call(self.workspace, happened))

    async def due(self):
        conn = await asyncpg.connect(self.dsn)
        try:
            found = await conn.fetch("select workspace, webhook::text from steadhold.due_deliveries()")
        finally:
            await conn.close()
        return [(row["workspace"], row["webhook"]) for row in found if row["workspace"] == self.workspace]

    def dispatcher(self, **more):
        def alarm(error, facts):
            self.alarms.append(error)

        return Dispatcher(self.play, self.due, self.sealing, RULES, str(uuid.uuid4()), alarm, **more)

    async def delivery(self, id):
        return await self.play(replaying.delivery.call(self.workspace, id))


@asynccontextmanager
async def sending(dispatcher):
    try:
        yield dispatcher
    finally:
        await dispatcher.close()


def far():
    """Behind every delivery there is."""
    return datetime(9999, 1, 1, tzinfo=UTC), str(uuid.UUID(int=0))
