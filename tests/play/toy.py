"""A toy room for the players' tests: counters under compare-and-swap."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from steadhold.kit.plan import Plan, Refusal, operation, rows, single_operation, undoable, whole_operation
from steadhold.kit.sql import parse

SCHEMA = """
create schema if not exists toy;
create table if not exists toy.counters (
  workspace text collate "C", name text collate "C", revision bigint not null, primary key (workspace, name)
);
grant usage on schema toy to steadhold_app;
grant all on toy.counters to steadhold_app;
"""

SQL = parse(
    """
-- name: swap
-- rank: names by name
with i as (
  select * from unnest(:name::text[], :expected::bigint[]) with ordinality as i(name, expected, n)
), held as materialized (
  select c.name, c.revision from toy.counters c
  where c.workspace = :workspace::text and c.name = any(:name::text[]) order by c.name for no key update
), winner as (
  select distinct on (i.name) i.n, i.name from i join held using (name)
  where held.revision = i.expected order by i.name, i.n
), moved as (
  update toy.counters c set revision = c.revision + 1 from winner w
  where c.workspace = :workspace::text and c.name = w.name returning c.name, c.revision
)
select i.n, w.n is not null, coalesce(moved.revision, held.revision)
from i join held using (name) left join moved using (name) left join winner w on w.n = i.n

-- name: add
-- rank: names by name
update toy.counters c set revision = c.revision + 1
from unnest(:name::text[]) with ordinality as i(name, n)
where c.workspace = :workspace::text and c.name = i.name returning i.n, c.revision

-- name: make
-- rank: names by name
insert into toy.counters (workspace, name, revision)
select :workspace::text, i.name, 1 from unnest(:name::text[]) with ordinality as i(name, n)
on conflict do nothing returning 1, name

-- name: fail
-- rank: names
select 1 / (:zero::bigint)

-- name: mode
-- rank: read
select current_setting('plan_cache_mode')

-- name: mode_anew
-- rank: read
-- planned anew
select current_setting('plan_cache_mode')

-- name: where
-- rank: read
select current_setting('steadhold.workspace'), current_user::text

-- name: look
-- rank: read
select c.revision from toy.counters c where c.workspace = :workspace::text and c.name = :name::text

-- name: early
-- rank: grants
select 1
""",
    "toy",
)


@dataclass(frozen=True, slots=True)
class Swapped:
    """This caller won."""

    revision: int


@dataclass(frozen=True, slots=True)
class Lost(Refusal):
    """Another caller won."""

    current: int


@operation
def make(workspace: str, name: str) -> Plan[None]:
    """Create a counter."""
    yield from rows(SQL.make, workspace=workspace, name=name)


@operation
def swap(workspace: str, name: str, expected: int) -> Plan[Swapped | Lost | None]:
    """Raise a counter from `expected`; None where there is no such counter."""
    got = yield from rows(SQL.swap, workspace=workspace, name=name, expected=expected)
    if not got:
        return None
    won, revision = got[0]
    return Swapped(revision) if won else Lost(revision)


@whole_operation(SQL.swap)
def swap_alone(workspace: str, name: str, expected: int) -> Plan[Swapped | Lost | None]:
    """The same, by itself."""
    return (yield from swap.plan(workspace, name, expected))


@whole_operation(SQL.swap)
def bump_alone(workspace: str, name: str) -> Plan[int]:
    """Raise a counter from wherever it is: what does not win did nothing."""
    return (yield from bump.plan(workspace, name))


@whole_operation(SQL.swap, single=True)
def bump_apart(workspace: str, name: str) -> Plan[int]:
    """The same in no flush."""
    return (yield from bump.plan(workspace, name))


@operation
def swap_two(workspace: str, one: str, two: str) -> Plan[None]:
    """Two whole statements are none."""
    yield from swap_alone.plan(workspace, one, 1)
    yield from rows(SQL.fail, zero=0)
    yield from swap_alone.plan(workspace, two, 1)


@operation
def look(workspace: str, name: str) -> Plan[int]:
    """Read a counter."""
    return (yield from rows(SQL.look, workspace=workspace, name=name))[0][0]


@operation
def where(workspace: str) -> Plan[tuple[str, str]]:
    """Where a statement is, and as whom."""
    return (yield from rows(SQL.where))[0]


@operation
def bump(workspace: str, name: str) -> Plan[int]:
    """Raise a counter from wherever it is: it reads, then swaps, until it wins."""
    expected = 1
    while True:
        outcome = yield from swap.plan(workspace, name, expected)
        if isinstance(outcome, Swapped):
            return outcome.revision
        expected = outcome.current if outcome else 1


@operation
def plans(workspace: str) -> Plan[list[str]]:
    """How PostgreSQL plans a statement that is planned anew, and one that is not."""
    anew = yield from rows(SQL.mode_anew)
    kept = yield from rows(SQL.mode)
    return [anew[0][0], kept[0][0]]


@operation
def broken(workspace: str, name: str) -> Plan[None]:
    """Swap, then divide by zero."""
    yield from swap.plan(workspace, name, 1)
    yield from rows(SQL.fail, zero=0)


@operation
def mistaken(workspace: str, name: str) -> Plan[int]:
    """Swap, then look for what is not there."""
    yield from swap.plan(workspace, name, 1)
    nothing: dict[str, int] = {}
    return nothing[name]


@whole_operation(SQL.add)
def mistaken_alone(workspace: str, name: str) -> Plan[int]:
    """Raise a counter, whatever it is, and then look for what is not there."""
    yield from rows(SQL.add, workspace=workspace, name=name)
    nothing: dict[str, int] = {}
    return nothing[name]


@operation
def backwards(workspace: str, name: str) -> Plan[None]:
    """Ask for an earlier rank after a later one."""
    yield from swap.plan(workspace, name, 1)
    yield from rows(SQL.early)


@single_operation
def refused_after_write(workspace: str, name: str) -> Plan[Swapped | Lost | None]:
    """Write, and be refused all the same."""
    return (yield from undoable(_write_then_lose(workspace, name)))


def _write_then_lose(workspace: str, name: str) -> Plan[Swapped | Lost | None]:
    yield from swap.plan(workspace, name, 1)
    return Lost(0)


def revision(conn: psycopg.Connection, workspace: str, name: str) -> int:
    """Read a counter past all plans."""
    row = conn.execute(
        "select revision from toy.counters where workspace = %s and name = %s", (workspace, name)
    ).fetchone()
    assert row is not None
    return row[0]
