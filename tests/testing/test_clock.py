"""The database's clock moves at once for everybody, and stands right again afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

NOW = "select steadhold.clock()"


def ahead(conn) -> timedelta:
    return conn.execute("select steadhold.clock() - clock_timestamp()").fetchone()[0]


def test_it_tells_the_real_time_unless_moved(clock):
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=30)


def test_an_open_transaction_sees_a_move(clock, conn):
    before = conn.execute(NOW).fetchone()[0]
    clock.move(3600)
    assert conn.execute(NOW).fetchone()[0] - before >= timedelta(hours=1)
    clock.move(-7200)
    assert conn.execute(NOW).fetchone()[0] < before


async def test_every_connection_sees_a_move(clock, aconn, committed):
    clock.move(3600)
    assert ahead(committed) > timedelta(minutes=59)
    assert await aconn.fetchval("select steadhold.clock() - clock_timestamp()") > timedelta(minutes=59)


@pytest.mark.parametrize("turn", range(2))
def test_a_move_is_undone_after_the_test(clock, committed, turn):
    assert ahead(committed) < timedelta(minutes=1)
    clock.move(3600)


def test_reads_are_counted_only_while_watched(clock, conn):
    with clock.watched():
        before = clock.reads()
        conn.execute("savepoint s; select steadhold.clock(); rollback to savepoint s")
        assert clock.reads() == before + 1
    conn.execute(NOW)
    assert clock.reads() == before + 1
