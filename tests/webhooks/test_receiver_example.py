"""The example of a receiver: it counts once what comes twice, at the same moment, or again after it was killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import BadStatusLine, HTTPConnection, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from steadhold.webhooks import sign

pytestmark = pytest.mark.journeys

PROGRAM = Path(__file__).parents[2] / "examples" / "receiver_sqlite" / "receiver.py"
SECRET = sign.secret_text(bytes(range(32)))


def fields_of(n, body, secret=SECRET):
    signed = sign.headers([sign.read_secret(secret)], f"payment:{n}@1", int(time.time()), body)
    return {**signed, "content-type": "application/json"}


def body_of(n, cents=100):
    said = {"event_id": f"payment:{n}@1", "aggregate_id": f"payment:{n}", "aggregate_revision": 1}
    return json.dumps({**said, "type": "payment.made", "data": {"account": "a", "cents": cents}}).encode()


class Running:
    def __init__(self, database):
        self.database = database
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, database, "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "WEBHOOK_SECRET": SECRET},
        )  # fmt: skip
        self.port = urlsplit(self.process.stdout.readline().decode().strip()).port

    def send(self, n, body=None, **more):
        body = body_of(n) if body is None else body
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as conn:
            conn.request("POST", "/", body, fields_of(n, body, **more))
            return conn.getresponse().status

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    @property
    def cents(self):
        with closing(sqlite3.connect(self.database)) as shop:
            return shop.execute("select coalesce(sum(cents), 0) from accounts").fetchone()[0]


@pytest.fixture
def running(tmp_path):
    made = []

    def run():
        made.append(Running(str(tmp_path / "shop.db")))
        return made[-1]

    yield run
    for each in made:
        if each.process.poll() is None:
            each.kill()


def test_what_comes_again_is_counted_once(running):
    receiver = running()
    assert [receiver.send(1) for _ in range(3)] == [200, 200, 200]
    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(receiver.send, [2] * 8))
    assert (set(answered), receiver.cents) == ({200}, 200)


def test_what_is_not_genuine_changes_nothing(running):
    receiver = running()
    assert receiver.send(1, secret=sign.secret_text(bytes(32))) == 401
    assert (receiver.send(1, b"no json"), receiver.cents) == (500, 0)
    assert (receiver.send(1), receiver.cents) == (200, 100)


def test_a_test_event_is_taken_and_counts_nothing(running):
    receiver = running()
    assert (receiver.send(1, b'{"event_id": "ping_1", "type": "webhook.ping"}'), receiver.cents) == (200, 0)


def test_killed_before_its_commit_it_counts_when_it_comes_again(running):
    receiver = running()
    with closing(sqlite3.connect(receiver.database, isolation_level=None)) as other, ThreadPoolExecutor() as pool:
        other.execute("begin immediate")  # so that nobody else can commit
        sent = pool.submit(receiver.send, 1)
        receiver.kill()
        with pytest.raises((RemoteDisconnected, ConnectionError, BadStatusLine)):
            sent.result()
        other.execute("rollback")
    again = running()
    assert (again.cents, again.send(1), again.send(1), again.cents) == (0, 200, 200, 100)


def test_killed_after_its_commit_it_counts_nothing_when_it_comes_again(running):
    receiver = running()
    assert receiver.send(1) == 200
    receiver.kill()
    again = running()
    assert (again.send(1), again.send(2), again.cents) == (200, 200, 200)
