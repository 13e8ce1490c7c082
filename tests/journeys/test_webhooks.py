"""A webhook on one's own machine, from the command line: made, tried, enabled, delivered to, sent again."""

from __future__ import annotations

import json

import pytest

from steadhold import Webhook
from tests.webhooks.listener import listening

pytestmark = pytest.mark.journeys


def test_it_is_made_tried_and_delivered_to(dev, ask, me):
    told = dev(me).told

    def said(*words):
        return json.loads(ask(told, *words))

    with listening() as receiver:
        made = said("webhooks", "create", receiver.url, "job.*")
        assert (made["enabled"], made["secret"][:6]) == (False, "whsec_")
        ping = said("webhooks", "ping", made["webhook_id"])
        webhook = Webhook(made["secret"])
        assert webhook.verify(*receiver.some(1)[0]).delivery_id == ping["delivery_id"]
        assert said("webhooks", "enable", made["webhook_id"])["enabled"] is True
        job = said("jobs", "submit", "report", "{}")
        event = webhook.verify(*receiver.some(2)[1])
        assert event.event_id == f"job:{job['job_id']}@1"
        again = said("resend", event.delivery_id)
        deliveries = [webhook.verify(*seen) for seen in receiver.some(3)]
    assert [d.event_id for d in deliveries if d.delivery_id == again["delivery_id"]] == [event.event_id]


def test_its_sealing_key_stays_and_so_does_what_it_sealed(dev, ask, me):
    first = dev(me)
    with listening() as receiver:
        made = json.loads(ask(first.told, "webhooks", "create", receiver.url, "*"))
        first.end()
        again = dev(me)
        ask(again.told, "webhooks", "ping", made["webhook_id"])
        assert Webhook(made["secret"]).verify(*receiver.some(1)[0]).attempt == 1
