"""A server killed at each moment of a write: a retry finds or makes the one effect, and the receipt tells the truth."""

from __future__ import annotations

import socket

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import LOST, Server, server

JSON = {"content-type": "application/json"}


class Put:
    """A write under a condition."""

    statement = "state.write"

    def begin(self, client):
        client.put("/v1/state/a", content=b"0", headers={"if-none-match": "*", **JSON}).raise_for_status()

    def send(self, client, operation):
        headers = {"if-match": '"1"', "idempotency-key": operation, **JSON}
        return client.put("/v1/state/a", content=b"1.10", headers=headers)

    def effects(self, client):
        got = client.get("/v1/state/a")
        assert (got.content, got.headers["revision"]) in {(b"0", "1"), (b"1.10", "2")}
        return int(got.headers["revision"]) - 1


class Submit:
    """A write that makes something new, of many statements."""

    statement = "jobs.admit"

    def begin(self, client):
        assert self.effects(client) == 0

    def send(self, client, operation):
        return client.post(
            "/v1/jobs", content=b'{"type":"t","input":1}', headers={"idempotency-key": operation, **JSON}
        )

    def effects(self, client):
        return len(client.get("/v1/jobs").json()["items"])


# A key is read first, in a transaction of its own: whatever a transaction passes is passed once before.
MOMENTS = {
    "received=kill": 0,
    "tx_begun=kill:1": 0,
    "operations.claim=kill": 0,
    "STATEMENT=kill": 0,
    "operations.seal=kill": 0,
    "before_commit=kill:1": 0,
    "after_commit=kill:1": 1,
    "reply_half_sent=kill": 1,
}
ALONE = {"alone=kill": 0, "alone_committed=kill": 1, "reply_half_sent=kill": 1}
WRITES = {"put": Put(), "submit": Submit()}


@pytest.fixture(scope="module", params=["lockstep", "single"])
def player(request):
    return request.param


@pytest.fixture(scope="module")
def second(house, player):
    """A server that nobody kills."""
    with server(house.dsn, player=player, background=False) as made:
        yield made


@pytest.fixture
def client(second, key):
    with second.client(key) as made:
        yield made


@pytest.fixture
def lost(house, player, client, key):
    """Send a write to a server that is killed at a moment of it; the operation's id."""

    def lose(write, moment):
        write.begin(client)
        operation = new_id()
        failpoints = moment.replace("STATEMENT", write.statement)
        with server(house.dsn, failpoints=failpoints, player=player, background=False) as first:
            with first.client(key) as doomed, pytest.raises(LOST):
                write.send(doomed, operation)
            first.died()
        return operation

    return lose


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_retry_elsewhere_has_one_effect(lost, client, write, moment):
    operation, done = lost(write, moment), MOMENTS[moment]
    told = client.get(f"/v1/operations/{operation}")
    assert (told.status_code, told.json().get("state")) == ((200, "committed") if done else (404, None))
    assert write.effects(client) == done
    again = write.send(client, operation)
    assert again.status_code in {200, 202}, again.text
    assert ("idempotent-replayed" in again.headers) is bool(done)
    assert write.effects(client) == 1
    receipt = client.get(f"/v1/operations/{operation}").json()
    assert (receipt["state"], receipt["status"]) == ("committed", again.status_code)
    assert receipt["result"] == again.json()
    twin = write.send(client, operation)
    assert (twin.content, twin.status_code) == (again.content, again.status_code)
    assert write.effects(client) == 1


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("moment", ["operations.seal=kill", "before_commit=kill:1", "after_commit=kill:1"])
def test_abandoning_makes_the_unknown_definite(lost, client, write, moment):
    operation, done = lost(write, moment), MOMENTS[moment]
    told = client.post(f"/v1/operations/{operation}/abandon").json()
    assert told["state"] == ("committed" if done else "abandoned")
    late = write.send(client, operation)
    if done:
        assert late.headers["idempotent-replayed"] == "true"
    else:
        assert (late.status_code, late.json()["code"]) == (409, "operation_abandoned")
    assert write.effects(client) == done
    assert client.get(f"/v1/operations/{operation}").json() == told
    assert client.post(f"/v1/operations/{operation}/abandon").json() == told


@pytest.mark.parametrize("moment", ALONE)
def test_a_write_that_is_its_own_transaction_is_done_or_not(house, player, client, key, moment):
    """Without an operation's id a reading tells, and the condition keeps who tries again from doing it twice."""
    write, plain = WRITES["put"], {"if-match": '"1"', **JSON}
    write.begin(client)
    with server(house.dsn, failpoints=moment, player=player, background=False) as first:
        with first.client(key) as doomed, pytest.raises(LOST):
            doomed.put("/v1/state/a", content=b"1.10", headers=plain)
        first.died()
    assert write.effects(client) == ALONE[moment]
    again = client.put("/v1/state/a", content=b"1.10", headers=plain)
    assert (again.status_code, write.effects(client)) == (412 if ALONE[moment] else 200, 1)


def test_the_one_that_takes_its_place_serves_those_who_waited(house, player, key):
    """The same socket outlives the first process: a client that comes between two servers is served by the second."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        first = Server(house.dsn, listener=listener, failpoints="before_commit=kill:1", player=player, background=False)
        with first.client(key) as client, pytest.raises(LOST):
            client.put("/v1/state/a", content=b"1", headers={"if-none-match": "*", "idempotency-key": "k", **JSON})
        first.died()
        first.close()
        with server(house.dsn, listener=listener, player=player, background=False) as then, then.client(key) as client:
            got = client.put(
                "/v1/state/a", content=b"1", headers={"if-none-match": "*", "idempotency-key": "k", **JSON}
            )
            assert (got.status_code, got.headers["revision"]) == (201, "1")


def test_half_an_answer_is_on_the_wire_when_it_ends(house, player, key):
    """So the moment is the one that its name says."""
    with server(house.dsn, failpoints="reply_half_sent=kill", player=player, background=False) as first:
        with socket.create_connection(first.listener.getsockname()) as client:
            head = f"GET /v1/state HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n"
            client.sendall(head.encode())
            came = b"".join(iter(lambda: client.recv(65_536), b""))
        first.died()
    assert came.startswith(b"HTTP/1.1 200 OK\r\n")
    assert 0 < len(came.partition(b"\r\n\r\n")[2]) < len(b'{"items":[],"next_cursor":null}')
