"""The server is killed at each labelled point of a write: sent again, it takes effect once; receipts tell the truth."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import psycopg
import pytest

from steadhold import access
from steadhold.access.token import Token, key_id_of, secret_of
from steadhold.kit.ids import new_id
from steadhold.server.settings import Settings
from tests.faults.servers import LOADED
from tests.forks import Begun, begin
from tests.server.test_process import PROGRAM, address_of

pytestmark = pytest.mark.journeys

# Where it is killed, and whether the write had committed by then. The first transaction reads the key.
POINTS = {
    "received=kill": False,
    "operations.claim=kill": False,
    "state.write=kill": False,
    "operations.seal=kill": False,
    "before_commit=kill:1": False,
    "after_commit=kill:1": True,
    "reply_half_sent=kill": True,
}


@contextmanager
def serving(dsn: str, failpoints: str, player: str) -> Iterator[tuple[Begun, tuple[str, int]]]:
    settings = Settings(database_url=dsn, port=0, player=player, background=False)
    process = begin(
        ["-c", PROGRAM, msgspec.json.encode(settings).decode()],
        load=LOADED,
        stdout=subprocess.PIPE,
        env={**os.environ, "STEADHOLD_FAILPOINTS": failpoints},
    )
    try:
        yield process, address_of(process.stdout.readline().strip())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def key(dsn: str, workspace: str) -> str:
    token = Token("test", key_id_of(new_id()), secret_of(os.urandom(32)))
    with psycopg.connect(dsn) as conn:
        access.import_key(
            conn, workspace, token.key_id, token.hash, env="test", subject="anna", kind="person", scopes=("*:*",)
        )
    return token.text


def ask(address, key: str, method: str, target: str, body: bytes | None = None, **headers: str):
    conn = http.client.HTTPConnection(*address, timeout=30)
    try:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        conn.request(
            method, target, body, {"Authorization": f"Bearer {key}", "Content-Type": "application/json"} | fields
        )
        got = conn.getresponse()
        return got.status, dict(got.getheaders()), got.read()
    finally:
        conn.close()


@pytest.mark.parametrize("player", ["lockstep", "single"])
@pytest.mark.parametrize("point", POINTS)
def test_a_write_that_was_cut_short_is_sent_again(dsn, key, point, player):
    operation = new_id()
    write = ("PUT", "/v1/state/a", b"[1]")
    with serving(dsn, point, player) as (process, address):
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            ask(address, key, *write, If_None_Match="*", Idempotency_Key=operation)
        assert process.wait(30) == -signal.SIGKILL
    with serving(dsn, "", player) as (_, address):
        status, _, body = ask(address, key, "GET", f"/v1/operations/{operation}?wait_seconds=0.2")
        told = msgspec.json.decode(body)
        if POINTS[point]:
            assert (status, told["state"], told["revision"]) == (200, "committed", 1)
        else:
            assert (status, told["code"]) == (404, "operation_not_committed")
        status, headers, _ = ask(address, key, *write, If_None_Match="*", Idempotency_Key=operation)
        assert (status, headers["etag"]) == (201, '"1"')
        assert headers.get("idempotent-replayed") == ("true" if POINTS[point] else None)
        status, headers, body = ask(address, key, "GET", "/v1/state/a")
        assert (status, headers["revision"], body) == (200, "1", b"[1]")


def test_a_stop_answers_long_polls_first(dsn, key):
    with serving(dsn, "", "lockstep") as (process, address):
        polls = [http.client.HTTPConnection(*address, timeout=30) for _ in range(10)]
        for poll in polls:
            poll.request("GET", "/v1/state/none?wait_seconds=30", headers={"Authorization": f"Bearer {key}"})
        while b"steadhold_waiters 10.0" not in ask(address, key, "GET", "/metrics")[2]:
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert [poll.getresponse().status for poll in polls] == [404] * 10
        assert process.wait(20) == 0
        for poll in polls:
            poll.close()
