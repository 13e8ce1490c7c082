"""examples/orders, run: the list is right whoever is killed when, and whatever never came."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from contextlib import closing
from itertools import islice

import pytest
import shipping
import shop

from steadhold import Client
from tests.examples.conftest import EXAMPLES
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys
FOLDER = EXAMPLES / "orders"
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def served(house):  # noqa: F811
    with server(house.dsn) as made:
        yield made


@pytest.fixture
def client(served, key):  # noqa: F811
    with Client(served.url, key) as made:
        shipping.prepare(made)
        yield made


@pytest.fixture
def orders(house):  # noqa: F811
    """A connection of the shop, whose table is empty."""
    with house.connect() as conn:
        conn.execute("drop table if exists orders")
        conn.execute(shop.TABLE.encode())
        yield conn


@pytest.fixture
def shipped(tmp_path):
    with closing(shipping.opened(str(tmp_path / "shipping.db"))) as conn:
        yield conn


@pytest.fixture
def environ(house, place, served, key):  # noqa: F811
    told = {"DATABASE_URL": house.dsn, "WORKSPACE": place, "STEADHOLD_URL": served.url, "STEADHOLD_API_KEY": key}
    return {**told, "PYTHONPATH": ":".join(sys.path)}


def listed(conn, table):
    return sorted(conn.execute(f"select id, state, revision from {table}").fetchall())


def steps(place, orders, *words):  # noqa: F811
    return [shop.change(orders, place, *said.split()) for said in words]


def caught_up(client, shipped):
    """Handle all that there is; what each event was."""
    until, told = client.inboxes["orders"].get, []
    consumer = client.inboxes["orders"].consumer("shipping")
    received, at = consumer.receive(), consumer.get().position
    while at < until().last_sequence:
        item = next(received)
        if item.gap:
            shipping.rebuild(client, shipped)
            told.append("rebuilt")
        else:
            told.append(shipping.handle(client, shipped, item).order)
        at = item.ack().position
    return told


def relayed(client, count):
    """Wait until the inbox has had so many events."""
    inbox = client.inboxes["orders"]
    found = inbox.read()
    while found.last_sequence < count:
        found = inbox.read(epoch=found.epoch, after=found.last_sequence, wait_seconds=PATIENCE_SECONDS / 2)


def test_it_runs_as_its_page_says(client, orders, shipped, environ, tmp_path):
    said = re.findall(r"^\$ python (shop\.py .*?)(?: +#.*)?\n(.*)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert len(said) == 2
    for words, answer in said:
        ran = subprocess.run(
            [sys.executable, *words.split()], cwd=FOLDER, env=environ, capture_output=True, check=True, text=True
        )
        assert ran.stdout == answer + "\n"
    again = subprocess.run([sys.executable, "shop.py", "place", "order-7"], cwd=FOLDER, env=environ, check=False)
    assert again.returncode == 3
    command = [sys.executable, "shipping.py", str(tmp_path / "shipping.db")]
    with subprocess.Popen(command, cwd=FOLDER, env=environ, stdout=subprocess.PIPE, text=True) as follows:
        told = [follows.stdout.readline() for _ in range(2)]
        follows.send_signal(signal.SIGINT)
        assert follows.wait(30) == 0
    assert told == ["order-7 order.placed next\n", "order-7 order.paid next\n"]
    assert listed(shipped, "shipments") == [("order-7", "paid", 2)]


def test_what_was_refused_left_nothing(client, place, orders):  # noqa: F811
    assert steps(place, orders, "place order-1", "pay order-1") == [1, 2]
    for said in ("place order-1", "pay order-1", "pack order-2"):
        with pytest.raises(shop.Refused):
            steps(place, orders, said)
    orders.execute("delete from orders")  # as if somebody else had made it
    with pytest.raises(shop.Refused, match="first"):
        steps(place, orders, "place order-1")
    assert listed(orders, "orders") == []
    assert [one.type for one in client.aggregates.events("order-1")] == ["order.placed", "order.paid"]


def test_what_never_came_is_read_from_the_order(client, place, orders, shipped):  # noqa: F811
    """A subscription that came late, and an event of before that comes after all."""
    client.subscriptions.delete("orders", if_revision=client.subscriptions.get("orders").revision)
    steps(place, orders, "place order-1", "place order-2")
    shipping.prepare(client)
    steps(place, orders, "pay order-1")
    relayed(client, 1)
    assert caught_up(client, shipped) == ["gap"]
    assert listed(shipped, "shipments") == [("order-1", "paid", 2)]
    first = next(client.aggregates.events("order-1"))
    client.inboxes["orders"].append(
        first.type, {"state": "placed"}, aggregate_id="order-1", aggregate_revision=1, key="late"
    )
    steps(place, orders, "pack order-1")
    relayed(client, 3)
    assert sorted(caught_up(client, shipped)) == ["next", "stale"]
    assert listed(shipped, "shipments") == [("order-1", "packed", 3)]


def test_what_the_inbox_let_go_is_built_anew(client, place, orders, shipped):  # noqa: F811
    steps(place, orders, *[f"place order-{n}" for n in range(6)], "pay order-0")
    relayed(client, 7)
    steps(place, orders, "pay order-5", "pack order-5")
    relayed(client, 9)
    inbox = client.inboxes["orders"]
    inbox.configure(if_revision=inbox.get().revision, max_events=2)
    while inbox.get().first_retained < 8:
        inbox.read(epoch=inbox.get().epoch, after=9, wait_seconds=0.1)
    assert caught_up(client, shipped) == ["rebuilt", "gap", "next"]
    assert listed(shipped, "shipments") == listed(orders, "orders")
    steps(place, orders, "pack order-0")
    relayed(client, 10)
    assert caught_up(client, shipped) == ["gap"]
    assert listed(shipped, "shipments") == listed(orders, "orders")


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import os, psycopg, shop
with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as conn:
    for n in range(int(sys.argv[2])):
        for verb in ("place", "pay", "pack"):
            try:
                print(shop.change(conn, os.environ["WORKSPACE"], verb, f"order-{n}"), flush=True)
            except shop.Refused:
                pass  # a life before this one did it
"""


