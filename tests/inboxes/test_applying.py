"""Applying once, on every kind of connection: the change and the event's identity commit together, or neither does."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from dataclasses import dataclass

import psycopg
import pytest

from steadhold.inboxes import Applied, apply_once, prune_applied
from steadhold.inboxes.applied_table import TABLES
from steadhold.inboxes.applying import order_of
from steadhold.testing.database import copied
from tests.play.test_caller import ASYNC, SYNC, Rolled


@dataclass
class Event:
    event_id: str = "e1"
    aggregate_id: str | None = "order:7"
    aggregate_revision: int | None = 1


@pytest.fixture(scope="module")
def shop(server_run):
    with copied(server_run, "shop") as database:
        with database.connect() as conn:
            conn.execute(TABLES["postgresql"].encode())
            conn.execute(TABLES["postgresql"].encode())
        yield database


@pytest.fixture
def rows(shop):
    """What the table holds; it is empty when a test begins."""
    with shop.connect() as conn:
        conn.execute("truncate steadhold_applied")

        def read():
            return conn.execute("select event_id, outcome from steadhold_applied order by event_id").fetchall()

        yield read


class Handler:
    def __init__(self, answer=None):
        self.told, self.answer = [], answer

    def __call__(self, order):
        self.told.append(order)
        return self.answer

    async def later(self, order):
        return self(order)


@pytest.mark.parametrize("kind", SYNC)
def test_sync(kind, shop, rows):
    handler = Handler({"paid": 1})
    with contextlib.suppress(Rolled), SYNC[kind](shop.dsn) as conn:
        assert apply_once(conn, "billing", Event(), handler) == Applied("next", {"paid": 1})
        raise Rolled
    assert rows() == []
    for expected in ("next", "duplicate"):
        with SYNC[kind](shop.dsn) as conn:
            assert apply_once(conn, "billing", Event(), handler) == Applied(expected, {"paid": 1})
    assert (handler.told, rows()) == (["next", "next"], [("e1", '{"paid":1}')])
    with SYNC[kind](shop.dsn) as conn:
        prune_applied(conn)
    assert rows() != []


@pytest.mark.parametrize("kind", ASYNC)
async def test_async(kind, shop, rows):
    handler = Handler([1])
    with contextlib.suppress(Rolled):
        async with ASYNC[kind](shop.dsn) as conn:
            assert await apply_once(conn, "billing", Event(), handler.later) == Applied("next", [1])
            raise Rolled
    assert rows() == []
    for expected in ("next", "duplicate"):
        async with ASYNC[kind](shop.dsn) as conn:
            assert await apply_once(conn, "billing", Event(), handler.later) == Applied(expected, [1])
    assert (handler.told, rows()) == (["next", "next"], [("e1", "[1]")])


@pytest.fixture
def file(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as conn:
        conn.executescript(TABLES["sqlite"])
        yield conn


def test_sqlite(file):
    handler = Handler("done")
    with contextlib.suppress(Rolled), file:
        assert apply_once(file, "billing", Event(), handler) == Applied("next", "done")
        raise Rolled
    with file:
        assert apply_once(file, "billing", Event(), handler) == Applied("next", "done")
    with file:
        assert apply_once(file, "billing", Event(), handler) == Applied("duplicate", "done")
        assert apply_once(file, "shipping", Event(), handler) == Applied("next", "done")
    assert handler.told == ["next"] * 3  # with the one that was rolled back
    file.execute("update steadhold_applied set applied_at = datetime('now', '-40 days') where consumer_id = 'billing'")
    prune_applied(file)
    assert file.execute("select consumer_id from steadhold_applied").fetchall() == [("shipping",)]


@pytest.mark.parametrize(
    ("last", "revision", "order"),
    [
        (None, 1, "next"), (None, 2, "gap"), (3, 4, "next"), (3, 5, "gap"), (3, 3, "stale"), (3, 2, "stale"),
        (None, None, "next"), (3, None, "next"), (3, (1 << 32) + 1, "gap"),
    ],
)  # fmt: skip
def test_what_a_revision_is(last, revision, order):
    assert order_of(last, revision) == order


def test_revisions_are_counted_for_each_aggregate_and_consumer(file):
    handler = Handler()
    seen = [("e1", "a", 1), ("e2", "a", 2), ("e4", "a", 4), ("e3", "a", 3), ("f1", "b", 1), ("g", None, None)]
    with file:
        told = [apply_once(file, "billing", Event(*each), handler).order for each in seen]
        told.append(apply_once(file, "billing", Event("e2", "a", 2), handler).order)
        other = apply_once(file, "audit", Event("e5", "a", 5), handler).order
    assert told == ["next", "next", "gap", "stale", "next", "next", "duplicate"]
    assert (other, handler.told) == ("gap", ["next", "next", "gap", "stale", "next", "next", "gap"])


def test_what_a_handler_raises_leaves_nothing(file):
    def fails(_order):
        raise LookupError("no order")

    with file, pytest.raises(LookupError, match="no order"):
        apply_once(file, "billing", Event(), fails)
    with file, pytest.raises(StopIteration):
        apply_once(file, "billing", Event(), lambda _order: next(iter([])))
    assert file.execute("select count(*) from steadhold_applied").fetchone() == (0,)
    with file:
        assert apply_once(file, "billing", Event(), Handler(7)) == Applied("next", 7)


async def test_what_an_asynchronous_handler_raises_leaves_nothing(shop, rows):
    async def fails(_order):
        raise LookupError("no order")

    async with ASYNC["asyncpg"](shop.dsn) as conn:
        with pytest.raises(LookupError, match="no order"):
            await apply_once(conn, "billing", Event(), fails)
    assert rows() == []


@pytest.mark.parametrize("kind", ["psycopg", "psycopg2"])
def test_what_a_handlers_statement_raises_is_raised(kind, shop, rows):
    with pytest.raises(Exception, match="no_table"), SYNC[kind](shop.dsn) as conn:
        apply_once(conn, "billing", Event(), lambda _order: conn.cursor().execute("select * from no_table"))
    assert rows() == []


async def test_a_handler_that_is_cut_off_has_applied_nothing(shop, rows):
    """Whoever goes on and commits has not applied the event."""
    began = asyncio.Event()

    async def waits(_order):
        began.set()
        await asyncio.Event().wait()

    async with ASYNC["asyncpg"](shop.dsn) as conn:
        applying = asyncio.ensure_future(apply_once(conn, "billing", Event(), waits))
        await began.wait()
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
    assert rows() == []


def test_twins_wait_for_one_another(shop, rows):
    """The second begins while the first has not committed, and is answered with what the first recorded."""
    handler, answers, began = Handler("first"), [], threading.Event()

    def second():
        with psycopg.connect(shop.dsn) as conn:
            began.set()
            answers.append(apply_once(conn, "billing", Event(), handler))

    with psycopg.connect(shop.dsn) as conn:
        apply_once(conn, "billing", Event(), handler)
        twin = threading.Thread(target=second)
        twin.start()
        assert began.wait(30)
    twin.join(30)
    assert (answers, handler.told) == ([Applied("duplicate", "first")], ["next"])


def test_it_needs_a_transaction_and_a_horizon(shop, file, rows):
    with psycopg.connect(shop.dsn, autocommit=True) as conn, pytest.raises(RuntimeError, match="begin"):
        apply_once(conn, "billing", Event(), Handler())
    file.isolation_level = None
    with pytest.raises(RuntimeError, match="begin"):
        apply_once(file, "billing", Event(), Handler())
    with pytest.raises(ValueError, match="come again"):
        prune_applied(file, 34 * 86_400)
    with pytest.raises(TypeError, match="psycopg"):
        apply_once(object(), "billing", Event(), Handler())
    assert rows() == []


def test_a_connection_of_ones_own_kind_is_pruned(tmp_path):
    class Mine(sqlite3.Connection):
        pass

    with contextlib.closing(sqlite3.connect(tmp_path / "mine.db", factory=Mine)) as conn:
        conn.executescript(TABLES["sqlite"])
        with conn:
            apply_once(conn, "billing", Event(), Handler())
            conn.execute("update steadhold_applied set applied_at = datetime('now', '-40 days')")
            prune_applied(conn)
        assert conn.execute("select count(*) from steadhold_applied").fetchone() == (0,)
