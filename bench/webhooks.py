"""(f) Webhooks: deliveries a second, claims beside 100,000 that wait, and how soon an event arrives.

That alone, and beside 20 receivers that mean no good. Every attempt is committed before its connection is opened, and
what it came to afterwards.
"""

from __future__ import annotations

import asyncio
import base64
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import asyncpg

from bench import driver, stand
from bench.figures import percentile
from bench.receivers import Receiver, receiving
from bench.run import Run
from steadhold import AsyncClient, events
from steadhold.db.embedded import Embedded
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from steadhold.webhooks import delivering
from steadhold.webhooks.model import Batch

SETTINGS: Final = {
    "sealing_key": base64.b64encode(bytes(range(32))).decode(),
    "webhooks_allow": "http://127.0.0.0/8:*",
}
DELIVERIES, CONCURRENCY = 6_000, 32
MANY = 20
LAGS = 300
PENDING, LANES = 100_000, 1_000
CLAIMS = 1_000
HOSTILE, BACKLOG = 20, 100
AT_ONCE = 500
WAIT_SECONDS = 120.0
PAUSE_SECONDS = 0.03
"""Between two events: they come one by one, and at no fixed place of a tick."""

BODY: Final = b'{"a":1,"b":"hello world"}'

STANDING: Final = """
with body as (
  insert into steadhold.webhook_bodies (workspace, event_id, aggregate_id, aggregate_revision, type, body, made_at)
  select $1, 'standing', 'standing', 1, 'bench', '{}', steadhold.clock() returning made_at
)
insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, lane, place, state, attempts, tries, next_at,
  announce_at, made_at)
select $1, gen_random_uuid(), $2::uuid, 'standing', 0, 'lane-' || n % $4, n / $4, case when n < $4 then 5 else 0 end,
  0, 0, null, case when n < $4 then made_at + interval '1 day' end, made_at
from body, generate_series(0, $3 - 1) n
"""


async def take(run: Run, postgres: Embedded, _at: Path) -> None:
    """All of it through one server, but for the claims, which are played as the dispatcher plays them."""
    dsn = await driver.new_database(postgres.dsn, "webhooks")
    workspace = f"webhooks-{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        served = stack.enter_context(stand.server(dsn, **SETTINGS))
        async with AsyncClient(served.url, stand.workspace(served, workspace)) as client:
            of = Bench(client, dsn, workspace, run)
            for name, round_ in run.wanted(("deliveries", "deliveries_many", "claim", "lag", "lag_beside")):
                run.keep(name, round_, await getattr(of, name)())


