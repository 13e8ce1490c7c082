"""The table in which a consumer keeps what it applied, in its own database: how it is made, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from steadhold.kit.sql import Sql

TABLES: Final = {
    "postgresql": """\
create table if not exists steadhold_applied (
  consumer_id text not null,
  event_id text not null,
  aggregate_id text,
  aggregate_revision bigint,
  outcome text,
  applied_at timestamptz not null default current_timestamp,
  primary key (consumer_id, event_id)
);
create index if not exists steadhold_applied_revisions
  on steadhold_applied (consumer_id, aggregate_id, aggregate_revision);
create index if not exists steadhold_applied_ages on steadhold_applied (applied_at);
""",
    "sqlite": """\
create table if not exists steadhold_applied (
  consumer_id text not null,
  event_id text not null,
  aggregate_id text,
  aggregate_revision integer,
  outcome text,
  applied_at text not null default current_timestamp,
  primary key (consumer_id, event_id)
) without rowid;
create index if not exists steadhold_applied_revisions
  on steadhold_applied (consumer_id, aggregate_id, aggregate_revision);
create index if not exists steadhold_applied_ages on steadhold_applied (applied_at);
""",
}
"""The one table, for a database of either kind: what `steadhold consumer-table` prints."""

CLAIM: Final = Sql(
    "applied.claim",
    "insert into steadhold_applied (consumer_id, event_id, aggregate_id, aggregate_revision)"
    " values (:consumer_id::text, :event_id::text, :aggregate_id::text, :aggregate_revision::bigint)"
    " on conflict (consumer_id, event_id) do nothing returning 1",
    "read",
)
KNOWN: Final = Sql(
    "applied.known",
    "select outcome from steadhold_applied where consumer_id = :consumer_id::text and event_id = :event_id::text",
    "read",
)
LAST: Final = Sql(
    "applied.last",
    "select max(aggregate_revision) from steadhold_applied"
    " where consumer_id = :consumer_id::text and aggregate_id = :aggregate_id::text and event_id <> :event_id::text",
    "read",
)
RECORD: Final = Sql(
    "applied.record",
    "update steadhold_applied set outcome = :outcome::text"
    " where consumer_id = :consumer_id::text and event_id = :event_id::text returning 1",
    "read",
)
FORGET: Final = Sql(
    "applied.forget",
    "delete from steadhold_applied where consumer_id = :consumer_id::text and event_id = :event_id::text",
    "read",
)
PRUNE: Final = Sql(
    "applied.prune",
    "delete from steadhold_applied where applied_at < current_timestamp - make_interval(secs => :seconds::float8)",
    "read",
)
PRUNE_SQLITE: Final = Sql(
    "applied.prune_sqlite",
    "delete from steadhold_applied where applied_at < datetime('now', '-' || :seconds::float8 || ' seconds')",
    "read",
)
_UNDEFINED: Final = "42P01"


@contextmanager
def told(kind: str) -> Iterator[None]:
    """Say where the table comes from, in place of what a database says of one that is not there.

    Raises:
        RuntimeError: there is no table.
    """
    try:
        yield
    except Exception as error:
        if "steadhold_applied" not in str(error):
            raise
        made = f"`steadhold consumer-table {kind}` prints the table in which a consumer keeps what it applied."
        if not _is_missing(error):
            error.add_note(made)
            raise
        raise RuntimeError(f"This database has no table steadhold_applied. {made} Make it there, once.") from error


def _is_missing(error: BaseException) -> bool:
    """Whether the table is not there: PostgreSQL says so by a code, in whatever language; SQLite in a sentence."""
    below: list[Any] = [error, getattr(error, "orig", None), error.__cause__]
    codes = {getattr(one, name, None) for one in below for name in ("sqlstate", "pgcode")}
    return _UNDEFINED in codes or "no such table" in str(error)
