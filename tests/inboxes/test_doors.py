"""What comes in at doors of inboxes: nothing but what is signed, once, to the byte."""

from __future__ import annotations

import base64

import pytest

from steadhold import access
from steadhold.inboxes.door_keeper import TALLY
from steadhold.kit import limits
from steadhold.kit.seal import Sealing
from tests.inboxes.street import BODY, FIRST_IDS, KEY, NAMES
from tests.inboxes.test_schemes import signed
from tests.web.toy import Client


@pytest.mark.parametrize("scheme", NAMES)
async def test_what_is_signed_comes_in_once(street, scheme):
    door = await street.open(scheme)
    came = await street.send(door)
    assert came.status == 201, came.json
    again = await street.send(door)
    assert (again.status, again.json) == (200, {**came.json, "duplicate": True})
    got = await street.read()
    assert b'"data":' + BODY in got.body
    (event,) = got.json["events"]
    assert (event["source"], event["event_id"], event["causation_id"]) == (
        "door",
        came.json["event_id"],
        FIRST_IDS[scheme],
    )


@pytest.mark.parametrize("scheme", NAMES)
async def test_nothing_is_stored_that_the_secret_did_not_sign(street, scheme):
    door = await street.open(scheme)
    for refused in (
        await street.send(door, key=b"another secret of sixteen"),
        await street.knock(door["token"], {"content-type": "application/json", "x-github-delivery": "d1"}),
        await street.knock(door["token"], signed(scheme, BODY, KEY, street.now()), BODY + b" "),
    ):
        assert (refused.status, refused.code, refused.json["next"]) == (401, "signature_refused", "stop")
        assert refused.headers["www-authenticate"] == "Signature"
    assert (await street.read()).json["last_sequence"] == 0
    assert (await street.send(door)).status == 201


@pytest.mark.parametrize("scheme", ["standard", "stripe", "slack"])
async def test_a_signed_time_is_that_of_the_databases_clock(street, scheme, clock):
    door = await street.open(scheme)
    headers = signed(scheme, BODY, KEY, street.now())
    for off in (limits.DOOR_DRIFT_SECONDS_MAX + 2, -2 * limits.DOOR_DRIFT_SECONDS_MAX - 4):
        clock.move(off)
        refused = await street.knock(door["token"], headers)
        assert (refused.code, "300 seconds" in refused.json["detail"]) == ("signature_refused", True)
    clock.move(limits.DOOR_DRIFT_SECONDS_MAX + 2)
    assert (await street.knock(door["token"], headers)).status == 201


async def test_the_order_is_size_signature_id_hops(street):
    door = await street.open("github")
    large = b"x" * (limits.INBOX_EVENT_BYTES_MAX + 1)
    assert (await street.knock(door["token"], {}, large)).status == 413
    bare = {"x-hub-signature-256": signed("github", BODY, KEY)["x-hub-signature-256"]}
    bad = {"x-hub-signature-256": signed("github", BODY, b"another secret of sixteen")["x-hub-signature-256"]}
    circle = {"x-steadhold-hops": "9"}
    assert (await street.knock(door["token"], {**bad, **circle})).code == "signature_refused"
    missing = await street.knock(door["token"], {**bare, **circle})
    assert (missing.status, missing.code, missing.json["id_from"]) == (422, "id_missing", "header:x-github-delivery")
    for hops in ("9", "1000000", "x", ""):
        refused = await street.knock(door["token"], {**signed("github", BODY, KEY), "x-steadhold-hops": hops})
        assert (refused.status, refused.code) == (422, "too_many_hops")
    assert (await street.read()).json["last_sequence"] == 0
    assert (await street.knock(door["token"], {**signed("github", BODY, KEY), "x-steadhold-hops": "8"})).status == 201


