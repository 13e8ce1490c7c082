"""The table of bad input, against the real rooms: the documented problem each, nothing stored, no inside shown."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.kit.ids import new_id, uuid7
from steadhold.server import rooms
from steadhold.server.app import App
from tests.server.conftest import key_of
from tests.web.toy import Client, Got

pytestmark = pytest.mark.parametrize("settings", ["lockstep"], indirect=True)

JOB = "0198aaaa-0000-7000-8000-000000000000"
DEEP = b"[" * 100_000 + b"]" * 100_000
WIDE = b"[" + b"1," * 400_000 + b"1]"
SUBMIT = b'{"type": "t", "input": {}}'

STATE = {
    "empty": (b"", 400, "bad_json"),
    "not JSON": (b"hello", 400, "bad_json"),
    "NaN": (b"[NaN]", 400, "bad_json"),
    "Infinity": (b"-Infinity", 400, "bad_json"),
    "a byte order mark": (b"\xef\xbb\xbf{}", 400, "bad_json"),
    "no UTF-8": (b'"\xff"', 400, "bad_json"),
    "half a surrogate pair": (rb'"\ud800"', 400, "bad_json"),
    "a key twice": (b'{"a": 1, "\\u0061": 2}', 400, "bad_json"),
    "two documents": (b"{} {}", 400, "bad_json"),
    "a comment": (b"[1] // one", 400, "bad_json"),
    "too deep": (b"[" * 129 + b"]" * 129, 400, "bad_json"),
    "absurdly deep": (DEEP, 400, "bad_json"),
    "a number of 1001 characters": (b"1" * 1_001, 400, "bad_json"),
    "too large": (b'"' + b"a" * limits.STATE_BYTES_MAX + b'"', 413, "too_large"),
}


def clean(got: Got) -> None:
    """No answer shows what is behind it."""
    for word in (b"Traceback", b"psycopg", b"asyncpg", b"msgspec", b"sqlstate", b"/src/", b"select ", b"steadhold."):
        assert word not in got.body


@pytest.mark.parametrize("name", STATE)
async def test_state_that_is_no_exact_json(call, name):
    body, status, code = STATE[name]
    got = await call("PUT", "/v1/state/a", body, if_none_match="*", content_type="application/json")
    assert (got.status, got.code) == (status, code)
    clean(got)
    assert (await call("GET", "/v1/state/a")).status == 404


@pytest.mark.parametrize(
    "name",
    [
        "..",
        ".",
        "a/..",
        "a//b",
        "a/",
        "%00",
        "a%0Ab",
        "%ff",
        "%C3",
        "e%CC%81",
        "%ED%A0%80",
        "a" * 513,
        "%F0%9F%92%A9" * 129,
    ],
)
async def test_names_that_are_none(call, name):
    wrote = await call("PUT", f"/v1/state/{name}", b"1", if_none_match="*")
    assert (wrote.status, wrote.code) == (400, "bad_name")
    read = await call("GET", f"/v1/state/{name}")
    assert (read.status, read.body) == (404, (await call("GET", "/v1/state/none")).body)


@pytest.mark.parametrize(
    "target",
    [
        f"/v1/jobs/{JOB}",
        "/v1/jobs/x",
        "/v1/jobs/a%2Fb",
        "/v1/jobs/%00",
        f"/v1/jobs/{JOB.upper()}",
        f"/v1/jobs/{JOB}/x/y",
    ],
)
async def test_ids_that_are_missing_or_none_answer_alike(call, target):
    got = await call("GET", target)
    assert (got.status, got.code) == (404, "not_found")
    assert got.body == (await call("GET", "/v1/jobs/none")).body


SUBMITTED = {
    "an unknown member": (b'{"type": "t", "input": {}, "inputt": 1}', 400, "bad_member"),
    "a wrong type": (b'{"type": 1, "input": {}}', 400, "bad_member"),
    "a missing member": (b"{}", 400, "bad_member"),
    "a priority beyond bounds": (b'{"type": "t", "priority": 10}', 400, "bad_member"),
    "a list": (b"[]", 400, "bad_member"),
    "NaN inside the input": (b'{"type": "t", "input": [NaN]}', 400, "bad_json"),
    "too deep inside the input": (b'{"type": "t", "input": ' + b"[" * 200 + b"]" * 200 + b"}", 400, "bad_json"),
    "absurdly deep": (b'{"type": "t", "input": ' + DEEP + b"}", 400, "bad_json"),
    "truncated": (SUBMIT[:-3], 400, "bad_json"),
    "too large": (b'{"type": "t", "input": "' + b"a" * limits.BODY_BYTES_MAX + b'"}', 413, "too_large"),
}


@pytest.mark.parametrize("name", SUBMITTED)
async def test_jobs_that_are_none(call, name):
    body, status, code = SUBMITTED[name]
    got = await call("POST", "/v1/jobs", body, idempotency_key=new_id())
    assert (got.status, got.code) == (status, code)
    clean(got)
    assert (await call("GET", "/v1/jobs")).json["items"] == []


EARLY = uuid7(4_000_000_000_000, bytes(10))
FORM = "application/x-www-form-urlencoded"
ASKED = {
    "no operation id": ({}, 400, "key_required"),
    "an operation id that is none": ({"idempotency_key": "a/b"}, 400, "bad_header"),
    "an empty operation id": ({"idempotency_key": ""}, 400, "bad_header"),
    "an operation id from the future": ({"idempotency_key": EARLY}, 422, "operation_clock"),
    "another type": ({"idempotency_key": "k", "content_type": "text/plain"}, 415, "unsupported_media_type"),
    "a form": ({"idempotency_key": "k", "content_type": FORM}, 415, "unsupported_media_type"),
    "a coding": ({"idempotency_key": "k", "content_encoding": "gzip"}, 415, "unsupported_coding"),
    "a fence that is ignored": ({"idempotency_key": "k", "if_match": '"1"'}, 400, "bad_header"),
    "no key": ({"idempotency_key": "k", "authorization": ""}, 401, "no_valid_key"),
    "half a key": ({"idempotency_key": "k", "authorization": "Bearer sh_test_x"}, 401, "no_valid_key"),
}  # fmt: skip


@pytest.mark.parametrize("name", ASKED)
async def test_requests_that_say_too_little_or_too_much(call, name):
    headers, status, code = ASKED[name]
    got = await call("POST", "/v1/jobs", SUBMIT, **headers)
    assert (got.status, got.code) == (status, code)
    clean(got)
    assert (await call("GET", "/v1/jobs")).json["items"] == []


@pytest.mark.parametrize(
    "fence",
    [
        "",
        "x",
        '"lock:a"',
        '"lock:a";fence=0',
        '"lock:a";fence=1.5',
        '"lock:a";fence=1;x=2',
        '"a";fence=1',
        '"lock:a";fence=1, "lock:a";fence=2',
    ],
)
async def test_fences_that_are_none(call, fence):
    got = await call("PUT", "/v1/state/a", b"1", if_none_match="*", fence=fence)
    assert (got.status, got.code) == (400, "bad_header")


async def test_a_fence_that_nobody_holds(call):
    got = await call("PUT", "/v1/state/a", b"1", if_none_match="*", fence=f'"job:{JOB}";fence=7')
    assert (got.status, got.code) == (409, "stale_fence")


async def test_a_key_without_the_scope_learns_nothing(app, workspace, call):
    await call("PUT", "/v1/state/team/a", b"[1]", if_none_match="*")
    poor = Client(app, await key_of(app, workspace, scopes=("state:read:team",)))
    assert (await poor("GET", "/v1/state/team/a")).status == 200
    for method, target in (
        ("GET", "/v1/state/other"), ("GET", "/v1/state/teams/a"), ("PUT", "/v1/state/team/a"), ("GET", "/v1/jobs"),
        ("POST", "/v1/jobs"), ("GET", "/v1/keys"), ("GET", f"/v1/jobs/{JOB}"),
    ):  # fmt: skip
        got = await poor(method, target, b"[2]" if method == "PUT" else b"", if_match='"1"')
        assert (got.status, got.code) == (403, "missing_scope"), target


async def test_a_revoked_key(app, workspace, call):
    other = Client(app, await key_of(app, workspace))
    assert (await other("GET", "/v1/state")).status == 200
    assert (await call("POST", f"/v1/keys/{other.key.split('_')[2]}/revoke")).status == 200
    assert (await other("GET", "/v1/state")).code == "no_valid_key"


async def test_a_large_honest_document_is_taken(call):
    assert len(WIDE) < limits.STATE_BYTES_MAX
    assert (await call("PUT", "/v1/state/a", WIDE, if_none_match="*")).status == 201
    assert (await call("GET", "/v1/state/a")).body == WIDE


def test_every_body_refuses_unknown_members_at_every_depth(settings):
    def structs(kind, seen):
        if isinstance(kind, msgspec.inspect.StructType) and kind.cls not in seen:
            seen.add(kind.cls)
            for field in kind.fields:
                structs(field.type, seen)
        for name in ("types", "item_types"):
            for inner in getattr(kind, name, ()):
                structs(inner, seen)
        for name in ("item_type", "key_type", "value_type", "type"):
            if isinstance(inner := getattr(kind, name, None), msgspec.inspect.Type):
                structs(inner, seen)
        return seen

    takes = [route.takes for route in rooms.routes() if route.takes is not None]
    assert takes
    for kind in takes:
        for struct in structs(msgspec.inspect.type_info(kind), set()):
            assert struct.__struct_config__.forbid_unknown_fields, struct


async def test_two_servers_have_one_winner_and_one_effect(app, call, settings):
    second = App(settings)
    await second.start()
    try:
        clients = [call, Client(second, call.key)]
        assert (await call("PUT", "/v1/state/a", b"0", if_none_match="*")).status == 201
        got = await asyncio.gather(
            *(clients[n % 2]("PUT", "/v1/state/a", b"%d" % n, if_match='"1"') for n in range(50))
        )
        assert sorted(answer.status for answer in got) == [200] + [412] * 49
        key = new_id()
        same = await asyncio.gather(
            *(clients[n % 2]("POST", "/v1/jobs", SUBMIT, idempotency_key=key) for n in range(50))
        )
        made = [answer for answer in same if answer.status == 202]
        assert {answer.status for answer in same} <= {202, 409}
        assert len({answer.body for answer in made}) == 1
        assert len((await call("GET", "/v1/jobs")).json["items"]) == 1
        other = await clients[1]("POST", "/v1/jobs", b'{"type": "t", "input": 1}', idempotency_key=key)
        assert (other.status, other.code) == (422, "operation_mismatch")
    finally:
        await second.stop()
