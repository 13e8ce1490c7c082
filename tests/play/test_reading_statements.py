"""Whatever may go before a transaction changes nothing and locks nothing: PostgreSQL's own plan of it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import steadhold
from steadhold.kit.sql import load
from steadhold.state.plans import SQL
from tests.operations.generic_plan import planned

ROOMS = sorted(Path(steadhold.__file__).parent.rglob("statements.sql"))
READING = [sql for room in ROOMS for sql in load(str(room)) if sql.reads]


def changes(conn, sql):
    changing = [node for node in planned(conn, sql) if node["Node Type"] in ("ModifyTable", "LockRows")]
    return {node.get("Operation", "Lock") for node in changing}


@pytest.mark.parametrize("sql", READING, ids=lambda sql: sql.name)
def test_it_only_reads(conn, sql):
    assert changes(conn, sql) == set()


def test_of_what_changes_the_plan_says_so(conn):
    assert changes(conn, SQL.let_go) == {"Delete"}
    assert changes(conn, SQL.hold) == {"Lock", "Insert"}
    assert changes(conn, SQL.write) >= {"Lock", "Insert", "Update"}


def test_those_that_are_asked_most_are_among_them():
    names = {sql.name for sql in READING}
    assert names >= {"state.look", "context.look", "inboxes.page", "jobs.look", "access.find", "locks.look"}
    assert not names & {"state.let_go", "state.hold", "jobs.move", "inboxes.clear", "context.rely"}
