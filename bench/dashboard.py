"""The dashboard's overview over 1,000,000 jobs and 1,000,000 events, as a browser asks for it."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import asyncpg

from bench import driver, stand
from bench.figures import percentile
from bench.run import Run
from steadhold.db.embedded import Embedded

JOBS = EVENTS = 1_000_000
PUBLICATIONS = 30_000
LOOKS = 200
TYPES = 20
WORKSPACE = "dashboard"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

MAKE_JOBS = """
insert into steadhold.jobs (workspace, id, root, type, configuration_revision, state, priority, revision, attempts_max,
  lease_seconds, run_at, created_at, ended_at, input_digest, input, result, error_code, error_class, awaits)
select $1, x.id, x.id, 'type-' || (n % $3), 1, state, 5, 1, 5, 30, at, at, case when state >= 3 then at end, '\\x00',
  '{}', case when state = 3 then 'null'::bytea end, case when state = 4 then 'boom' end,
  case when state = 4 then (array['transient', 'timeout', 'permanent', 'bug'])[1 + n % 4] end,
  case when state = 2 then '[]'::bytea end
from (
  select n, gen_random_uuid() as id, steadhold.clock() - n * interval '0.25 seconds' as at,
    case when n % 1000 < 30 then 4 when n % 1000 < 80 then 0 when n % 1000 < 90 then 1 when n % 1000 < 110 then 2
      else 3 end as state
  from generate_series(1, $2::int) n) x
"""
"""Of a thousand 890 are completed, 30 failed, 50 accepted, 10 running, 20 waiting: four a second, over three days."""

MAKE_EVENTS = """
insert into steadhold.events (workspace, aggregate_id, aggregate_revision, schema_version, occurred_at, type, data,
  matched_at)
select $1, 'order-' || (n % 50000), 1 + n / 50000, 1, at, 'order.changed', '{}', at
from (select n, steadhold.clock() - n * interval '0.25 seconds' as at from generate_series(1, $2::int) n) x
"""
MAKE_PUBLICATIONS = """
insert into steadhold.publications (workspace, aggregate_id, aggregate_revision, subscription, id, target, lane, key,
  state, next_at, made_at)
select $1, 'order-' || n, 1, 's', gen_random_uuid(), 'inbox:none', 0, 'order-' || n, 1,
  steadhold.clock() + interval '1 day', steadhold.clock() from generate_series(1, $2::int) n
"""


async def take(run: Run, postgres: Embedded, _at: Path) -> None:
    """The page, and the part of it that is read again; as made, and once it was vacuumed."""
    dsn = await driver.new_database(postgres.dsn, "dashboard")
    with stand.server(dsn, background="false") as served:
        key = stand.workspace(served, WORKSPACE)
        await _fill(run, dsn)
        for name, round_ in run.wanted(("made", "vacuumed")):
            if name == "vacuumed":
                await _execute(dsn, "vacuum steadhold.jobs, steadhold.events, steadhold.publications")
            run.keep(name, round_, looked(served.port, key, run.scaled(LOOKS, least=20)))


async def _fill(run: Run, dsn: str) -> None:
    await _execute(dsn, MAKE_JOBS, run.scaled(JOBS, least=1000), TYPES)
    await _execute(dsn, MAKE_EVENTS, run.scaled(EVENTS, least=1000))
    await _execute(dsn, MAKE_PUBLICATIONS, run.scaled(PUBLICATIONS, least=1000))
    await _execute(dsn, "analyze")


async def _execute(dsn: str, statement: str, *numbers: int) -> None:
    conn = await asyncpg.connect(dsn, timeout=60)
    try:
        await conn.execute("select set_config('steadhold.workspace', $1, false)", WORKSPACE)
        await conn.execute(statement, *((WORKSPACE, *numbers) if numbers else ()), timeout=600)
    finally:
        await conn.close()


def looked(port: int, key: str, looks: int) -> dict[str, Any]:
    """How long the overview and its live part take, asked one after the other on one connection."""
    browser = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    cookie = signed_in(browser, key)
    figures: dict[str, Any] = {}
    for name, path in (("page", "/ui"), ("live", "/ui/overview/live")):
        took: list[float] = []
        for _ in range(looks):
            began = time.perf_counter()
            status, _ = _ask(browser, "GET", path, cookie)
            took.append((time.perf_counter() - began) * 1000)
            if status != 200:
                raise RuntimeError(f"{path} answered {status}")
        figures |= {f"{name}_p50_ms": percentile(took, 0.5), f"{name}_p99_ms": percentile(took, 0.99)}
    browser.close()
    return figures


def signed_in(browser: http.client.HTTPConnection, key: str) -> dict[str, str]:
    """Log in with a key; the field that a session's requests have."""
    form = urlencode({"key": key, "next": "/ui"})
    fields = _ask(browser, "POST", "/ui/login", {**FORM, "Origin": f"http://{browser.host}:{browser.port}"}, form)[1]
    return {"Cookie": fields["Set-Cookie"].partition(";")[0]}


def _ask(
    browser: http.client.HTTPConnection, method: str, path: str, fields: Mapping[str, str], body: str | None = None
) -> tuple[int, Mapping[str, str]]:
    browser.request(method, path, body, dict(fields))
    answer = browser.getresponse()
    answer.read()
    return answer.status, answer.headers
