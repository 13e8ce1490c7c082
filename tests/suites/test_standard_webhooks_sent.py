"""What arrives at a socket is verified by the official libraries of Standard Webhooks, Python's and JavaScript's."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
import standardwebhooks

from steadhold.events import Event
from steadhold.webhooks import guard, heading, sign
from steadhold.webhooks.delivering import body_of
from steadhold.webhooks.model import Sending
from steadhold.webhooks.send import Sender
from tests.suites import npm
from tests.webhooks.fuzz import texts
from tests.webhooks.receivers import receiving, says

PROGRAM = Path(__file__).with_name("verify.js")
PACKAGE = "standardwebhooks@1.0.0"
EVENTS = 60
OLD, NEW, OTHER = (sign.secret_text(bytes([n]) * 32) for n in range(3))
KEY = sign.private_text(sign.Asymmetric(bytes(range(32))))
IDS = ("order:1@{}", "evt_{}", "a.b.{}", "~@:{}", "ä {}")


@pytest.fixture(scope="module")
def official(request):
    """Says of deliveries what JavaScript's library says."""
    node, found = npm.node(), npm.modules(request.config, "standardwebhooks", PACKAGE)

    def said(deliveries):
        lines = [{"secret": s, "headers": f, "body": base64.b64encode(b).decode()} for s, f, b in deliveries]
        environ = {**os.environ, "NODE_PATH": str(found)}
        text = "\n".join(map(json.dumps, lines))
        done = subprocess.run((node, PROGRAM), input=text, env=environ, capture_output=True, text=True, check=True)
        return done.stdout.split()

    return said


async def arrived():
    """Send events of fuzzed data, signed by an old and a new secret and by a key; fields and bytes as they came."""
    secrets = [sign.read_secret(secret) for secret in (KEY, NEW, OLD)]
    async with receiving(says(200)) as receiver:
        async with Sender(receiver.url, guard.read_rules(("http://127.0.0.0/8:*",)), 8) as sender:
            for n, data in enumerate(texts(EVENTS)):
                at = datetime.now(UTC)
                event = Event("order:1", n + 1, IDS[n % len(IDS)].format(n), 1, at, "t", "ref", data, None, None)
                one = Sending("0198c0de-0000-7000-8000-000000000001", 1, event.event_id, 0, 0, body_of(event), at)
                result = await sender.send(one, heading.headers(one, secrets, {}), yes)
                assert (result.state, receiver.seen[-1][1]) == ("delivered", one.body)
        return receiver.seen


async def yes():
    return True


@pytest.fixture(scope="module")
def deliveries():
    return asyncio.run(arrived())


@pytest.mark.parametrize("secret, says", [(OLD, "verified"), (NEW, "verified"), (OTHER, "WebhookVerificationError")])
def test_javascript_verifies_what_arrives(official, deliveries, secret, says):
    assert official([(secret, fields, body) for fields, body in deliveries]) == [says] * EVENTS


def test_javascript_refuses_what_was_altered(official, deliveries):
    altered = [(NEW, fields, body.replace(b"event_id", b"event_ie")) for fields, body in deliveries]
    swapped = [(NEW, {**fields, "webhook-id": "another"}, body) for fields, body in deliveries]
    assert official(altered + swapped) == ["WebhookVerificationError"] * 2 * EVENTS


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_python_verifies_what_arrives(deliveries, secret):
    theirs = standardwebhooks.Webhook(secret)
    assert [theirs.verify(body, fields)["type"] for fields, body in deliveries] == ["t"] * EVENTS


def test_python_refuses_what_was_altered(deliveries):
    for fields, body in deliveries:
        with pytest.raises(standardwebhooks.WebhookVerificationError):
            standardwebhooks.Webhook(NEW).verify(body.replace(b"event_id", b"event_ie"), fields)
