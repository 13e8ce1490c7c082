"""A consumer is killed at each moment of its work, again and again: what it does with an event it does once."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
from contextlib import closing

import psycopg
import pytest

from steadhold.inboxes.applied_table import TABLES
from steadhold.sdk import Client
from steadhold.testing.database import copied
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures
from tests.forks import begin

LOADED = ("psycopg", "sqlite3", "steadhold.sdk.client", "steadhold.inboxes")
CONSUMER = """
import os, signal, sqlite3, sys
import psycopg
from steadhold import Client
from steadhold.inboxes import apply_once

url, key, where, moment, after, last = sys.argv[1:]
if where.startswith("postgresql"):
    shop = psycopg.connect(where)
    transaction, add = shop.transaction, "update total set events = events + 1, amount = amount + %s"
else:
    shop = sqlite3.connect(where, timeout=30)
    transaction, add = lambda: shop, "update total set events = events + 1, amount = amount + ?"
count = 0

def reached(here):
    if here == moment and count >= int(after):
        os.kill(os.getpid(), signal.SIGKILL)

with Client(url, key) as client:
    for event in client.inboxes["a"].consumer("c"):
        count += 1
        def apply(order):
            shop.execute(add, [event.value])
            reached("inside")
            return event.sequence
        reached("received")
        with transaction():
            applied = apply_once(shop, "c", event, apply)
            reached("recorded")
        reached("applied")
        print(event.sequence, applied.order, applied.outcome, flush=True)
        if event.sequence == int(last):  # it stays, so that whoever comes next does not wait for ever
            os.kill(os.getpid(), signal.SIGKILL)
        event.ack()
        reached("acknowledged")
"""
MOMENTS = ("received", "inside", "recorded", "applied", "acknowledged", "whenever")
"""When a life ends: between receiving and the effect, within it, between it and the acknowledgement, or anywhere."""

AGAIN = {"received": "next", "inside": "next", "recorded": "next", "applied": "duplicate", "acknowledged": "next"}
"""What the first event of the next life is then."""


@pytest.fixture(scope="module")
def served(house):  # noqa: F811
    with server(house.dsn) as made:
        yield made


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request, tmp_path, server_run):
    """Where a database of the consumer's own is, and how to ask it."""
    if request.param == "sqlite":
        path = str(tmp_path / "shop.db")
        with closing(sqlite3.connect(path)) as conn:
            conn.executescript(
                TABLES["sqlite"] + "create table total (events, amount); insert into total values (0, 0)"
            )
        yield path, lambda: sqlite3.connect(path, timeout=30)
        return
    with copied(server_run, "shop") as database:
        with database.connect() as conn:
            conn.execute(TABLES["postgresql"].encode())
            conn.execute("create table total (events int, amount bigint)")
            conn.execute("insert into total values (0, 0)")
        yield database.dsn, lambda: psycopg.connect(database.dsn)


def asked(shop, question):
    with closing(shop[1]()) as conn:
        return conn.execute(question).fetchall()


def lived(served, key, shop, moment, after, last):  # noqa: F811
    """What a consumer told until it was killed, or had come to the last event."""
    command = ["-c", CONSUMER, served.url, key, shop[0], moment, after, last]
    told = []
    with begin(command, load=LOADED, stdout=subprocess.PIPE) as process:
        try:
            for line in process.stdout:
                sequence, order, outcome = line.split()
                assert sequence == outcome
                told.append((int(sequence), order))
                if moment == "whenever" and len(told) == after:
                    process.kill()
                    break
            process.wait(60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGKILL
    return told


def filled(client, count):
    box = client.inboxes["a"]
    box.create()
    box.consumer("c").create()
    for first in range(0, count, 500):
        lines = b"".join(
            b'{"key":"k%d","type":"t","data":%d}\n' % (n, n) for n in range(first, first + 500) if n < count
        )
        headers = {"content-type": "application/x-ndjson"}
        yield lines, headers


@pytest.mark.parametrize(
    ("count", "kills"),
    [
        (400, 18),
        pytest.param(10_000, 240, marks=[pytest.mark.soak, pytest.mark.timeout(3_600)]),
    ],
)
def test_each_event_is_applied_once(count, kills, served, key, shop):  # noqa: F811
    chance, lives, before = random.Random(count), [], "acknowledged"
    with Client(served.url, key) as client, served.client(key) as sender:
        for lines, headers in filled(client, count):
            sender.post("/v1/inboxes/a/events", content=lines, headers=headers).raise_for_status()
        for kill in range(kills):
            moment = MOMENTS[kill % len(MOMENTS)]
            told = lived(served, key, shop, moment, chance.randrange(1, 2 * count // kills), count)
            if told and before in AGAIN:
                assert told[0][1] == AGAIN[before], (before, told[0])
            lives += told
            if told or moment == "applied":  # else it was killed before it did anything
                before = moment
            if told and told[-1][0] == count:
                break
        lives += lived(served, key, shop, "never", 0, count)
        assert count - 1 <= client.inboxes["a"].consumer("c").get().position <= count
    assert asked(shop, "select events, amount from total") == [(count, sum(range(count)))]
    assert asked(shop, "select count(*), count(outcome) from steadhold_applied") == [(count, count)]
    orders = [order for _, order in lives]
    assert orders.count("next") <= count
    assert "duplicate" in orders