@pytest.mark.parametrize("id", ["", "a b", "ä", "x" * 201])
async def test_an_id_that_cannot_be_kept_is_none(street, id):
    door = await street.open("github")
    refused = await street.knock(door["token"], {**signed("github", BODY, KEY), "x-github-delivery": id})
    assert (refused.status, refused.code) == (422, "id_missing")


async def test_the_longest_id_is_kept(street):
    door, id = await street.open("github"), "~" * limits.ID_CHARS_MAX
    assert [(await street.send(door, **{"x-github-delivery": id})).status for _ in range(2)] == [201, 200]
    assert (await street.read()).json["events"][0]["causation_id"] == id


async def test_the_same_id_is_the_same_event_whatever_the_bytes(street):
    door, before = await street.open("github"), dict(TALLY)
    first = await street.send(door)
    for body in (BODY, b"other", BODY):
        again = await street.send(door, body)
        assert (again.status, again.json) == (200, {**first.json, "duplicate": True})
    (event,) = (await street.read()).json["events"]
    assert event["event_id"] == first.json["event_id"]
    counted = {what: count - before.get(what, 0) for what, count in TALLY.items()}
    assert {k: v for k, v in counted.items() if v} == {"accepted": 1, "duplicate": 2, "duplicate_differs": 1}


async def test_nobody_else_has_the_keys_of_a_door(street):
    door, other = await street.open("github"), await street.open("github")
    for key in ("d1", f"{door['door_id']}:d1", f"door:{door['door_id']}:d1"):
        assert (await street.send_as_client(key)).status == 201
    assert [(await street.send(at)).status for at in (door, other, door)] == [201, 201, 200]
    assert (await street.read()).json["last_sequence"] == 5


async def test_slacks_challenge_is_answered_and_not_kept(street):
    door = await street.open("slack")
    body = b'{"type": "url_verification", "challenge": "3eZbrw1aB10o"}'
    asked = await street.send(door, body)
    assert (asked.status, asked.body, asked.headers["content-type"]) == (
        200,
        b"3eZbrw1aB10o",
        "text/plain; charset=utf-8",
    )
    assert (await street.send(door, body, b"another secret of sixteen")).status == 401
    assert (await street.read()).json["last_sequence"] == 0


BODIES = [
    ("application/json", b'{"a":1.10, "b":[1e2,  "\\u00e9"]}'),
    ("application/json; charset=utf-8", b'{\n  "a": 1\n}'),
    ("application/json", b' {"a":1}\n'),
    ("application/json", b'{"a":1,"a":2}'),
    ("application/json", b"\xff{"),
    ("application/x-www-form-urlencoded", b"payload=%7B%7D"),
    ("image/png", bytes(range(256))),
    ("text/plain; charset=ascii", b""),
]


@pytest.mark.parametrize(("kind", "body"), BODIES)
async def test_whatever_comes_is_kept_to_the_byte(street, kind, body):
    door = await street.open("github")
    assert (await street.send(door, body, **{"content-type": kind})).status == 201
    got = await street.read()
    (event,) = got.json["events"]
    if "data" in event:
        assert b'"data":%b}' % body in got.body
        assert kind.startswith("application/json")
    else:
        assert (event["content_type"], base64.b64decode(event["data_base64"])) == (kind, body)
    assert ("data" in event) == (body in {BODIES[0][1], BODIES[1][1]})


@pytest.mark.parametrize(
    ("scheme", "body", "more", "type"),
    [
        ("github", BODY, {"x-github-event": "push"}, "push"),
        ("github", BODY, {"x-github-event": "two words"}, "webhook"),
        ("stripe", BODY, {}, "paid"),
        ("standard", BODY, {}, "paid"),
        ("standard", b"no json", {}, "webhook"),
        ("slack", b'{"type":"event_callback","event_id":"E","event":{"type":"app_mention"}}', {}, "app_mention"),
        ("hmac", BODY, {"x-event-type": "made"}, "made"),
    ],
)
async def test_an_event_has_the_type_that_its_sender_says(street, scheme, body, more, type):
    door = await street.open(scheme)
    assert (await street.send(door, body, **more)).status == 201
    assert (await street.read()).json["events"][0]["type"] == type


