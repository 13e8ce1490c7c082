"""Doors over kills of a server at each moment in which what a third party sends is taken."""

from __future__ import annotations

import base64

import pytest

from tests.faults.servers import LOST, Server, house, key, place, server  # noqa: F401 - fixtures
from tests.inboxes.street import BODY
from tests.inboxes.test_schemes import signed

SEALING = base64.b64encode(b"k" * 32).decode()
SECRET = b"a secret of thirty-two characters"

MOMENTS = {
    "received=kill": 0,
    "inboxes.find_door=kill": 0,
    "tx_begun=kill:1": 0,
    "inboxes.enter=kill": 0,
    "inboxes.append=kill": 0,
    "before_commit=kill:1": 0,
    "after_commit=kill:1": 1,
    "reply_half_sent=kill": 1,
}
"""Moments in which an event comes in, and how many are there when the server was killed then.

One transaction finds the door, the next takes the event.
"""


@pytest.fixture(scope="module", params=["lockstep", "single"])
def player(request):
    return request.param


@pytest.fixture(scope="module")
def second(house, player):  # noqa: F811
    """A server that nobody kills."""
    with server(house.dsn, player=player, sealing_key=SEALING) as made:
        yield made


@pytest.fixture
def client(second, key):  # noqa: F811
    with second.client(key) as made:
        made.put("/v1/inboxes/a", json={}, headers={"if-none-match": "*"}).raise_for_status()
        yield made


@pytest.fixture
def address(client):
    made = client.post(
        "/v1/inboxes/a/doors", json={"scheme": "github", "secret": SECRET.decode()}, headers={"idempotency-key": "d"}
    )
    return f"/v1/in/{made.json()['token']}"


def knock(client, address, body=BODY):
    headers = {"content-type": "application/json", **signed("github", body, SECRET, 0)}
    return client.post(address, content=body, headers=headers)


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_is_sent_is_there_once_whenever_the_server_dies(house, player, client, address, moment):  # noqa: F811
    killed = Server(house.dsn, player=player, background=False, sealing_key=SEALING, failpoints=moment)
    try:
        with killed.client("none") as unlucky, pytest.raises(LOST):
            knock(unlucky, address)
        killed.died()
    finally:
        killed.close()
    there = MOMENTS[moment]
    assert client.get("/v1/inboxes/a").json()["last_sequence"] == there
    again = knock(client, address)
    assert (again.status_code, again.json().get("duplicate", False)) == ((200, True) if there else (201, False))
    page = client.get("/v1/inboxes/a/events").json()
    assert [(event["sequence"], event["event_id"]) for event in page["events"]] == [(1, again.json()["event_id"])]
