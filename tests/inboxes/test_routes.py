"""inboxes through the doors: what is appended, read, waited for and acknowledged."""

from __future__ import annotations

import asyncio
import base64

import msgspec
import pytest

from steadhold.inboxes import plans
from steadhold.kit import limits
from steadhold.kit.ids import uuid7

NOW = "2026-11-29T16:00:00.123456789+01:00"


async def test_an_inbox_is_made_changed_and_deleted(house):
    assert (await house("GET", "/v1/inboxes/a")).status == 404
    made = await house.make(max_events=5)
    assert (made.status, made.json, made.headers["etag"]) == (201, {"name": "a", "revision": 1}, '"1"')
    assert (await house.make()).code == "condition_false"
    found = (await house("GET", "/v1/inboxes/a")).json
    assert found["retention"] == {"max_age_seconds": 30 * 86_400, "max_events": 5, "max_bytes": None}
    assert (found["first_retained"], found["last_sequence"], found["bytes"], found["revision"]) == (1, 0, 0, 1)
    changed = await house("PUT", "/v1/inboxes/a", {"retention": {"max_age_seconds": None}}, if_match='"1"')
    assert (changed.status, changed.json["revision"]) == (200, 2)
    assert (await house("PUT", "/v1/inboxes/b", {}, if_match='"1"')).code == "condition_false"
    assert (await house("PUT", "/v1/inboxes/b", {})).code == "condition_required"
    assert (await house("DELETE", "/v1/inboxes/a", if_match='"1"')).code == "condition_false"
    assert (await house("DELETE", "/v1/inboxes/a", if_match='"2"')).status == 204
    assert (await house("DELETE", "/v1/inboxes/a", if_match='"3"')).status == 404


async def test_an_event_is_accepted_once(house):
    await house.make()
    first = await house.send("k", data={"n": 1})
    assert (first.status, first.json["sequence"], "duplicate" in first.json) == (201, 1, False)
    again = await house.send("k", data={"n": 1})
    assert (again.status, again.json) == (200, {**first.json, "duplicate": True})
    other = await house.send("k", data={"n": 2})
    assert (other.status, other.code, other.json["sequence"]) == (422, "operation_mismatch", 1)
    assert (await house.send("k", type="u", data={"n": 1})).code == "operation_mismatch"
    assert (await house.send("l")).json["sequence"] == 2


async def test_its_bytes_stay_as_they_are(house):
    await house.make()
    body = b'{"type": "t", "data" : {"a":1.10, "b":[1e2,  "\\u00e9"]} , "aggregate_id": "order:7"}'
    headers = {"content_type": "application/json", "idempotency_key": "k"}
    assert (await house("POST", "/v1/inboxes/a/events", body, **headers)).status == 201
    got = await house.read()
    assert b'"data":{"a":1.10, "b":[1e2,  "\\u00e9"]}}' in got.body
    (event,) = got.json["events"]
    assert (event["type"], event["aggregate_id"], event["sequence"]) == ("t", "order:7", 1)
    assert not {"schema_version", "source", "content_type"} & event.keys()


async def test_a_schema_version_is_told_as_text_and_taken_as_either(house):
    await house.make()
    for key, said in (("a", 12), ("b", "12"), ("c", "1")):
        body = {"type": "t", "data": 1, "schema_version": said}
        assert (await house("POST", "/v1/inboxes/a/events", body, idempotency_key=key)).status == 201
    told = (await house.read()).json["events"]
    assert [event.get("schema_version") for event in told] == ["12", "12", None]


async def test_raw_bytes_have_a_type(house):
    await house.make()
    raw = bytes(range(256))
    sent = {"idempotency_key": "k", "content_type": "image/png"}
    assert (await house("POST", "/v1/inboxes/a/events?type=seen", raw, **sent)).status == 201
    sent = {"idempotency_key": "l", "content_type": "application/json"}
    assert (await house("POST", "/v1/inboxes/a/events?type=seen", b"[1.0]", **sent)).status == 201
    assert (await house("POST", "/v1/inboxes/a/events?type=seen", b"[1.", **sent)).code == "bad_json"
    assert (await house("POST", "/v1/inboxes/a/events?type=", b"1", **sent)).code == "bad_query"
    got = await house.read()
    first, second = got.json["events"]
    assert (first["content_type"], base64.b64decode(first["data_base64"])) == ("image/png", raw)
    assert second["data"] == 1.0 or b'"data":[1.0]' in got.body


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", "bad_member"),
        (b'{"type":"t"}', "bad_member"),
        (b'{"type":"t","data":1,"data_ref":"x"}', "bad_member"),
        (b'{"type":"t","data":1,"event_id":"x"}', "bad_member"),
        (b'{"type":"","data":1}', "bad_member"),
        (b'{"type":"t","data":1,"data":2}', "bad_json"),
        (b'{"type":"t","data":NaN}', "bad_json"),
        (b'{"type":"t","data":"%b"}' % (b"x" * limits.INBOX_EVENT_BYTES_MAX), "too_large"),
    ],
)
async def test_what_is_no_event_is_refused(house, body, code):
    await house.make()
    got = await house("POST", "/v1/inboxes/a/events", body, content_type="application/json")
    assert got.code == code
    assert (await house.read()).json["last_sequence"] == 0


