"""Inboxes over kills: a server at each moment of an append, a consumer at any moment of its work."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from steadhold.inboxes.applying import TABLES
from steadhold.sdk import Client
from steadhold.sdk.errors import InboxRestored
from tests.faults.servers import LOST, Server, house, key, place, server  # noqa: F401 - fixtures

JSON = {"content-type": "application/json"}
CREATE = {"if-none-match": "*", **JSON}

MOMENTS = {
    "received=kill": 0,
    "tx_begun=kill:1": 0,
    "inboxes.hold=kill": 0,
    "inboxes.append=kill": 0,
    "before_commit=kill:1": 0,
    "after_commit=kill:1": 1,
    "reply_half_sent=kill": 1,
}
"""Moments of an append, and how many events are there when the server was killed then."""


@pytest.fixture(scope="module", params=["lockstep", "single"])
def player(request):
    return request.param


@pytest.fixture(scope="module")
def second(house, player):  # noqa: F811
    """A server that nobody kills."""
    with server(house.dsn, player=player) as made:
        yield made


@pytest.fixture
def client(second, key):  # noqa: F811
    with second.client(key) as made:
        made.put("/v1/inboxes/a", content=b"{}", headers=CREATE).raise_for_status()
        yield made


def append(client):
    headers = {"idempotency-key": "k", **JSON}
    return client.post("/v1/inboxes/a/events", content=b'{"type":"t","data":1}', headers=headers)


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_append_is_there_once_whenever_the_server_dies(house, key, player, client, moment):  # noqa: F811
    killed = Server(house.dsn, player=player, background=False, failpoints=moment)
    try:
        with killed.client(key) as unlucky, pytest.raises(LOST):
            append(unlucky)
        killed.died()
    finally:
        killed.close()
    there = MOMENTS[moment]
    assert client.get("/v1/inboxes/a").json()["last_sequence"] == there
    assert client.get("/v1/inboxes/a/receipts/k").status_code == (200 if there else 404)
    again = append(client)
    assert (again.status_code, again.json()["sequence"]) == (200 if there else 201, 1)
    assert client.get("/v1/inboxes/a").json()["last_sequence"] == 1


def test_after_a_restore_positions_are_refused_and_consumers_go_on(house, key, second, client):  # noqa: F811
    """A snapshot put back in place shows no sign of it: the operator says `steadhold restored`."""
    with Client(second.url, key) as sdk:
        box, consumer = sdk.inboxes["a"], sdk.inboxes["a"].consumer("c")
        for n in range(3):
            box.append("t", n, key=f"k{n}")
        consumer.create()
        received = consumer.receive(limit=1)
        first = next(received)
        assert first.ack().position == 1
        with house.connect() as conn:
            conn.execute("select steadhold.restored()")
        now = box.get().epoch
        assert now != first.epoch
        for refused in (lambda: box.read(epoch=first.epoch, after=1), lambda: consumer.acknowledge(first.epoch, 2)):
            with pytest.raises(InboxRestored) as told:
                refused()
            assert (told.value.epoch, told.value.extras["last_sequence"]) == (now, 3)
        assert (consumer.get().epoch, consumer.get().position) == (now, 1)
        second_event = next(received)
        assert (second_event.epoch, second_event.sequence, second_event.value) == (now, 2, 1)
        assert second_event.ack().position == 2
        again, new = box.append("t", 0, key="k0"), box.append("t", 3, key="k3")
        assert (again.duplicate, again.sequence, again.epoch) == (True, 1, now)
        assert (new.sequence, new.epoch, box.get().epoch) == (4, now, now)


CONSUMER = """
import sqlite3, sys
from steadhold import Client
from steadhold.inboxes import apply_once
url, key, path = sys.argv[1:]
shop = sqlite3.connect(path, timeout=30)
with Client(url, key) as client:
    for event in client.inboxes["a"].consumer("c"):
        def add(order):
            shop.execute("update total set events = events + 1, amount = amount + ?", [event.value])
            return event.sequence
        with shop:
            applied = apply_once(shop, "c", event, add)
        print(applied.order, flush=True)
        event.ack()
"""


def test_a_consumer_that_is_killed_applies_each_event_once(second, key, client, tmp_path):  # noqa: F811
    count, kills = 400, 12
    lines = [b'{"key":"k%d","type":"t","data":%d}' % (n, n) for n in range(count)]
    sent = client.post(
        "/v1/inboxes/a/events", content=b"\n".join(lines), headers={"content-type": "application/x-ndjson"}
    )
    assert sent.status_code == 200
    client.put("/v1/inboxes/a/consumers/c", content=b"{}", headers=CREATE).raise_for_status()
    path, chance, told = tmp_path / "shop.db", random.Random(7), []
    with closing(sqlite3.connect(path)) as shop:
        shop.executescript(TABLES["sqlite"])
        shop.executescript("create table total (events, amount); insert into total values (0, 0)")
    for life in range(kills + 1):
        done, orders = lived(second.url, key, path, None if life == kills else chance.randrange(1, count // kills))
        told += orders
        if done:
            break
    with closing(sqlite3.connect(path)) as shop:
        assert shop.execute("select events, amount from total").fetchone() == (count, sum(range(count)))
    assert client.get("/v1/inboxes/a/consumers/c").json()["position"] <= count
    assert told.count("next") <= count


def lived(url, key, path, until):  # noqa: F811
    """Let a consumer work until it has told of so many events, or (None) of all that there are; then kill it."""
    process = subprocess.Popen(
        [sys.executable, "-c", CONSUMER, url, key, str(path)], stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    orders = []
    try:
        for line in process.stdout:
            orders.append(line.strip())
            if until is not None and len(orders) >= until:
                break
            if until is None and applied(path) == 400:
                return True, orders
    finally:
        process.kill()
        process.wait(30)
        process.stdout.close()
    return False, orders


def applied(path):
    with closing(sqlite3.connect(path, timeout=30)) as shop:
        return shop.execute("select events from total").fetchone()[0]
