"""What is sent to an inbox is refused or kept as it is, whatever it is: never half, never as something else."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.kit.ids import uuid7
from steadhold.sdk.inboxes_shapes import Event, Page

pytestmark = pytest.mark.parametrize("house", ["lockstep"], indirect=True)

GOOD = b'{"key":"good%d","type":"t","data":%d}'
DEEP = b'{"key":"x","type":"t","data":' + b"[" * 200 + b"]" * 200 + b"}"


def told(got):
    assert (got.status, got.headers["content-type"]) == (200, "application/x-ndjson")
    return [msgspec.json.decode(line) for line in got.body.splitlines()]


BAD_LINES = {
    "nothing": (b"", "bad_json"),
    "spaces": (b"   ", "bad_json"),
    "no JSON": (b"{", "bad_json"),
    "two values": (GOOD % (9, 9) + b" 1", "bad_json"),
    "trailing garbage": (GOOD % (9, 9) + b"x", "bad_json"),
    "no object": (b"[1]", "bad_member"),
    "a key twice": (b'{"key":"x","key":"y","type":"t","data":1}', "bad_json"),
    "a key twice in the data": (b'{"key":"x","type":"t","data":{"a":1,"a":2}}', "bad_json"),
    "a key twice, escaped": (b'{"key":"x","type":"t","data":{"a":1,"\\u0061":2}}', "bad_json"),
    "no UTF-8": (b'{"key":"x","type":"t","data":"\xff"}', "bad_json"),
    "UTF-8 that is too long": (b'{"key":"x","type":"t","data":"\xc0\xaf"}', "bad_json"),
    "a byte order mark": (b"\xef\xbb\xbf" + GOOD % (9, 9), "bad_json"),
    "half a pair": (b'{"key":"x","type":"t","data":"\\ud800"}', "bad_json"),
    "half a pair in the type": (b'{"key":"x","type":"\\udfff","data":1}', "bad_json"),
    "NUL": (b'{"key":"x","type":"t","data":1}\x00', "bad_json"),
    "a bare return": (b'{"key":"x","type":"t","data":"\r"}', "bad_json"),
    "too deep": (DEEP, "bad_json"),
    "a number too long": (b'{"key":"x","type":"t","data":' + b"1" * 1_001 + b"}", "bad_json"),
    "no key": (b'{"type":"t","data":1}', "bad_member"),
    "a key that is none": (b'{"key":"a/b","type":"t","data":1}', "bad_member"),
    "an unknown member": (b'{"key":"x","type":"t","data":1,"event_id":"e"}', "bad_member"),
    "a source": (b'{"key":"x","type":"t","data":1,"source":"relay"}', "bad_member"),
    "a sequence": (b'{"key":"x","type":"t","data":1,"sequence":7}', "bad_member"),
    "a revision that is none": (b'{"key":"x","type":"t","data":1,"aggregate_revision":0}', "bad_member"),
    "a revision beyond all": (b'{"key":"x","type":"t","data":1,"aggregate_revision":1e30}', "bad_member"),
    "no data": (b'{"key":"x","type":"t"}', "bad_member"),
}


@pytest.mark.parametrize("fault", BAD_LINES)
async def test_a_bad_line_changes_nothing_for_the_good_ones(house, fault):
    line, code = BAD_LINES[fault]
    await house.make()
    got = told(await house.batch(GOOD % (1, 1), line, GOOD % (2, 2)))
    assert [(one["status"], one.get("sequence"), one.get("code")) for one in got] == [
        (201, 1, None), (400, None, code), (201, 2, None),
    ]  # fmt: skip
    page = (await house.read()).json
    assert [(event["sequence"], event["data"]) for event in page["events"]] == [(1, 1), (2, 2)]


async def test_a_batch_ends_with_a_line_or_without(house):
    await house.make()
    for ending in (b"", b"\n", b"\r\n"):
        got = await house.client(
            "POST", "/v1/inboxes/a/events", GOOD % (1, 1) + ending, content_type="application/x-ndjson"
        )
        assert [one["sequence"] for one in told(got)] == [1]
    crlf = b"\r\n".join([GOOD % (1, 1), GOOD % (2, 2)])
    assert [one["sequence"] for one in told(await house.batch(crlf))] == [1, 2]
    assert (await house.batch(b"")).body == b""


async def test_a_line_may_be_as_large_as_an_event(house):
    await house.make()
    most = limits.INBOX_EVENT_BYTES_MAX - 2
    lines = [b'{"key":"%d","type":"t","data":"%b"}' % (size, b"x" * size) for size in (65_536, most, most + 1)]
    assert [(one["status"], one.get("code")) for one in told(await house.batch(*lines))] == [
        (201, None), (201, None), (413, "too_large"),
    ]  # fmt: skip
    sizes = [len(event["data"]) for event in (await house.read()).json["events"]]
    assert sizes == [65_536, most]
    alone = b'{"type":"t","data":"%b"}'
    headers = {"content_type": "application/json"}
    for size, status in ((most, 201), (most + 1, 413)):
        got = await house("POST", "/v1/inboxes/a/events", alone % (b"y" * size), **headers)
        assert got.status == status
    for size, status in ((most + 2, 201), (most + 3, 413)):
        got = await house("POST", "/v1/inboxes/a/events?type=t", b"z" * size, content_type="text/plain")
        assert got.status == status


@pytest.mark.parametrize("empty", [b"\n" * 5_000, b"\n" * limits.BODY_BYTES_MAX, b"{}\n" * 1_001])
async def test_too_many_lines_are_refused_whole(house, empty):
    await house.make()
    got = await house.client("POST", "/v1/inboxes/a/events", empty, content_type="application/x-ndjson")
    assert (got.status, got.code) == (400, "bad_member")


async def test_what_an_event_says_of_itself_comes_back_as_it_was(house):
    odd = {"type": 'a"b\\\n\u2028\x00\U0001f600', "causation_id": "\x7f/?", "data_ref": "\x01" + "\U0001f600" * 1_999}
    await house.make()
    assert (await house("POST", "/v1/inboxes/a/events", odd, content_type="application/json")).status == 201
    (event,) = (await house.read()).json["events"]
    assert {name: event[name] for name in odd} == odd
    (line,) = (await house("GET", "/v1/inboxes/a/export")).body.splitlines()
    assert msgspec.json.decode(line)["type"] == odd["type"]


@pytest.mark.parametrize("type", ["%ED%A0%80", "%FF", "a%00b", "x" * 201, "%F0%9F%98%80" * 201])
async def test_a_type_that_is_none_is_refused(house, type):
    await house.make()
    got = await house("POST", f"/v1/inboxes/a/events?type={type}", b"1", content_type="text/plain")
    assert (got.status, got.code) == (400, "bad_query")


@pytest.mark.parametrize(
    ("kind", "status"),
    [("", 201), ("x" * 200, 201), ("x" * 201, 400), ("text/pl\xe4in", 201), ("application/json; charset=utf-8", 400)],
)
async def test_any_type_of_bytes_is_kept(house, kind, status):
    await house.make()
    got = await house("POST", "/v1/inboxes/a/events?type=t", b"\xff\x00", content_type=kind)
    assert got.status == status
    assert len((await house.read()).json["events"]) == (status == 201)


KEYS = [uuid7(ms, bytes(10)) for ms in (0, (1 << 48) - 1)]


@pytest.mark.parametrize("key", [*KEYS, "a" * 200, "..", "~", "client:x", "relay:x"])
async def test_any_key_is_known_again(house, key):
    """Of a time long past, or to come: what is there is there."""
    await house.make()
    assert (await house.send(key)).status == 201
    assert (await house.send(key)).json["duplicate"]
    got = await house("GET", f"/v1/inboxes/a/receipts/{key}")
    assert (got.status, got.json["sequence"]) == (200, 1)
    assert (await house("GET", f"/v1/inboxes/a/receipts/{KEYS[1][:-1]}1")).status == 404


@pytest.mark.parametrize("key", ["a" * 201, "a/b", "ä", "a b", ""])
async def test_a_key_that_is_no_id_is_refused(house, key):
    await house.make()
    assert (await house.send(key) if key else await house.client("POST", "/v1/inboxes/a/events", b"{}")).status == 400
    assert (await house.read()).json["last_sequence"] == 0


async def test_positions_that_nobody_gave_lead_nowhere(house):
    await house.make()
    await house.make("b")
    for n in range(3):
        await house.send(f"k{n}")
        await house.send(f"k{n}", inbox="b")
    other = (await house.read("b")).json["epoch"]
    here = (await house.read()).json["epoch"]
    for epoch in (other, "", "x" * 3_000, here[:-1], here.upper(), f"{here}:1"):
        got = await house.read(epoch=epoch, after=1)
        assert (got.status, got.code, got.json["epoch"]) == (409, "inbox_restored", here)
        assert (await house.ack(1, epoch=epoch or "-")).status in {404, 400}
    for after in ("-1", "1.5", "01", "9" * 16, "x", "", "1e2", "%00"):
        assert (await house.read(epoch=here, after=after)).code == "bad_query"
    assert (await house.read(epoch=here, after="9" * 15)).code == "beyond_head"
    for limit in ("0", "1001", "-1", "x"):
        assert (await house.read(limit=limit)).code == "bad_query"
    assert (await house("GET", "/v1/inboxes?cursor=x")).code == "bad_cursor"
    forged = (await house("GET", "/v1/inboxes?limit=1")).json["next_cursor"]
    assert (await house("GET", f"/v1/inboxes/a/consumers?cursor={forged}")).code == "bad_cursor"


async def test_an_epoch_of_an_inbox_that_was_deleted_is_of_no_use(house):
    await house.make()
    for n in range(3):
        await house.send(f"k{n}")
    await house.consume()
    old = (await house.read()).json["epoch"]
    revision = (await house("GET", "/v1/inboxes/a")).json["revision"]
    await house("DELETE", "/v1/inboxes/a", if_match=f'"{revision}"')
    assert (await house.read(epoch=old, after=1)).status == 404
    await house.make()
    assert (await house.send("k0", data=2)).json["sequence"] == 1
    assert (await house.read(epoch=old, after=0)).code == "inbox_restored"
    assert (await house.ack(1, epoch=old)).status == 404
    await house.consume()
    assert (await house.ack(1, epoch=old)).code == "inbox_restored"
    assert (await house("GET", "/v1/inboxes/a/consumers/c")).json["position"] == 0


async def test_of_many_under_one_key_one_is_kept(house):
    """With other bodies, alone and in lines, at once: the first counts, and whoever said the same is told it."""
    await house.make()
    alone = [house.send("k", data=n % 4) for n in range(24)]
    lines = [house.batch(*[b'{"key":"k","type":"t","data":%d}' % m for m in (n % 4, 9)]) for n in range(8)]
    got = await asyncio.gather(*alone, *lines)
    (event,) = (await house.read()).json["events"]
    for n, answer in enumerate(got[:24]):
        assert answer.status == (422 if n % 4 != event["data"] else 201 if "duplicate" not in answer.json else 200)
    statuses = [answer.status for answer in got[:24]] + [one["status"] for answer in got[24:] for one in told(answer)]
    assert statuses.count(201) == 1
    assert set(statuses) == {200, 201, 422}


@pytest.mark.parametrize(
    ("retention", "status"),
    [
        ({"max_events": 0}, 201), ({"max_bytes": 0}, 201), ({"max_age_seconds": 1}, 201), ({"max_age_seconds": 0}, 400),
        ({"max_age_seconds": 1e300}, 400), ({"max_events": -1}, 400), ({"max_events": 10**15}, 400),
        ({"max_events": 1.5}, 400), ({"max_age_seconds": "1"}, 400), ({"keep": 1}, 400), (None, 400),
    ],
)  # fmt: skip
async def test_retention_is_within_bounds(house, retention, status):
    made = await house("PUT", "/v1/inboxes/a", {"retention": retention}, if_none_match="*")
    assert made.status == status


@pytest.mark.parametrize("scope", ["inboxes:*:a", "inboxes:read:a"])
@pytest.mark.parametrize("name", ["ab", "a.b", "a:b", "A", "a~"])
async def test_a_scope_of_a_name_is_of_no_use_at_another(house, scope, name):
    await house.make(name)
    await house.enter([scope])
    assert (await house.read(name)).code == "missing_scope"
    assert (await house("GET", f"/v1/inboxes/{name}/export")).code == "missing_scope"
    assert (await house("GET", "/v1/inboxes")).json["items"] == []


async def test_json_on_several_lines_is_one_line_of_an_export(house):
    """A page has its bytes; on a line they are base64, and JSON all the same."""
    await house.make()
    pretty, headers = b'{\n  "a": 1.10,\r\n  "b": []\n}', {"content_type": "application/json"}
    await house("POST", "/v1/inboxes/a/events?type=t", pretty, **headers)
    await house("POST", "/v1/inboxes/a/events", b'{"type":"t",\n"data":' + pretty + b"}", **headers)
    assert (await house.read()).body.count(pretty) == 2
    lines = (await house("GET", "/v1/inboxes/a/export")).body.splitlines()
    shown = [msgspec.json.decode(line, type=Event) for line in lines]
    assert [(one.raw, one.value["b"], one.content_type) for one in shown] == [(pretty, [], "application/json")] * 2
    (first, _) = msgspec.json.decode((await house.read()).body, type=Page).events
    assert (first.raw, first.value, first.lined) == (pretty, shown[0].value, shown[0])
    assert shown[0].lined is shown[0]