async def test_an_event_has_a_key_and_a_type(house):
    await house.make()
    target = "/v1/inboxes/a/events"
    assert (await house.client("POST", target, b'{"type":"t","data":1}')).code == "key_required"
    assert (await house("POST", target, b"x", content_type="text/plain")).code == "unsupported_media_type"
    assert (await house("POST", "/v1/inboxes/b/events", {"type": "t", "data": 1})).status == 404


async def test_a_reference_stands_for_data(house):
    await house.make()
    sent = {"type": "t", "data_ref": "blob:1"}
    headers = {"content_type": "application/json"}
    assert (await house("POST", "/v1/inboxes/a/events", sent, **headers)).status == 201
    (event,) = (await house.read()).json["events"]
    assert event["data_ref"] == "blob:1"
    assert "data" not in event


async def test_a_batch_has_an_outcome_a_line(house):
    await house.make()
    await house.send("known")
    got = await house.batch(
        b'{"key":"x","type":"t","data":1}',
        b'{"key":"known","type":"t","data":1}',
        b'{"key":"known","type":"t","data":2}',
        b"{",
        b'{"key":"y","type":"t"}',
        b'{"key":"x","type":"t","data":1}',
        b'{"key":"z","type":"t","data":1}',
        b"",
    )
    told = [msgspec.json.decode(line) for line in got.body.splitlines()]
    assert [(line["key"], line["status"], line.get("sequence"), line.get("code")) for line in told] == [
        ("x", 201, 2, None),
        ("known", 200, 1, None),
        ("known", 422, None, "operation_mismatch"),
        (None, 400, None, "bad_json"),
        ("y", 400, None, "bad_member"),
        ("x", 200, 2, None),
        ("z", 201, 3, None),
    ]
    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    assert (await house.batch(b'{"key":"x","type":"t","data":1}', inbox="b")).status == 404
    assert (await house.batch(*[b"1"] * 1_001)).code == "bad_member"
    keyed = {"content_type": "application/x-ndjson", "idempotency_key": "k"}
    assert (await house("POST", "/v1/inboxes/a/events", b"{}", **keyed)).code == "bad_header"


async def test_a_receipt_reconciles(house):
    await house.make()
    sent = (await house.send("k")).json
    got = await house("GET", "/v1/inboxes/a/receipts/k")
    assert (got.status, got.json) == (200, sent)
    assert (await house("GET", "/v1/inboxes/a/receipts/l")).status == 404
    assert (await house("GET", "/v1/inboxes/b/receipts/k")).status == 404
    gone = await house("GET", f"/v1/inboxes/a/receipts/{uuid7(0, bytes(10))}")
    assert (gone.status, gone.code) == (410, "operation_expired")


async def test_pages_follow_a_position(house):
    await house.make()
    for n in range(1, 6):
        await house.send(f"k{n}")
    first = (await house.read(limit=2)).json
    assert ([e["sequence"] for e in first["events"]], first["next_after"], first["gaps"]) == ([1, 2], 2, [])
    epoch = first["epoch"]
    second = (await house.read(epoch=epoch, after=2)).json
    assert ([e["sequence"] for e in second["events"]], second["next_after"]) == ([3, 4, 5], 5)
    assert (await house.read(after=2)).code == "epoch_required"
    other = await house.read(epoch="other", after=2)
    assert (other.status, other.code, other.json["epoch"], other.json["last_sequence"]) == (
        409,
        "inbox_restored",
        epoch,
        5,
    )
    beyond = await house.read(epoch=epoch, after=6)
    assert (beyond.status, beyond.code, beyond.json["last_sequence"]) == (422, "beyond_head", 5)
    assert (await house.read("b")).status == 404


async def test_a_reader_waits_for_what_comes(house):
    await house.make()
    epoch = (await house.read()).json["epoch"]
    waiter = asyncio.ensure_future(house.read(epoch=epoch, after=0, wait_seconds=30))
    await house.send("k")
    assert [e["sequence"] for e in (await waiter).json["events"]] == [1]
    nothing = (await house.read(epoch=epoch, after=1, wait_seconds=0.01)).json
    assert (nothing["events"], nothing["next_after"]) == ([], 1)