def test_it_is_right_whoever_is_killed(client, orders, shipped, environ, house, tmp_path):  # noqa: F811
    """Shop, shipping and a second server, each killed again and again; the events are as many as the changes."""
    count, chance = 30, random.Random(11)
    writer = [sys.executable, "-c", WRITER, str(FOLDER), str(count)]
    follower = [sys.executable, "shipping.py", str(tmp_path / "shipping.db")]
    for life in range(3):
        with server(house.dsn, failpoints="" if life % 2 else f"loops.tick=kill:{chance.randrange(2, 5)}"):
            lives = [
                subprocess.Popen(command, cwd=FOLDER, env=environ, stdout=subprocess.PIPE, text=True)
                for command in (writer, follower)
            ]
            done = [line for line in islice(lives[0].stdout, count // 2) if line]
            for _ in range(chance.randrange(len(done) + 1)):
                lives[1].stdout.readline()
            for process in lives:
                process.kill()
                process.wait(30)
                process.stdout.close()
    subprocess.run(writer, cwd=FOLDER, env=environ, check=True, stdout=subprocess.DEVNULL)
    relayed(client, 3 * count)
    caught_up(client, shipped)
    assert client.inboxes["orders"].get().last_sequence == 3 * count
    assert listed(shipped, "shipments") == listed(orders, "orders")
    assert {row[1:] for row in listed(orders, "orders")} == {("packed", 3)}
    applied = shipped.execute("select outcome, count(*) from steadhold_applied group by outcome").fetchall()
    assert applied == [('"next"', 3 * count)]


def lines(text):
    """A program's lines, wherever they are indented to."""
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def test_the_recipe_shows_what_is_run_here():
    page = (EXAMPLES.parent / "docs" / "recipes" / "orders.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    programs = lines("".join((FOLDER / name).read_text(encoding="utf-8") for name in ("shop.py", "shipping.py")))
    assert len(shown) == 3
    assert [block for block in shown if lines(block) not in programs] == []
