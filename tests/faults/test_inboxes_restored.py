"""A backup or a snapshot is put back: positions are refused or right, on reads too, and nothing is applied twice."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager, suppress

import psycopg
import pytest

from steadhold import inboxes
from steadhold.db.binaries import everywhere, find
from steadhold.sdk import Client
from steadhold.sdk.errors import BeyondHead, InboxRestored
from tests.faults import standby
from tests.faults.servers import Server
from tests.faults.test_failover import founded, steadhold

SAVED, LOST = 30, 12
"""Events that the backup has, and those that came after it."""


@pytest.fixture
def home():
    with standby.folder() as made:
        yield made


@contextmanager
def serving(postgres, key):
    """A server on a PostgreSQL, and a client of it."""
    served = Server(postgres.dsn)
    try:
        with Client(served.url, key) as client:
            yield client
    finally:
        served.close()


def append(client, first, count):
    return [client.inboxes["a"].append("t", n, key=f"k{n}") for n in range(first, first + count)]


def before(client):
    """What is there when the backup is made: the ids of the events."""
    client.inboxes["a"].create()
    for name in ("early", "late"):
        client.inboxes["a"].consumer(name).create()
    made = append(client, 1, SAVED)
    acknowledge(client, early=10, late=SAVED)
    return [one.event_id for one in made]


def acknowledge(client, **positions):
    epoch = client.inboxes["a"].get().epoch
    for name, sequence in positions.items():
        client.inboxes["a"].consumer(name).acknowledge(epoch, sequence)


def after(client):
    """What happens after the backup: the ids of the events, and the epoch that is in everybody's hands."""
    made = append(client, SAVED + 1, LOST)
    acknowledge(client, early=15, late=SAVED + LOST)
    return [one.event_id for one in made], made[0].epoch


def came_through(client, epoch, ids, lost):
    """Every position of the old epoch is refused, whoever asks; one of the new leads to the events that it led to.

    How far the consumer came that had come least far.
    """
    box, now = client.inboxes["a"], client.inboxes["a"].get()
    assert (now.epoch != epoch, now.last_sequence) == (True, SAVED)
    for n in range(SAVED + LOST + 1):
        asked = (
            lambda n=n: box.read(epoch=epoch, after=n),
            lambda n=n: next(box.export(epoch=epoch, after=n)),
            lambda n=n: box.consumer("late").acknowledge(epoch, n),
            lambda n=n: box.consumer("new").create((epoch, n)),
        )
        for ask in asked:
            with pytest.raises(InboxRestored) as told:
                ask()
            assert (told.value.epoch, told.value.extras["last_sequence"]) == (now.epoch, SAVED)
        with suppress(BeyondHead):
            page = box.read(epoch=now.epoch, after=n)
            assert n <= SAVED
            assert [one.event_id for one in page.events] == ids[n:]
    places = {name: box.consumer(name).get() for name in ("early", "late")}
    assert {name: (one.position, one.epoch) for name, one in places.items()} == {
        "early": (10, now.epoch), "late": (SAVED, now.epoch),
    }  # fmt: skip
    sent = append(client, SAVED + 1, LOST)  # by whoever does not know whether it arrived
    assert [(one.sequence, one.event_id, one.duplicate) for one in sent] == [
        (SAVED + n, id, False) for n, id in enumerate(lost, 1)
    ]
    again = append(client, 1, SAVED)
    assert [(one.sequence, one.event_id, one.duplicate) for one in again] == [
        (n, id, True) for n, id in enumerate(ids, 1)
    ]
    received = box.consumer("early").receive()
    came = [next(received) for _ in range(SAVED + LOST - 10)]
    assert [one.event_id for one in came] == [*ids[10:], *lost]
    return came[-1].ack().position


def programs():
    """A folder with pg_dump and pg_restore that can read what the tests' PostgreSQL holds."""
    folders = [find().folder, *(found.folder for found in everywhere())]
    return next(folder for folder in folders if (folder / "pg_dump").exists())


def run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True)


@pytest.mark.parametrize("said", [True, False], ids=["said so", "noticed"])
def test_a_dump_in_another_cluster(home, said):
    """Another cluster has another identifier, which every server notices; `restored` says the same."""
    first, second, dump = standby.postgres(home / "one"), standby.postgres(home / "two"), home / "dump"
    with first:
        key = founded(first)
        with serving(first, key) as client:
            ids = before(client)
            run(programs() / "pg_dump", "--format=custom", f"--file={dump}", first.dsn)
            lost, epoch = after(client)
    with second:
        with psycopg.connect(second.dsn, autocommit=True) as conn:
            conn.execute("create role steadhold_app nologin")
        run(programs() / "pg_restore", "--exit-on-error", "--dbname", second.dsn, dump)
        if said:
            steadhold("restored", database_url=second.dsn)
        with serving(second, key) as client:
            assert came_through(client, epoch, ids, lost) == SAVED + LOST


def test_a_snapshot_in_place(home):
    """Nothing shows it: whoever puts it back says so. A library that asks no server is told the same."""
    data, snapshot = home / "data", home / "snapshot"
    postgres = standby.postgres(data)
    with postgres:
        key = founded(postgres)
        with serving(postgres, key) as client:
            ids = before(client)
        standby.replaced(postgres, postgres, data, snapshot)
        with serving(postgres, key) as client:
            lost, epoch = after(client)
        standby.replaced(postgres, postgres, snapshot, data)
        steadhold("restored", database_url=postgres.dsn)
        with psycopg.connect(postgres.dsn) as conn:
            (place,) = conn.execute("select workspace from steadhold.inboxes").fetchone()
            told = inboxes.read(conn, place, "a", epoch, SAVED + LOST)
            acknowledged = inboxes.acknowledge(conn, place, "a", "late", epoch, SAVED + LOST)
        assert isinstance(told, inboxes.Restored)
        assert told == acknowledged
        with serving(postgres, key) as client:
            assert came_through(client, epoch, ids, lost) == SAVED + LOST
        standby.replaced(postgres, postgres, snapshot, data)
        steadhold("restored", database_url=postgres.dsn)
        with serving(postgres, key) as client:
            assert client.inboxes["a"].get().epoch not in {epoch, told.epoch}
            assert came_through(client, told.epoch, ids, lost) == SAVED + LOST
