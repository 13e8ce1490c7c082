"""The five schemes: what their own documents show is accepted, and whatever is altered is refused, without an error."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.inboxes import schemes
from steadhold.inboxes.schemes import SCHEMES, Challenged, Proven, Refused, secret_of, verify
from steadhold.kit.limits import DOOR_DRIFT_SECONDS_MAX

NOW = 1_614_265_330
KEY = b"It's a Secret to Everybody"
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"id": "evt_1", "event_id": "Ev1", "type": "paid"}'


def hexed(key, signed):
    return hmac.digest(key, signed, hashlib.sha256).hex()


def signed(scheme, body=BODY, key=KEY, at=NOW):
    """The fields with which a sender would send the body."""
    match scheme:
        case "standard":
            mac = hmac.digest(key, b"m1.%d.%b" % (at, body), hashlib.sha256)
            return {
                "webhook-id": "m1",
                "webhook-timestamp": str(at),
                "webhook-signature": f"v1a,xx v1,{base64.b64encode(mac).decode()}",
            }
        case "github":
            return {"x-hub-signature-256": f"sha256={hexed(key, body)}", "x-github-delivery": "d1"}
        case "stripe":
            return {"stripe-signature": f"t={at},v1={'0' * 64},v1={hexed(key, b'%d.%b' % (at, body))},v0=abc"}
        case "slack":
            mac = hexed(key, b"v0:%d:%b" % (at, body))
            return {"x-slack-request-timestamp": str(at), "x-slack-signature": f"v0={mac}"}
        case _:
            return {"x-signature": f"sha256={hexed(key, body)}", "x-event-id": "g1"}


IDS = {"standard": "m1", "github": "d1", "stripe": "evt_1", "slack": "Ev1", "hmac": "g1"}
TIMED = ("standard", "stripe", "slack")


def test_what_standard_webhooks_publishes_is_accepted():
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    secret = secret_of("standard", STANDARD)
    proven = Proven("msg_p5jXN8AQM9LWM0D4loKWxJek", NOW)
    assert verify("standard", [secret], headers, b'{"test": 2432232314}', NOW) == proven
    assert isinstance(verify("standard", [secret], headers, b'{"test":2432232314}', NOW), Refused)


def test_what_github_publishes_is_accepted():
    told = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {"x-hub-signature-256": told, "x-github-delivery": "d"}
    assert verify("github", [KEY], headers, b"Hello, World!", NOW) == Proven("d")


def test_what_slack_publishes_is_accepted():
    body = (
        b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
        b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
        b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554"
        b"%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
    )
    headers = {
        "x-slack-request-timestamp": "1531420618",
        "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    }
    key = b"8f742231b10e8888abcd99yyyzzz85a5"
    assert verify("slack", [key], headers, body, 1_531_420_618) == Proven(None, 1_531_420_618)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_door_takes_what_its_secret_signed_and_nothing_else(scheme):
    headers = signed(scheme)
    proven = verify(scheme, [KEY], headers, BODY, NOW)
    assert isinstance(proven, Proven)
    assert proven.id == IDS[scheme]
    assert verify(scheme, [b"another secret!!", KEY], headers, BODY, NOW) == proven
    assert isinstance(verify(scheme, [b"another secret!!"], headers, BODY, NOW), Refused)
    assert isinstance(verify(scheme, [], headers, BODY, NOW), Refused)
    assert isinstance(verify(scheme, [KEY], headers, BODY + b" ", NOW), Refused)
    assert isinstance(verify(scheme, [KEY], {}, BODY, NOW), Refused)


@pytest.mark.parametrize("scheme", TIMED)
@pytest.mark.parametrize("off", [-DOOR_DRIFT_SECONDS_MAX - 1, DOOR_DRIFT_SECONDS_MAX + 1])
def test_a_signed_time_is_tested(scheme, off):
    headers = signed(scheme)
    assert isinstance(verify(scheme, [KEY], headers, BODY, NOW + off), Refused)
    assert isinstance(verify(scheme, [KEY], headers, BODY, NOW + off - off // abs(off)), Proven)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_nobody_has_signed_is_not_read(scheme, monkeypatch):
    """A body is a mebibyte, and whoever knows an address may send many."""
    read = list[str]()

    def member(_body, path):
        read.append(path)

    monkeypatch.setattr(schemes, "member", member)
    fields = signed(scheme, key=b"another's secret")
    assert isinstance(verify(scheme, [KEY], fields, BODY, NOW), Refused)
    assert read == []
    assert isinstance(verify(scheme, [KEY], signed(scheme), BODY, NOW), Proven)
    assert read == {"stripe": ["id"], "slack": ["type", "event_id"]}.get(scheme, [])


@pytest.mark.parametrize(
    ("body", "id"),
    [
        (b'{"a": {"b": "x"}}', "x"),
        (b'{"a": {"b": "x", "b": "y"}, "c": [{}]}', "y"),
        (b'{"a": {"b": 1}}', None),
        (b'{"a": {"b": ""}}', None),
        (b'{"a": ["b"]}', None),
        (b'{"a": {"b": "x"}} y', None),
        (b'{"a": {"b": "x"}', None),
        (b'{"a": {"b": "\xff"}}', None),
        (b'{"a": ' * 5_000, None),
        (b'"a"', None),
        (b"", None),
    ],
)
def test_a_member_is_read_where_it_is_and_nothing_raises(body, id):
    assert schemes.member(body, "a.b") == id


def test_slacks_challenge_is_answered_once_it_is_signed():
    body = b'{"type": "url_verification", "challenge": "c"}'
    assert verify("slack", [KEY], signed("slack", body), body, NOW) == Challenged("c")
    assert isinstance(verify("slack", [b"another secret!!"], signed("slack", body), body, NOW), Refused)


@given(scheme=st.sampled_from(SCHEMES), value=st.text(max_size=80), body=st.binary(max_size=60))
def test_whatever_a_stranger_sends_is_refused_and_raises_nothing(scheme, value, body):
    headers = signed(scheme, body, b"wrong key" * 4)
    for name in headers:
        assert isinstance(verify(scheme, [KEY], {**headers, name: value}, body, NOW), Refused)


WEAK = [("github", "short"), ("standard", "whsec_AAAA"), ("standard", "no base64!")]


@pytest.mark.parametrize(("scheme", "text"), WEAK)
def test_a_secret_that_proves_nothing_is_none(scheme, text):
    with pytest.raises(ValueError, match=r"16 bytes|64 bytes|base64"):
        secret_of(scheme, text)
