"""Applying once in databases that are not ours, and what is refused there: SQLite by any library, and misuse."""

from __future__ import annotations

import contextlib
import sqlite3
from decimal import Decimal

import pytest

from steadhold.inboxes import Applied, apply_once, prune_applied
from steadhold.inboxes.applied_table import TABLES
from steadhold.testing.database import copied
from tests.inboxes.test_applying import Event, Handler, rows, shop  # noqa: F401 - fixtures
from tests.play.test_caller import ASYNC, SYNC, Rolled, in_sqlalchemy

ORDERS = [
    ("e1", "a", 1, "next"), ("e1", "a", 1, "duplicate"), ("e3", "a", 3, "gap"), ("e2", "a", 2, "stale"),
    ("e3", "a", 3, "duplicate"), ("e4", "a", 4, "next"), ("f2", "b", 2, "gap"), ("g", None, None, "next"),
]  # fmt: skip


def fails(_order):
    raise LookupError("no order")


async def fails_later(order):
    fails(order)


@contextlib.contextmanager
def plain(path):
    with contextlib.closing(sqlite3.connect(path)) as conn, conn:
        yield conn


@contextlib.contextmanager
def in_django(path):
    import django
    from django.conf import settings

    if not settings.configured:  # as tests/play does, which may come later
        default = {"ENGINE": "django.db.backends.postgresql", "NAME": "none"}
        settings.configure(DATABASES={"default": default}, USE_TZ=True)
        django.setup()
    from django.db import connections, transaction
    from django.db.backends.sqlite3.base import DatabaseWrapper

    said = connections.configure_settings({"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}})
    conn = DatabaseWrapper(said["default"], "shop")
    connections["shop"] = conn
    try:
        with transaction.atomic(using="shop"):
            yield conn
    finally:
        conn.close()
        del connections["shop"]


SQLITE = {
    "sqlite3": plain,
    "sqlalchemy connection": lambda path: in_sqlalchemy(f"sqlite:///{path}", session=False),
    "sqlalchemy session": lambda path: in_sqlalchemy(f"sqlite:///{path}", session=True),
    "django": in_django,
}


@pytest.fixture
def path(tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / "shop.db")) as conn:
        conn.executescript(TABLES["sqlite"])
    return tmp_path / "shop.db"


def applied(path):
    with contextlib.closing(sqlite3.connect(path)) as conn:
        return conn.execute("select event_id, outcome from steadhold_applied order by event_id").fetchall()


@pytest.mark.parametrize("kind", SQLITE)
def test_in_sqlite_whatever_library_opened_it(kind, path):
    handler = Handler({"paid": 1})
    with contextlib.suppress(Rolled), SQLITE[kind](path) as conn:
        assert apply_once(conn, "billing", Event(), handler) == Applied("next", {"paid": 1})
        raise Rolled
    assert applied(path) == []
    for expected in ("next", "duplicate"):
        with SQLITE[kind](path) as conn:
            assert apply_once(conn, "billing", Event(), handler) == Applied(expected, {"paid": 1})
    with SQLITE[kind](path) as conn:
        with pytest.raises(LookupError):
            apply_once(conn, "billing", Event("e2"), fails)
        prune_applied(conn)
    assert (handler.told, applied(path)) == (["next", "next"], [("e1", '{"paid":1}')])


def orders(conn):
    handler, told = Handler(), []
    for id, aggregate, revision, _ in ORDERS:
        told.append(apply_once(conn, "billing", Event(id, aggregate, revision), handler).order)
    return told


@pytest.mark.parametrize("kind", SYNC)
def test_orders_are_told_and_a_failure_leaves_nothing_whoever_commits(kind, shop, rows):  # noqa: F811
    with SYNC[kind](shop.dsn) as conn, pytest.raises(LookupError):
        apply_once(conn, "billing", Event(), fails)
    assert rows() == []
    with SYNC[kind](shop.dsn) as conn:
        assert orders(conn) == [order for *_, order in ORDERS]
        with pytest.raises(ValueError, match="come again"):
            prune_applied(conn, 34 * 86_400)


@pytest.mark.parametrize("kind", ASYNC)
async def test_of_asynchronous_ones_too(kind, shop, rows):  # noqa: F811
    handler, told = Handler(), []
    async with ASYNC[kind](shop.dsn) as conn:
        with pytest.raises(LookupError):
            await apply_once(conn, "billing", Event(), fails_later)
    assert rows() == []
    async with ASYNC[kind](shop.dsn) as conn:
        for id, aggregate, revision, _ in ORDERS:
            told.append((await apply_once(conn, "billing", Event(id, aggregate, revision), handler.later)).order)
        await prune_applied(conn)
    assert told == [order for *_, order in ORDERS]
    assert len(rows()) == 6


def test_in_sqlite_orders_are_told(path):
    with plain(path) as conn:
        assert orders(conn) == [order for *_, order in ORDERS]


def test_a_connection_that_commits_by_itself_is_refused(path):
    """As those of Python 3.12 may: their `isolation_level` says nothing then."""

    class Modern(sqlite3.Connection):
        autocommit = True

    with contextlib.closing(sqlite3.connect(path, factory=Modern)) as conn:
        with pytest.raises(RuntimeError, match="begin"):
            apply_once(conn, "billing", Event(), Handler())
        conn.execute("begin")
        assert apply_once(conn, "billing", Event(), Handler()).order == "next"
        conn.execute("commit")
    assert applied(path) == [("e1", "null")]


@pytest.mark.parametrize("kind", ["sqlite3", "sqlalchemy connection"])
def test_a_handler_that_rolls_back_is_told(kind, path):
    def rolls_back(_order):
        (conn if kind == "sqlite3" else conn.connection).rollback()

    with SQLITE[kind](path) as conn, pytest.raises(RuntimeError, match="ended the transaction"):
        apply_once(conn, "billing", Event(), rolls_back)
    assert applied(path) == []


def test_an_asynchronous_handler_needs_an_asynchronous_connection(path):
    with plain(path) as conn, pytest.raises(TypeError, match="plain function"):
        apply_once(conn, "billing", Event(), Handler().later)
    assert applied(path) == []


async def test_a_plain_handler_needs_a_plain_connection(shop, rows):  # noqa: F811
    async with ASYNC["asyncpg"](shop.dsn) as conn:
        with pytest.raises(TypeError, match="give it an `async def`"):
            await apply_once(conn, "billing", Event(), Handler())
    assert rows() == []


MISSING = "has no table steadhold_applied. `steadhold consumer-table {}` prints the table"


@pytest.mark.parametrize("kind", SQLITE)
def test_sqlite_without_the_table_is_told_where_it_comes_from(kind, tmp_path):
    handler = Handler()
    with contextlib.suppress(Rolled), SQLITE[kind](tmp_path / "bare.db") as conn:
        if kind == "sqlite3":
            conn.execute("begin")
        with pytest.raises(RuntimeError, match=MISSING.format("sqlite")):
            apply_once(conn, "c", Event("e1", "a", 1), handler)
        with pytest.raises(RuntimeError, match=MISSING.format("sqlite")):
            prune_applied(conn)
        raise Rolled
    assert handler.told == []


@pytest.fixture(scope="module")
def bare(server_run):
    with copied(server_run, "bare") as database:
        yield database


@pytest.mark.parametrize("kind", SYNC)
@pytest.mark.parametrize("ask", [prune_applied, lambda conn: apply_once(conn, "c", Event(), fails)])
def test_postgresql_without_the_table_is_told_where_it_comes_from(kind, ask, bare):
    with contextlib.suppress(Rolled), SYNC[kind](bare.dsn) as conn:
        with pytest.raises(RuntimeError, match=MISSING.format("postgresql")):
            ask(conn)
        raise Rolled


@pytest.mark.parametrize("kind", ASYNC)
@pytest.mark.parametrize("ask", [prune_applied, lambda conn: apply_once(conn, "c", Event(), fails_later)])
async def test_so_are_asynchronous_ones(kind, ask, bare):
    with contextlib.suppress(Rolled):
        async with ASYNC[kind](bare.dsn) as conn:
            with pytest.raises(RuntimeError, match=MISSING.format("postgresql")):
                await ask(conn)
            raise Rolled


def test_what_else_is_wrong_with_the_table_is_raised_as_it_is(tmp_path):
    with plain(tmp_path / "other.db") as conn:
        conn.execute("create table steadhold_applied (consumer_id, event_id, aggregate_id, primary key (consumer_id))")
        conn.execute("begin")
        with pytest.raises(sqlite3.OperationalError, match="aggregate_revision") as told:
            apply_once(conn, "c", Event("e1", "a", 1), lambda _order: None)
    assert "`steadhold consumer-table sqlite`" in told.value.__notes__[0]


NO_JSON = {
    "object": object(), "function": lambda: None, "surrogate": "\ud800", "keys": {(1, 2): 3}, "numbers": {1: 2},
    "set": {1, 2}, "bytes": b"x", "nan": [float("nan")], "infinity": Decimal("-Infinity"), "event": Event(),
}  # fmt: skip


@pytest.mark.parametrize("answer", NO_JSON.values(), ids=NO_JSON)
def test_what_json_cannot_say_is_not_recorded_whoever_commits(answer, path):
    with plain(path) as conn, pytest.raises(TypeError, match="JSON cannot say what the handler answered"):
        apply_once(conn, "billing", Event(), Handler(answer))
    assert applied(path) == []


BIG = 12_345_678_901_234_567_890_123


@pytest.mark.parametrize(
    "answer, read", [((1, ()), [1, []]), ([0.1, Decimal("1.10")], [Decimal("0.1"), Decimal("1.10")]), (BIG, BIG)]
)
def test_an_answer_is_the_same_now_and_as_a_duplicate(answer, read, path):
    with plain(path) as conn:
        told = [apply_once(conn, "billing", Event(), Handler(answer)) for _ in range(2)]
    assert [applied.order for applied in told] == ["next", "duplicate"]
    assert repr(told[0].outcome) == repr(told[1].outcome) == repr(read)


@pytest.mark.parametrize("kind", ASYNC)
async def test_by_an_asynchronous_handler_neither(kind, shop, rows):  # noqa: F811
    async with ASYNC[kind](shop.dsn) as conn:
        with pytest.raises(TypeError, match="JSON cannot say what the handler answered, object"):
            await apply_once(conn, "billing", Event(), Handler(object()).later)
    assert rows() == []


@pytest.mark.parametrize(
    "consumer, event, said",
    [
        ("c", {"event_id": "e1"}, "dict is no event: it has no event_id. Give what was read from an inbox"),
        ("c", None, "NoneType is no event"),
        ("c", Event(""), "its event_id is ''"),
        ("c", Event(7), "its event_id is 7"),
        ("c", Event("e1", 7), "its aggregate_id is 7"),
        ("c", Event("e1", "a", "1"), "its aggregate_revision is '1'"),
        ("", Event(), "consumer_id is a text"),
        (None, Event(), "consumer_id is a text"),
    ],
)
def test_what_is_no_event_is_not_applied(path, consumer, event, said):
    handler = Handler()
    with plain(path) as conn, pytest.raises(TypeError, match=said):
        apply_once(conn, consumer, event, handler)
    assert (applied(path), handler.told) == ([], [])
