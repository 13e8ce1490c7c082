"""Published vectors of Standard Webhooks, for what signs and for what verifies; and its official library."""

from __future__ import annotations

import base64
import datetime as dt
import json

import pytest
import standardwebhooks

from steadhold.sdk.webhook import NotVerified, Webhook
from steadhold.webhooks import sign
from tests.suites.conftest import suite_files, suite_root

FLOORS = {"sign": 3, "verify": 68, "verify_v1a": 7, "secrets": 16}


def rows(part):
    (path,) = suite_files(suite_root() / "webhooks", "standard.json", 1)
    found = json.loads(path.read_bytes())[part]
    if len(found) < FLOORS[part]:
        pytest.fail(f"{path} has {len(found)} rows of at least {FLOORS[part]} in {part}")
    return found


def body_of(row):
    return base64.b64decode(row["body_base64"]) if row.get("body_base64") is not None else row["body"].encode()


def accepts(row, secret):
    webhook = Webhook(secret, tolerance_seconds=row["tolerance_seconds"], now=lambda: row["now"])
    try:
        webhook.verify(row["headers"], body_of(row))
    except NotVerified:
        return False
    return True


def test_signatures_are_the_published_ones():
    told = [
        sign.signature(sign.read_secret(row["secret"]), row["id"], row["timestamp"], row["body"].encode())
        for row in rows("sign")
    ]
    assert told == [row["signature"] for row in rows("sign")]


def test_the_public_key_of_the_published_vector_is_its_own():
    (row,) = [row for row in rows("sign") if row["scheme"] == "v1a"]
    assert sign.public_text(sign.read_secret(row["secret"])) == row["public_key"]


@pytest.mark.parametrize("part, key", [("verify", "secret"), ("verify_v1a", "public_key")])
def test_the_verifier_answers_as_it_must_and_never_crashes(part, key):
    wrong = []
    for row in rows(part):
        answered = accepts(row, row[key])
        if not row.get("open") and answered != row["valid"]:
            wrong.append(row["name"])
    assert wrong == []


def usable(row):
    make = sign.read_secret if row["use"] in {"sign", "sign v1a"} else Webhook
    try:
        make(row["secret"])
    except ValueError:
        return False
    return True


def test_secrets_are_taken_for_what_they_are_for():
    wrong = [row["why"] for row in rows("secrets") if not row.get("open") and usable(row) != row["valid"]]
    assert wrong == []


SECRET = sign.secret_text(bytes(range(32)))
BODIES = [b"{}", b'{"b":1.10,"a":1e2,"a":2}', b"", '"ä€\U0001f600"'.encode(), b'{"n":12345678901234567890.10}']


@pytest.mark.parametrize("body", BODIES)
def test_the_official_library_verifies_what_we_sign(body):
    now = int(dt.datetime.now(dt.UTC).timestamp())
    headers = sign.headers([sign.read_secret(SECRET)], "job_1", now, body)
    theirs = standardwebhooks.Webhook(SECRET)
    try:
        theirs.verify(body, headers)
    except json.JSONDecodeError:
        assert body == b""
    assert Webhook(SECRET).verify(headers, body).body == body


@pytest.mark.parametrize("body", BODIES)
def test_we_verify_what_the_official_library_signs(body):
    at = dt.datetime.now(dt.UTC)
    signature = standardwebhooks.Webhook(SECRET).sign("msg_1", at, body.decode())
    headers = {"Webhook-Id": "msg_1", "Webhook-Timestamp": str(int(at.timestamp())), "Webhook-Signature": signature}
    assert Webhook(SECRET).verify(headers, body).event_id == "msg_1"
