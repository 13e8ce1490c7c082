"""Events sent to one's own machine while one develops: signed, each attempt told, nothing left behind."""

from __future__ import annotations

import json

import pytest

from steadhold import Webhook
from tests.webhooks.listener import listening

pytestmark = pytest.mark.journeys


def test_events_come_to_this_machine_until_it_is_enough(dev, start, ask, me):
    told = dev(me).told

    def listen(*words):
        program = start(
            "listen", *words, user=me, environ={"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
        )
        return program, program.line()

    with listening() as receiver:
        receiver.status = 500
        program, said = listen("--forward-to", receiver.url, "job.*", "--limit", "1", "--tries", "2")
        job = json.loads(ask(told, "jobs", "submit", "report", "{}"))
        attempts = [program.line() for _ in range(2)]
        assert program.ended() == 0
        event_id = f"job:{job['job_id']}@1"
        assert [(a["event_id"], a["attempt"], a["status"]) for a in attempts] == [
            (event_id, 1, 500),
            (event_id, 2, 500),
        ]
        deliveries = [Webhook(said["secret"]).verify(*seen) for seen in receiver.some(2)]
        assert [(d.event_id, d.attempt) for d in deliveries] == [(event_id, 1), (event_id, 2)]
        assert deliveries[0].body == deliveries[1].body
        assert deliveries[0].value["type"] == "job.accepted"
    assert (ask(told, "subscriptions", "ls"), ask(told, "inbox", "ls")) == (b"", b"")
