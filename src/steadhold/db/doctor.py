"""`steadhold doctor`: facts in, findings out; each finding says what to do."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import asyncpg

from steadhold.db.binaries import MAJOR_MAX, MAJOR_MIN
from steadhold.db.facts import Facts, gather
from steadhold.db.pool import STATEMENT_CACHE

Level = Literal["ok", "warn", "refuse"]

SKEW_SECONDS_MAX = 5.0
SNAPSHOT_SECONDS_MAX = 300.0
XID_AGE_MAX = 1_500_000_000  # of the 2 100 000 000 at which PostgreSQL stops taking writes
FREE_BYTES_LOW, FREE_BYTES_MIN = 5 * 2**30, 2**29
QUEUE_MAX = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: `refuse` means that steadhold's promises do not hold on this database as it is."""

    check: str
    level: Level
    says: str


async def examine(
    dsn: str, *, connections: int = 0, statements: int = STATEMENT_CACHE, connect_seconds: float = 10.0
) -> tuple[Finding, ...]:
    """Look at the database behind `dsn` and judge it; one that cannot be reached is one finding.

    `connections`: how many a server is going to take. `statements`: how many prepared ones each of them keeps.
    """
    try:
        return judge(await gather(dsn, connect_seconds=connect_seconds), connections, statements)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        says = f"The database cannot be reached: {error or type(error).__name__}. Is it running, and is the URL right?"
        return (Finding("connect", "refuse", says),)


def worst(findings: tuple[Finding, ...]) -> Level:
    """The worst level among `findings`; ok when there are none."""
    levels = {f.level for f in findings}
    return "refuse" if "refuse" in levels else "warn" if "warn" in levels else "ok"


def judge(facts: Facts, connections: int = 0, statements: int = STATEMENT_CACHE) -> tuple[Finding, ...]:
    """The findings, in a fixed order, one or more for each check. Decides from what it is told alone."""
    pooler = functools.partial(_pooler, statements=statements)
    parts = (_version, _role, _migrations, _durability, _clock, pooler, _extensions, _space, _old_snapshots, _limits)
    found = tuple(finding for part in parts for finding in part(facts))
    return (*found, _connections(facts, connections)) if connections else found


def _connections(f: Facts, taken: int) -> Finding:
    let_in = int(f.settings["max_connections"]) - int(f.settings["superuser_reserved_connections"])
    says = f"A server with these settings takes {taken}: `pool_size` and two for each of its `processes`."
    if f.pooler.transactions:
        return Finding("connections", "ok", f"{says} How many there may be is the pooler's business.")
    if taken > let_in:
        return Finding(
            "connections", "warn", f"{says} PostgreSQL lets {let_in} in. Raise max_connections, or lower `pool_size`."
        )
    return Finding("connections", "ok", f"{says} PostgreSQL lets {let_in} in.")


def _version(f: Facts) -> Iterator[Finding]:
    major = f.version // 10000
    shown = f"PostgreSQL {major}.{f.version % 10000}"
    if major < MAJOR_MIN:
        yield Finding("version", "refuse", f"{shown} is too old. Upgrade to {MAJOR_MIN} or later.")
    elif major > MAJOR_MAX:
        yield Finding("version", "warn", f"{shown} is newer than steadhold was tested with ({MAJOR_MAX}).")
    else:
        yield Finding("version", "ok", f"{shown}.")
    if f.standby:
        says = "This server is a standby and takes no writes. Name the primary in the URL."
        yield Finding("primary", "refuse", says)


def _role(f: Facts) -> Iterator[Finding]:
    if f.may_act:
        yield Finding("role", "ok", f"{f.login} may act as steadhold_app.")
    elif f.standing.applied:
        says = f'{f.login} may not act as steadhold_app. As an administrator run: grant steadhold_app to "{f.login}"'
        yield Finding("role", "refuse", says)


def _migrations(f: Facts) -> Iterator[Finding]:
    now = f.standing
    if now.unknown:
        says = f"The database is newer than this program ({', '.join(now.unknown)}). Upgrade this program soon."
        yield Finding("migrations", "warn", says)
    if now.changed:
        says = f"Applied with another text: {', '.join(map(str, now.changed))}. Use the program that applied them."
        yield Finding("migrations", "refuse", says)
    if now.pending:
        says = f"Not yet applied: {', '.join(map(str, now.pending))}. Run: steadhold migrate"
        yield Finding("migrations", "refuse", says)
    elif not now.changed and not now.unknown:
        yield Finding("migrations", "ok", f"All {len(now.applied)} are applied.")


def _durability(f: Facts) -> Iterator[Finding]:
    off = [name for name in ("fsync", "full_page_writes") if f.settings[name] == "off"]
    for name in off:
        says = f"{name} is off: a crash of the machine corrupts the database. Set {name} = on and restart PostgreSQL."
        yield Finding(name, "refuse", says)
    if not off:
        yield Finding("fsync", "ok", "What is committed is flushed to disk.")
    if f.settings["synchronous_commit"] in {"off", "local"}:
        says = (
            f"synchronous_commit is {f.settings['synchronous_commit']}. The server sets it on for its own transactions;"
            " transactions of library users keep what they set, and a crash may lose their last commits."
        )
        yield Finding("synchronous_commit", "warn", says)
    else:
        yield Finding("synchronous_commit", "ok", f"{f.settings['synchronous_commit']}.")