async def test_an_id_is_read_where_the_door_says(street):
    door = await street.open("hmac", id_from="body:order.id")
    assert door["id_from"] == "body:order.id"
    assert (await street.send(door, b'{"order": {"id": "o7"}}')).status == 201
    assert (await street.send(door, b'{"order": {"id": 7}}')).code == "id_missing"
    assert (await street.read()).json["events"][0]["causation_id"] == "o7"
    other = await street.open("github", id_from="header:x-request-id")
    assert (await street.send(other)).code == "id_missing"
    assert (await street.send(other, **{"x-request-id": "r"})).status == 201


async def test_a_door_asks_for_no_key_and_heeds_none(street):
    door = await street.open("github")
    assert (await street.send(door, authorization="Basic eDp5")).status == 201
    assert (await street.send(door, fence='"lock:a";fence=1')).code == "bad_header"
    assert (await street.send(door, idempotency_key="k")).status == 200
    client = Client(street.doors, None)
    other = await client("GET", f"/v1/in/{door['token']}")
    assert (other.status, other.headers["allow"]) == (405, "POST")
    assert (await client("GET", "/v1/in/door_x")).status == 404


async def test_a_key_of_the_senders_own_kind_is_no_fault(street):
    door = await street.open("hmac", id_from="header:idempotency-key")
    assert (await street.send(door, idempotency_key="order/1 of 2")).code == "id_missing"
    assert (await street.send(door, idempotency_key="order/1+2")).status == 201
    assert (await street.send(door, idempotency_key="order/1+2")).json["duplicate"] is True


async def test_doors_count_against_the_rate_of_their_workspace(street, database):
    door = await street.open("github")
    with database.connect() as conn:
        conn.execute(
            "insert into steadhold.entitlements (workspace, revision, requests_per_second_max, changed_at)"
            " values (%s, 1, 1, steadhold.clock())",
            [street.workspace],
        )
    street.keyring.__init__(street.player, now=lambda: 0.0)
    street.sealed_by(Sealing([b"k" * 32]))
    assert [(await street.send(door)).status for _ in range(2)] == [201, 429]


async def test_an_address_is_remembered_by_no_router(street):
    door = await street.open("github")
    assert (await street.send(door)).status == 201
    assert [raw for raw in street.doors.router._found if door["token"].encode() in raw] == []


@pytest.fixture
def stopped(street, monkeypatch):
    """No time passes for this server, so nothing fills up again."""
    monkeypatch.setattr(street.keyring, "_now", lambda: 1_000.0)
    monkeypatch.setattr(street.keeper, "_now", lambda: 1_000.0)
    return street


async def entitled(street, rate):
    limits = access.Entitlements(requests_per_second_max=rate)
    by = access.Actor("operator", None)
    await street.player.play(access.put_entitlements.call(street.workspace, limits, None, by=by))


async def test_strangers_take_nothing_of_the_workspaces_rate(stopped):
    first, second = await stopped.open(), await stopped.open()
    await entitled(stopped, 3)
    monkey = [await stopped.send(first, key=b"another secret of sixteen") for _ in range(20)]
    most = limits.DOOR_REFUSALS_PER_SECOND_MAX
    assert [refused.status for refused in monkey] == [401] * most + [429] * (20 - most)
    assert (monkey[-1].code, monkey[-1].headers["retry-after"]) == ("too_many_requests", "1")
    assert (await stopped.send(second)).status == 201
    assert (await stopped.read()).status == 200
    assert (await stopped.send(first)).status == 429


async def test_what_comes_in_counts_as_any_request(stopped):
    door = await stopped.open()
    await entitled(stopped, 2)
    assert [(await stopped.send(door)).status for _ in range(3)] == [201, 200, 429]
