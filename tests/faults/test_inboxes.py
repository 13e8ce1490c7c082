"""Inboxes over kills of a server at each moment of an append, and over a restore. Consumers: test_inboxes_consumers."""

from __future__ import annotations

import pytest

from steadhold.sdk import Client
from steadhold.sdk.errors import InboxRestored
from tests.faults.servers import LOST, Server, house, key, place, server  # noqa: F401 - fixtures

JSON = {"content-type": "application/json"}
CREATE = {"if-none-match": "*", **JSON}

MOMENTS = {
    "received=kill": 0,
    "tx_begun=kill:1": 0,
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