async def test_what_was_removed_is_told(house):
    await house.make(max_events=2)
    for n in range(5):
        await house.send(f"k{n}")
    await house.consume()
    await swept(house)
    epoch = (await house.read()).json["epoch"]
    page = (await house.read(epoch=epoch, after=1)).json
    assert [(gap["from"], gap["to"], gap["reason"]) for gap in page["gaps"]] == [(2, 3, "retention")]
    assert [e["sequence"] for e in page["events"]] == [4, 5]
    refused = await house.ack(5)
    assert (refused.status, refused.code, refused.json["from"], refused.json["to"]) == (409, "gap_not_accepted", 1, 3)
    assert (await house("GET", "/v1/inboxes/a/consumers/c")).json["gaps"] == [{"from": 1, "to": 3}]
    assert (await house.ack(5, accept_gap_through=3)).json["position"] == 5
    lines = (await house("GET", f"/v1/inboxes/a/export?epoch={epoch}&after=0")).body.splitlines()
    told = [msgspec.json.decode(line) for line in lines]
    assert (told[0]["gap"]["to"], [line["sequence"] for line in told[1:]]) == (3, [4, 5])


async def test_reading_and_exporting_acknowledge_nothing(house):
    await house.make()
    for n in range(3):
        await house.send(f"k{n}")
    await house.consume()
    epoch = (await house.read()).json["epoch"]
    await house.read(epoch=epoch, after=2, wait_seconds=0.01)
    await house("GET", "/v1/inboxes/a/export")
    await house("GET", f"/v1/inboxes/a/export?epoch={epoch}&after=1")
    seen = (await house("GET", "/v1/inboxes/a/consumers/c")).json
    assert (seen["position"], seen["lag"]) == (0, 3)


async def swept(house):
    """Let an hour pass for the sweeps of this workspace."""
    async with house.player.pool.connection() as conn:
        await conn.execute("update steadhold.inbox_sweeps set check_at = steadhold.clock()")
    await house.player.play(plans.sweep.call(house.workspace, 10))


async def test_an_export_leads_on(house):
    await house.make()
    for n in range(3):
        await house.send(f"k{n}")
    first = await house("GET", "/v1/inboxes/a/export?limit=2")
    target = first.headers["link"].partition("<")[2].partition(">")[0]
    assert len(first.body.splitlines()) == 2
    assert (first.headers["steadhold-next-after"], len(first.headers["steadhold-epoch"])) == ("2", 16)
    rest = await house("GET", target)
    assert [msgspec.json.decode(line)["sequence"] for line in rest.body.splitlines()] == [3]
    assert "link" not in rest.headers


@pytest.mark.parametrize(
    ("scopes", "allowed"),
    [
        (["inboxes:read"], {"read"}),
        (["inboxes:append"], {"append"}),
        (["inboxes:acknowledge"], {"ack"}),
        (["inboxes:configure"], {"make"}),
        (["inboxes:*:a"], {"read", "append", "ack"}),
        (["inboxes:*:b"], {"make"}),
    ],
)
async def test_each_verb_has_its_scope(house, scopes, allowed):
    await house.make()
    await house.send()
    await house.consume()
    epoch = (await house.read()).json["epoch"]
    await house.enter(scopes)
    got = {
        "read": await house.read(),
        "append": await house.send(),
        "ack": await house.ack(1, epoch),
        "make": await house.make("b"),
    }
    assert {verb for verb, answer in got.items() if answer.status < 300} == allowed
    assert {answer.code for verb, answer in got.items() if verb not in allowed} == {"missing_scope"}


async def test_the_list_shows_no_more_than_the_key_may(house):
    for name in ("a", "b", "c"):
        await house.make(name)
    assert [item["name"] for item in (await house("GET", "/v1/inboxes?limit=2")).json["items"]] == ["a", "b"]
    await house.enter(["inboxes:read:b"])
    assert [item["name"] for item in (await house("GET", "/v1/inboxes")).json["items"]] == ["b"]


async def test_many_callers_number_without_a_hole(house):
    await house.make()
    got = await asyncio.gather(*[house.send(f"k{n % 40}", data=n % 40) for n in range(80)])
    assert sorted(answer.json["sequence"] for answer in got) == sorted([*range(1, 41)] * 2)
    assert [e["sequence"] for e in (await house.read()).json["events"]] == list(range(1, 41))


@pytest.mark.parametrize("said", ["", "banana", "2026-13-01T00:00:00Z", "2026-11-29T16:00:00", "2026-11-29"])
async def test_what_is_no_instant_is_refused_alone_and_in_a_line(house, said):
    await house.make()
    assert (await house.send(occurred_at=said)).code == "bad_member"
    lines = [
        b'{"key":"%d","type":"t","data":1,"occurred_at":"%b"}' % (n, at.encode()) for n, at in enumerate((said, NOW))
    ]
    told = [msgspec.json.decode(line) for line in (await house.batch(*lines)).body.splitlines()]
    assert [(one["status"], one["key"]) for one in told] == [(400, "0"), (201, "1")]
    (event,) = (await house.read()).json["events"]
    assert event["occurred_at"] == NOW
