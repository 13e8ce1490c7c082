"""Who follows an inbox has each event once and in order, however often its server dies, also in the middle of one."""

from __future__ import annotations

import base64
import contextlib
import threading

from tests.faults.servers import LOST, Server, house, key, place, server  # noqa: F401 - fixtures
from tests.inboxes.sse import events
from tests.inboxes.test_schemes import signed

SEALING = base64.b64encode(b"k" * 32).decode()
SECRET = b"a secret of thirty-two characters"
EVENTS, LARGE, PAGES = 45, 120_000, 2
"""Every third event is large, so that it fills a page; a server reads so many pages, and dies at the next."""


def follow(client, seen, killed):
    """What a browser has of a stream until its server dies, or it has all: whole events only."""
    said = b""
    headers = {"last-event-id": seen[-1].id} if seen else {}
    with client.stream("GET", "/v1/inboxes/a/stream", headers=headers) as answer:
        assert answer.status_code == 200
        with contextlib.suppress(*LOST):
            for piece in answer.iter_raw():
                said += piece
                if len(said) >= LARGE * 3 // 2 or len(seen) + len(events(said)) == EVENTS:
                    killed.kill()
    return events(said)


def test_a_follower_has_each_event_once_over_deaths_of_its_server(house, key):  # noqa: F811
    """Events come in at a door of another server meanwhile; some are large, so that a death cuts them."""
    with server(house.dsn, sealing_key=SEALING) as second, second.client(key) as client:
        client.put("/v1/inboxes/a", json={}, headers={"if-none-match": "*"}).raise_for_status()
        asked = {"scheme": "hmac", "secret": SECRET.decode()}
        door = client.post("/v1/inboxes/a/doors", json=asked, headers={"idempotency-key": "d"}).json()
        answers = []

        def send():
            for n in range(EVENTS):
                body = b'"%b"' % (b"x" * (LARGE if n % 3 == 0 else 0))
                fields = {"content-type": "application/json", **signed("hmac", body, SECRET), "x-event-id": f"e{n}"}
                answers.append(client.post(f"/v1/in/{door['token']}", content=body, headers=fields).status_code)

        sender = threading.Thread(target=send)
        sender.start()
        seen, deaths = [], 0
        while len(seen) < EVENTS:
            killed = Server(house.dsn, background=False, failpoints=f"inboxes.page=kill:{PAGES}")
            try:
                with killed.client(key) as follower:
                    seen += follow(follower, seen, killed)
                deaths += 1
            finally:
                killed.close()
        sender.join()
    assert answers == [201] * EVENTS
    assert [(event.json["sequence"], event.json["causation_id"]) for event in seen] == [
        (n + 1, f"e{n}") for n in range(EVENTS)
    ]
    assert deaths >= EVENTS // 3 // (PAGES + 1)
