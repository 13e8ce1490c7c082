"""The verifier: genuine and fresh, or NotVerified, whatever was sent."""

from __future__ import annotations

import email

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold import NotVerified, Webhook
from steadhold.webhooks import sign

SECRET = sign.secret_text(bytes(range(32)))
NOW, BODY = 1_700_000_000, b'{"a":1.10}'
SIGNED = sign.headers([sign.read_secret(SECRET)], "order:1@1", NOW, BODY)


def verify(headers=SIGNED, body=BODY, now=NOW, secret=SECRET):
    return Webhook(secret, now=lambda: now).verify(headers, body)


def test_what_was_signed_is_told_with_what_came_beside():
    told = {
        "X-Steadhold-Delivery-Id": "d",
        "x-steadhold-attempt": "3",
        "x-steadhold-replay": "true",
        "x-steadhold-hops": "2",
    }
    found = verify({**SIGNED, **told, "x-steadhold-skipped": "4"})
    assert (found.event_id, found.sent_at, found.body, found.delivery_id) == ("order:1@1", NOW, BODY, "d")
    assert (found.attempt, found.replay, found.hops, found.skipped) == (3, True, 2, 4)
    assert str(found.value["a"]) == "1.10"


FORMS = [
    list(SIGNED.items()),
    [(name.encode(), value.encode()) for name, value in SIGNED.items()],
    {name.upper(): value for name, value in SIGNED.items()},
    email.message_from_string(
        "".join(f"{name}: {value}\n" for name, value in SIGNED.items())
    ),  # as http.server has them
]


@pytest.mark.parametrize("headers", FORMS)
def test_headers_come_in_every_form(headers):
    assert verify(headers).event_id == "order:1@1"


def test_a_field_that_came_twice_with_two_values_is_none():
    with pytest.raises(NotVerified):
        verify([*SIGNED.items(), ("webhook-id", "other")])


@pytest.mark.parametrize("off, right", [(300, True), (-300, True), (301, False), (-301, False)])
def test_it_is_fresh_within_five_minutes(off, right):
    if right:
        assert verify(now=NOW + off).sent_at == NOW
    else:
        with pytest.raises(NotVerified):
            verify(now=NOW + off)


NO_SECONDS = [
    "1700000000.0", "+1700000000", " 1700000000", "17_00000000", "1.7e9", "\u0661700000000", "-1", "9" * 13,
]  # fmt: skip


@pytest.mark.parametrize("sent", NO_SECONDS)
def test_a_timestamp_is_digits(sent):
    secret = sign.read_secret(SECRET)
    signed = sign.hmac.digest(secret.key, b"a." + sent.encode() + b"." + BODY, "sha256")
    signature = "v1," + sign.base64.b64encode(signed).decode()
    with pytest.raises(NotVerified, match="whole number"):
        verify({"webhook-id": "a", "webhook-timestamp": sent, "webhook-signature": signature})


@given(st.dictionaries(st.sampled_from(list(SIGNED)), st.text() | st.binary()), st.binary())
def test_garbage_is_refused_and_never_crashes(headers, body):
    with pytest.raises(NotVerified):
        verify({**SIGNED, "webhook-signature": "v1,", **headers}, body)


def test_a_body_that_was_parsed_is_a_mistake_of_the_caller():
    for body in ({"a": 1}, '{"a":1.10}', None):
        with pytest.raises(TypeError):
            verify(body=body)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_%", "whpk_AA", "whsk_AAAA", "xx_" + "a" * 32])
def test_what_is_no_secret(secret):
    with pytest.raises(ValueError, match=r"secret|key|whsk"):
        Webhook(secret)


def test_an_event_whose_id_has_a_dot_is_signed_under_one_that_has_none():
    assert "." not in sign.wire_id("a.b@1")
    assert sign.wire_id("a.b@1") == sign.wire_id("a.b@1") != sign.wire_id("a.b@2")
    assert sign.wire_id("job:1@2") == "job:1@2"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("half", ["\ud800", "v1,\ud800"])
def test_half_a_character_is_refused_as_any_garbage(name, half):
    with pytest.raises(NotVerified):
        verify({**SIGNED, name: half})
