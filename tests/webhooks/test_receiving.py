"""`@dedupe`: what a handler does by its connection and the event's id commit together, once per event and consumer."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import uuid
from dataclasses import dataclass

import pytest

from steadhold.inboxes.applied_table import TABLES
from steadhold.inboxes.applying import Applied
from steadhold.testing.database import copied
from steadhold.webhooks import dedupe
from tests.play.test_caller import ASYNC, SYNC


@dataclass
class Delivery:
    event_id: str
    body: bytes = b""


def delivery(revision=1, event_id=None, **more):
    said = {"event_id": "other", "aggregate_id": "order:1", "aggregate_revision": revision, **more}
    return Delivery(event_id or f"order:1@{revision}", json.dumps(said).encode())


class Count:
    def __init__(self):
        self.orders = []

    def __call__(self, conn, delivery, order):
        self.orders.append(order)
        return {"n": len(self.orders)}


@pytest.fixture
def shop():
    with contextlib.closing(sqlite3.connect(":memory:")) as conn:
        conn.executescript(TABLES["sqlite"] + "create table done (event_id text);")
        yield conn


@pytest.fixture(scope="module")
def theirs(server_run):
    """A database of PostgreSQL that has that one table of ours."""
    with copied(server_run, "theirs") as database:
        with database.connect() as conn:
            conn.execute(TABLES["postgresql"].encode())
        yield database.dsn


def test_an_event_takes_effect_once_and_is_answered_as_the_first_time(shop):
    count = Count()
    paid = dedupe("billing")(count)
    with shop:
        assert paid(shop, delivery()) == Applied("next", {"n": 1})
    with shop:
        assert paid(shop, delivery()) == Applied("duplicate", {"n": 1})
    assert count.orders == ["next"]


def test_each_consumer_has_its_own(shop):
    count = Count()
    with shop:
        assert [dedupe(name)(count)(shop, delivery()).order for name in ("a", "b", "a")] == [
            "next",
            "next",
            "duplicate",
        ]


def test_a_handler_is_told_of_gaps_and_of_what_is_stale(shop):
    count = Count()
    paid = dedupe("billing")(count)
    with shop:
        for revision in (1, 3, 2, 4):
            paid(shop, delivery(revision))
    assert count.orders == ["next", "gap", "stale", "next"]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xff", b"[]", b"{}", b'{"aggregate_id": 1, "aggregate_revision": 1}', b'{"aggregate_id": "a"}',
        b'{"aggregate_id": "a", "aggregate_revision": 0}', b'{"aggregate_id": "a\\u0000", "aggregate_revision": 1}',
        b'{"aggregate_id": "a", "aggregate_revision": 1e999}',
        b'{"aggregate_id": "a", "aggregate_revision": 1000000000000000}',
    ],
)  # fmt: skip
def test_what_another_sender_says_is_next_each_time(shop, body):
    count = Count()
    paid = dedupe("billing")(count)
    with shop:
        told = [paid(shop, Delivery(event_id, body)).order for event_id in ("a", "b", "a")]
    assert (told, count.orders) == (["next", "next", "duplicate"], ["next", "next"])


def test_the_id_that_was_signed_counts_and_not_what_the_body_says(shop):
    count = Count()
    paid = dedupe("billing")(count)
    with shop:
        told = [paid(shop, delivery(n, id)).order for n, id in enumerate(("evt_1", "evt_2", "evt_1"), 1)]
    assert told == ["next", "next", "duplicate"]


def test_a_handler_that_fails_has_applied_nothing(shop):
    tries = iter([ValueError("first"), None])

    @dedupe("billing")
    def paid(conn, delivery, order):
        conn.execute("insert into done values (?)", [delivery.event_id])
        if (error := next(tries)) is not None:
            raise error

    with pytest.raises(ValueError, match="first"), shop:
        paid(shop, delivery())
    with shop:
        assert paid(shop, delivery()).order == "next"
    assert shop.execute("select event_id from done").fetchall() == [("order:1@1",)]


def test_twins_at_the_same_moment_wait_for_one_another(tmp_path):
    path, seen, together = str(tmp_path / "shop.db"), [], threading.Barrier(2)
    with contextlib.closing(sqlite3.connect(path)) as conn:
        conn.executescript(TABLES["sqlite"])

    @dedupe("billing")
    def paid(conn, delivery, order):
        seen.append(order)

    def receive():
        together.wait()
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as conn, conn:
            paid(conn, delivery())

    threads = [threading.Thread(target=receive) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == ["next"]


@pytest.mark.database
@pytest.mark.parametrize("kind", SYNC)
def test_sync(kind, theirs):
    count, event = Count(), delivery(event_id=uuid.uuid4().hex)
    paid = dedupe(kind)(count)
    for expected in ("next", "duplicate"):
        with SYNC[kind](theirs) as conn:
            assert paid(conn, event) == Applied(expected, {"n": 1})


@pytest.mark.database
@pytest.mark.parametrize("kind", ASYNC)
async def test_async(kind, theirs):
    count, event = Count(), delivery(event_id=uuid.uuid4().hex)

    @dedupe(f"{kind}, later")
    async def paid(conn, delivery, order):
        return count(conn, delivery, order)

    for expected in ("next", "duplicate"):
        async with ASYNC[kind](theirs) as conn:
            assert await paid(conn, event) == Applied(expected, {"n": 1})


def test_a_handler_keeps_its_name():
    assert dedupe("a")(test_a_handler_keeps_its_name).__name__ == "test_a_handler_keeps_its_name"