def _clock(f: Facts) -> Iterator[Finding]:
    shown = f"{f.skew_seconds:+.3f} s (± {f.skew_error_seconds:.3f})"
    if abs(f.skew_seconds) - f.skew_error_seconds > SKEW_SECONDS_MAX:
        says = (
            f"This machine's clock differs from the database's by {shown}. Leases are safe, the database's clock"
            " decides; ids and logs made here carry wrong times. Set up NTP on both."
        )
        yield Finding("clock", "warn", says)
    else:
        yield Finding("clock", "ok", f"This clock and the database's differ by {shown}.")


def _pooler(f: Facts, statements: int) -> Iterator[Finding]:
    if not f.pooler.transactions:
        yield Finding("pooler", "ok", "Connections keep their backend.")
        return
    if statements and f.pooler.keeps_statements is False:
        says = (
            "A transaction pooler stands between and loses prepared statements, of which `prepared_statements` ="
            f" {statements} keeps some. Set it to 0 for servers and workers (STEADHOLD_PREPARED_STATEMENTS), or in"
            " PgBouncer 1.21 and later max_prepared_statements = 200; best is a direct connection."
        )
        yield Finding("pooler", "refuse", says)
        return
    leaks = " A setting of one connection was seen by another." if f.pooler.leaks else ""
    loses = {
        False: " It loses prepared statements; `prepared_statements` = 0 keeps none.",
        None: " Whether it loses prepared statements could not be seen, others have all it lends: look again.",
    }.get(f.pooler.keeps_statements, "")
    says = (
        f"A transaction pooler stands between.{leaks}{loses} steadhold keeps nothing in its sessions and works through"
        " it, without wake-ups by LISTEN; a direct connection is faster."
    )
    yield Finding("pooler", "warn", says)


def _extensions(f: Facts) -> Iterator[Finding]:
    shown = ", ".join(f"{name} {version}" for name, version in f.extensions.items())
    yield Finding("extensions", "ok", f"None is needed; found {shown or 'none'}.")


def _space(f: Facts) -> Iterator[Finding]:
    if f.free_bytes is None:
        yield Finding("space", "ok", "Unknown: the disk is not to be seen from here. Watch it where PostgreSQL runs.")
        return
    shown = f"{f.free_bytes / 2**30:.1f} GiB are free on PostgreSQL's disk."
    if f.free_bytes < FREE_BYTES_MIN:
        yield Finding("space", "refuse", f"{shown} PostgreSQL stops when it is full. Make room now.")
    elif f.free_bytes < FREE_BYTES_LOW:
        yield Finding("space", "warn", f"{shown} Make room, or shorten the retention windows.")
    else:
        yield Finding("space", "ok", shown)


def _old_snapshots(f: Facts) -> Iterator[Finding]:
    if f.oldest_snapshot_seconds > SNAPSHOT_SECONDS_MAX:
        says = (
            f"A transaction has been open for {f.oldest_snapshot_seconds:.0f} s and keeps dead rows from being cleaned."
            " pg_stat_activity, ordered by xact_start, names it; end it with pg_terminate_backend."
        )
        yield Finding("snapshots", "warn", says)
    else:
        yield Finding("snapshots", "ok", f"The oldest open transaction is {f.oldest_snapshot_seconds:.0f} s old.")
    if f.prepared_transactions:
        says = f"{f.prepared_transactions} prepared transactions hold locks and dead rows. See pg_prepared_xacts."
        yield Finding("snapshots", "warn", says)
    if f.idle_slots:
        says = f"{f.idle_slots} replication slots nobody reads keep the log growing. See pg_replication_slots."
        yield Finding("snapshots", "warn", says)
    if f.settings["idle_in_transaction_session_timeout"] == "0":
        says = (
            "idle_in_transaction_session_timeout is off: a client that hangs inside a transaction holds its locks."
            f" Run: alter role \"{f.login}\" set idle_in_transaction_session_timeout = '60s'"
        )
        yield Finding("idle_in_transaction", "warn", says)
    else:
        yield Finding("idle_in_transaction", "ok", f"Ended after {f.settings['idle_in_transaction_session_timeout']}.")


def _limits(f: Facts) -> Iterator[Finding]:
    if f.oldest_xid_age > XID_AGE_MAX:
        says = f"Transaction ids are {f.oldest_xid_age:,} old; writes stop near 2,100,000,000. Run: vacuum (freeze)"
        yield Finding("wraparound", "refuse", says)
    else:
        yield Finding("wraparound", "ok", f"The oldest transaction id is {f.oldest_xid_age:,} old.")
    if f.notification_queue > QUEUE_MAX:
        says = (
            f"The notification queue is {f.notification_queue:.0%} full; when it is full, commits that notify fail."
            " A connection that listens sits in an old transaction: end it."
        )
        yield Finding("notifications", "warn", says)
