"""What `steadhold doctor` asks of a database before it judges: nothing here has an opinion."""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from steadhold.db.migrate import Standing, standing
from steadhold.db.pooler import Pooler, look

CLOCK_ROUNDS = 5

SETTINGS = (
    "fsync", "full_page_writes", "synchronous_commit", "idle_in_transaction_session_timeout", "max_connections",
    "superuser_reserved_connections",
)  # fmt: skip

ASK = """
select current_setting('server_version_num')::int as version,
  pg_is_in_recovery() as standby,
  current_user as login,
  coalesce((select pg_has_role(r.oid, 'usage') from pg_roles r where r.rolname = 'steadhold_app'), false) as may_act,
  coalesce((
    select extract(epoch from max(clock_timestamp() - a.xact_start))
    from pg_stat_activity a where a.backend_xmin is not null and a.pid <> pg_backend_pid()
  ), 0)::float8 as oldest_snapshot_seconds,
  (select max(age(d.datfrozenxid)) from pg_database d) as oldest_xid_age,
  (select count(*) from pg_prepared_xacts) as prepared_transactions,
  (select count(*) from pg_replication_slots s where not s.active) as idle_slots,
  pg_notification_queue_usage() as notification_queue
"""


EXTENSIONS = "select extname, extversion from pg_extension order by extname"


@dataclass(frozen=True, slots=True)
class Facts:
    """One look at a database."""

    version: int
    """As server_version_num: 180006 is 18.6."""
    standby: bool
    login: str
    may_act: bool
    """The login may become steadhold_app."""
    standing: Standing
    settings: dict[str, str]
    skew_seconds: float
    """This machine's clock less the database's."""
    skew_error_seconds: float
    """Half the round trip of the measurement."""
    oldest_snapshot_seconds: float
    """Age of the oldest transaction that keeps dead rows from being cleaned."""
    oldest_xid_age: int
    prepared_transactions: int
    idle_slots: int
    notification_queue: float
    """Filled part of the notification queue, 0 to 1."""
    extensions: dict[str, str]
    free_bytes: int | None
    """On the disk of the data directory; None: not to be seen from here."""
    pooler: Pooler


async def gather(dsn: str, *, connect_seconds: float = 10.0) -> Facts:
    """Look at the database behind `dsn`. Writes nothing. Raises what the driver says when it cannot be reached."""
    pooler = await look(dsn, connect_seconds, mark=True)
    # Without named statements and inside transactions, so that it can look through any pooler.
    conn = await asyncpg.connect(dsn, statement_cache_size=0, timeout=connect_seconds)
    try:
        async with conn.transaction(readonly=True):
            await conn.execute("set local statement_timeout = '10s'")
            said = await conn.fetchrow(ASK)
            assert said is not None
            skew, error = await _skew(conn)
            return Facts(
                version=said["version"],
                standby=said["standby"],
                login=said["login"],
                may_act=said["may_act"],
                oldest_snapshot_seconds=said["oldest_snapshot_seconds"],
                oldest_xid_age=said["oldest_xid_age"],
                prepared_transactions=said["prepared_transactions"],
                idle_slots=said["idle_slots"],
                notification_queue=said["notification_queue"],
                standing=await standing(conn),
                settings={name: await conn.fetchval("select current_setting($1)", name) for name in SETTINGS},
                skew_seconds=skew,
                skew_error_seconds=error,
                extensions={row["extname"]: row["extversion"] for row in await conn.fetch(EXTENSIONS)},
                free_bytes=await _free(conn),
                pooler=pooler,
            )
    finally:
        await conn.close()


async def _skew(conn: asyncpg.Connection[Any]) -> tuple[float, float]:
    """This clock less the database's, and how wrong that may be: the best of a few rounds."""
    best = (0.0, float("inf"))
    for _ in range(CLOCK_ROUNDS):
        before = time.time()
        there = await conn.fetchval("select extract(epoch from clock_timestamp())::float8")
        after = time.time()
        if after - before < 2 * best[1]:
            best = ((before + after) / 2 - there, (after - before) / 2)
    return best


async def _free(conn: asyncpg.Connection[Any]) -> int | None:
    if not await conn.fetchval("select inet_server_addr() is null or inet_server_addr() = inet_client_addr()"):
        return None
    path = await conn.fetchval("select setting from pg_settings where name = 'data_directory'")
    with contextlib.suppress(OSError):
        if path and (Path(path) / "PG_VERSION").exists():
            return shutil.disk_usage(path).free
    return None
