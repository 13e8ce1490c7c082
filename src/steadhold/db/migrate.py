"""Numbered .sql files, applied once each, in order, by however many processes try at once."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

import asyncpg

from steadhold.db.backoff import pauses
from steadhold.db.errors import MigrationError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

LOCK_KEY = 0x5EAD401D
LOCK_TIMEOUT = "2s"
BARE = "set local search_path = pg_catalog, pg_temp"  # a file means by a name what it says, whatever its database's is
PATIENCE_SECONDS = 60.0
BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS = 0.1, 5.0
NAME = re.compile(r"(\d{4})_([a-z_]+)\.sql")

LEDGER = """
create table if not exists steadhold.migrations (
  number int primary key,
  name text not null,
  checksum text not null,
  applied_at timestamptz not null default pg_catalog.clock_timestamp()
)
"""

# A wait for somebody's lock, or a lock cycle with them: the transaction is rolled back and may be tried again.
LATER = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


@dataclass(frozen=True, slots=True)
class Migration:
    """One file: its number, its name without number and ending, its text, and the digest of that text."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def __str__(self) -> str:
        return f"{self.number:04}_{self.name}"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a database compares with this program's files."""

    applied: tuple[str, ...]
    pending: tuple[Migration, ...]
    changed: tuple[Migration, ...]
    """Applied with another text than the file has now."""
    unknown: tuple[str, ...]
    """Applied by a newer program."""


@dataclass(frozen=True, slots=True)
class Report:
    """What `migrate` did, or with `plan` would do: the files it applied, and how many had been applied before."""

    applied: tuple[Migration, ...]
    before: int
    planned: bool


def files(folder: Traversable | None = None) -> tuple[Migration, ...]:
    """The migrations in `folder` (None: those this program ships), by number. Raises MigrationError on a bad name."""
    found: list[Migration] = []
    for file in (folder or resources.files("steadhold.db") / "migrations").iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = NAME.fullmatch(file.name)
        if match is None:
            raise MigrationError(f"{file.name} is no migration's name; it should look like 0042_what_it_does.sql.")
        found.append(Migration(int(match[1]), match[2], file.read_text(encoding="utf-8").replace("\r\n", "\n")))
    found.sort(key=lambda m: m.number)
    for one, next_one in itertools.pairwise(found):
        if one.number == next_one.number:
            raise MigrationError(f"{one} and {next_one} have the same number; give the later one the next free number.")
    return tuple(found)


async def standing(conn: asyncpg.Connection[Any], known: Sequence[Migration] | None = None) -> Standing:
    """Compare the database behind `conn` with `known` (None: the shipped files). Writes nothing."""
    known = files() if known is None else known
    rows: dict[int, asyncpg.Record] = {}
    if await conn.fetchval("select to_regclass('steadhold.migrations')") is not None:
        rows = {r["number"]: r for r in await conn.fetch("select number, name, checksum from steadhold.migrations")}
    numbers = {m.number for m in known}
    return Standing(
        applied=tuple(f"{n:04}_{r['name']}" for n, r in sorted(rows.items())),
        pending=tuple(m for m in known if m.number not in rows),
        changed=tuple(m for m in known if m.number in rows and rows[m.number]["checksum"] != m.checksum),
        unknown=tuple(f"{n:04}_{r['name']}" for n, r in sorted(rows.items()) if n not in numbers),
    )


async def pending(conn: asyncpg.Connection[Any]) -> tuple[Migration, ...]:
    """The migrations that the database behind `conn` still lacks."""
    return (await standing(conn)).pending


async def migrate(
    dsn: str,
    *,
    plan: bool = False,
    on: Callable[[str], None] = lambda _: None,
    known: Sequence[Migration] | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> Report:
    """Bring the database at `dsn` to this program's version, or with `plan` say what that would apply.

    Each file is one transaction under one advisory lock, so a crash at any statement leaves whole files only, and
    several processes at once act as one. A file that waits longer than two seconds for a lock lets go, so that
    requests queued behind it go on, and is tried again for up to `patience_seconds`.
    Raises MigrationError: a file failed, an applied file was changed, or the database is newer than the program.
    """
    known = files() if known is None else known
    conn = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        now = await standing(conn, known)
        _refuse(now)
        if plan:
            return Report(now.pending, len(now.applied), planned=True)
        done: list[Migration] = []
        while (step := await _patiently(conn, known, on, patience_seconds)) is not None:
            done.append(step)
            on(f"Applied {step}.")
        return Report(tuple(done), len(now.applied), planned=False)
    finally:
        await conn.close()


def _refuse(now: Standing) -> None:
    if now.unknown:
        raise MigrationError(
            f"The database was migrated by a newer steadhold ({', '.join(now.unknown)} unknown here)."
            " Use that version or a later one to migrate; older servers may keep running meanwhile."
        )
    if now.changed:
        raise MigrationError(
            f"{', '.join(map(str, now.changed))} was applied with another text than this program has: the database is"
            " of another version. Use the program that made it, or begin a new one (under `steadhold dev`: another"
            " --data-dir). Whoever changed a migration puts the old text back, and may add a new file."
        )


async def _patiently(
    conn: asyncpg.Connection[Any], known: Sequence[Migration], on: Callable[[str], None], patience_seconds: float
) -> Migration | None:
    clock = asyncio.get_running_loop()
    until = clock.time() + patience_seconds
    for pause in pauses(BACKOFF_FIRST_SECONDS, BACKOFF_MAX_SECONDS):
        try:
            return await _step(conn, known)
        except LATER as error:
            if clock.time() + pause > until:
                raise MigrationError(
                    f"Gave up after {patience_seconds:g} s of waiting for a lock: {error}. Try at a quieter time."
                ) from error
            on(f"Somebody holds a lock the migration needs; trying again in {pause:.1f} s.")
        await asyncio.sleep(pause)
    raise AssertionError


async def _step(conn: asyncpg.Connection[Any], known: Sequence[Migration]) -> Migration | None:
    """Apply the first file that the database lacks, in one transaction; None when there is none left."""
    async with conn.transaction(isolation="read_committed"):
        await conn.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'; set local statement_timeout = 0; {BARE}")
        await conn.execute("select pg_advisory_xact_lock($1)", LOCK_KEY)
        await _open_ledger(conn)
        now = await standing(conn, known)
        _refuse(now)
        if not now.pending:
            return None
        file = now.pending[0]
        try:
            await conn.execute(file.sql)
        except LATER:
            raise
        except asyncpg.PostgresError as error:
            raise MigrationError(f"{file} failed and was rolled back: {error}{_place(file, error)}") from error
        await conn.execute(
            "insert into steadhold.migrations (number, name, checksum) values ($1, $2, $3)",
            *(file.number, file.name, file.checksum),
        )
        return file


async def _open_ledger(conn: asyncpg.Connection[Any]) -> None:
    # Looked for first: `create … if not exists` asks for the right to create even where nothing is to be made.
    try:
        if await conn.fetchval("select to_regnamespace('steadhold')") is None:
            await conn.execute("create schema steadhold")
        if await conn.fetchval("select to_regclass('steadhold.migrations')") is None:
            await conn.execute(LEDGER)
    except asyncpg.InsufficientPrivilegeError as error:
        raise MigrationError(
            f"This role may not create the schema steadhold ({error}). Migrate as the database's owner."
        ) from error


def _place(file: Migration, error: asyncpg.PostgresError) -> str:
    position = getattr(error, "position", None)
    return f" (line {file.sql.count(chr(10), 0, int(position)) + 1})" if position else ""