class Bench:
    """What is measured, each with webhooks of its own, which are removed afterwards."""

    def __init__(self, client: AsyncClient, dsn: str, workspace: str, run: Run) -> None:
        self._client, self._dsn, self._workspace, self._run = client, dsn, workspace, run

    async def deliveries(self) -> dict[str, Any]:
        """To one receiver."""
        return await self._delivered(1, CONCURRENCY)

    async def deliveries_many(self) -> dict[str, Any]:
        """To many webhooks of the same receiver, each as wide as they are if nothing is said."""
        return await self._delivered(MANY, 4)

    async def claim(self) -> dict[str, Any]:
        """One due delivery after another claimed, at a webhook whose other deliveries wait behind blocked ones."""
        pending, claims = self._run.scaled(PENDING, least=2_000), self._run.scaled(CLAIMS, least=50)
        name = uuid.uuid4().hex
        webhook = await self._made("http://127.0.0.1:9/hook", name, ordered="aggregate", on_exhausted="block")
        await self._client.webhooks.disable(webhook)  # the server's own dispatcher leaves it alone until it is wanted
        conn = await asyncpg.connect(self._dsn)
        try:
            await conn.execute(STANDING, self._workspace, webhook, pending, min(LANES, pending // 2))
            await conn.execute("vacuum analyze steadhold.deliveries")
            took = await self._claimed(webhook, claims, conn)
            await conn.execute("delete from steadhold.deliveries where webhook = $1::uuid", webhook)
        finally:
            await conn.close()
        await self._removed(webhook)
        return {"pending": pending, "claims": len(took), **_spread(took)}

    async def lag(self) -> dict[str, Any]:
        """From the commit of an event to its arrival, one at a time."""
        return await self._lags()

    async def lag_beside(self) -> dict[str, Any]:
        """The same, while receivers that mean no good have as much to come, and more with each event."""
        with stand.hostile(HOSTILE) as urls:
            name = uuid.uuid4().hex
            hostile = [await self._made(url, "*", retry_seconds=[0.0] * 20) for url in urls]
            try:
                await self._happen(name, self._run.scaled(BACKLOG, least=10))
                return {**await self._lags(), "hostile": len(hostile)}
            finally:
                for webhook in hostile:
                    await self._removed(webhook)

    async def _delivered(self, webhooks: int, concurrency: int) -> dict[str, Any]:
        name, count = uuid.uuid4().hex, self._run.scaled(DELIVERIES, least=100)
        async with receiving() as receiver:
            made = [
                await self._made(f"{receiver.url}/{n}", f"{name}.{n}", concurrency=concurrency) for n in range(webhooks)
            ]
            began = time.perf_counter()
            for n in range(webhooks):
                await self._happen(f"{name}.{n}", count // webhooks)
            await receiver.until(count // webhooks * webhooks, WAIT_SECONDS)
            await self._settled(made)
            whole = time.perf_counter() - began
            for webhook in made:
                await self._removed(webhook)
        done = len(receiver.at)
        return {
            "deliveries_per_second": done / whole,
            "deliveries": done,
            "webhooks": webhooks,
            "concurrency": concurrency,
        }

    async def _settled(self, webhooks: list[str]) -> None:
        """Wait until what every attempt came to is written down."""
        conn = await asyncpg.connect(self._dsn)
        try:
            while True:
                if not await conn.fetchval(OPEN, self._workspace, webhooks):
                    return
                await asyncio.sleep(0.005)
        finally:
            await conn.close()

    async def _claimed(self, webhook: str, claims: int, conn: asyncpg.Connection[Any]) -> list[float]:
        took: list[float] = []
        async with Pool(self._dsn, size=2) as pool:
            play = Single(pool).play
            fence = await play(delivering.lease.call(self._workspace, webhook, "bench"))
            assert fence is not None
            await self._client.webhooks.enable(webhook)
            for n in range(claims + 10):
                await conn.execute(DUE, self._workspace, webhook, f"due-{n}")
                began = time.perf_counter()
                batch = await play(delivering.begin.call(self._workspace, webhook, fence, 1))
                ended = time.perf_counter()
                assert isinstance(batch, Batch)
                assert len(batch.sendings) == 1
                await conn.execute(OVER, self._workspace, batch.sendings[0].delivery)
                if n >= 10:  # the first ones plan
                    took.append((ended - began) * 1e3)
                if n % 100 == 0:
                    await play(delivering.renew.call(self._workspace, webhook, fence))
        return took

    async def _lags(self) -> dict[str, Any]:
        name, took = uuid.uuid4().hex, list[float]()
        conn = await asyncpg.connect(self._dsn)
        async with receiving() as receiver:
            webhook = await self._made(receiver.url, name)
            try:
                for n in range(self._run.scaled(LAGS, least=5)):
                    took.append(await self._lag(conn, receiver, name, n))
                    await asyncio.sleep(PAUSE_SECONDS)
            finally:
                await self._removed(webhook)
                await conn.close()
        return {"lags": len(took), **_spread(took)}

    async def _lag(self, conn: asyncpg.Connection[Any], receiver: Receiver, name: str, n: int) -> float:
        async with conn.transaction():
            await self._appended(conn, f"{name}-{n}", name, 1)
        began = time.perf_counter()
        await receiver.until(n + 1, WAIT_SECONDS)
        return (max(receiver.at.values()) - began) * 1e3

    async def _happen(self, type: str, count: int) -> None:
        conn = await asyncpg.connect(self._dsn)
        try:
            for first in range(0, count, AT_ONCE):
                async with conn.transaction():
                    await self._appended(conn, f"{type}-{first}", type, min(AT_ONCE, count - first))
        finally:
            await conn.close()

    async def _appended(self, conn: asyncpg.Connection[Any], aggregate: str, type: str, count: int) -> None:
        for first in range(0, count, 100):
            told = [events.Happened(type, BODY) for _ in range(min(100, count - first))]
            name = f"{aggregate}-{first}"
            await events.append(conn, self._workspace, name, None, told, state="new", aggregate_type="bench")

    async def _made(self, url: str, types: str, **spec: Any) -> str:
        made = await self._client.webhooks.create(url, [types], **spec)
        await self._client.webhooks.enable(made.webhook_id)
        return made.webhook_id

    async def _removed(self, webhook: str) -> None:
        found = await self._client.webhooks.get(webhook)
        await self._client.webhooks.delete(webhook, if_revision=found.revision)


DUE: Final = """
insert into steadhold.deliveries (workspace, id, webhook, event_id, kind, lane, place, state, next_at, made_at)
select $1, gen_random_uuid(), $2::uuid, 'standing', 0, $3, 1, 0, steadhold.clock(), steadhold.clock()
"""
OPEN: Final = """
select exists (select from steadhold.deliveries d
  where d.workspace = $1 and d.webhook = any($2::uuid[]) and d.state in (0, 5))
"""
OVER: Final = """
update steadhold.attempts set state = 1, ended_at = steadhold.clock() where workspace = $1 and delivery = $2::uuid
"""


def _spread(took: list[float]) -> dict[str, float | None]:
    return {"p50_ms": percentile(took, 0.5), "p99_ms": percentile(took, 0.99), "max_ms": max(took)}
