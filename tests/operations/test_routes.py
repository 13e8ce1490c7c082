"""Operations through the doors: replays, receipts, ends, and who may see them."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from steadhold.kit.ids import new_id
from tests.operations.test_plans import aged_id


async def test_a_repeated_request_has_one_effect_and_one_answer(house, anna):
    first = await anna("POST", "/v1/things/a", idempotency_key="op-1")
    again = await anna("POST", "/v1/things/a", idempotency_key='"op-1"')
    assert (first.status, again.status) == (201, 201)
    assert first.body == again.body
    assert (first.headers["etag"], first.headers["operation-id"]) == (again.headers["etag"], "op-1")
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"


async def test_the_id_belongs_to_one_request_of_one_subject(house, anna):
    await anna("POST", "/v1/things/a", idempotency_key="op-1")
    other = await anna("POST", "/v1/things/b", idempotency_key="op-1")
    berta = house.client("berta", "state:write")
    hers = await berta("POST", "/v1/things/a", idempotency_key="op-1")
    assert (other.status, other.code) == (hers.status, hers.code) == (422, "operation_mismatch")


async def test_a_receipt_tells_what_the_operation_did(anna):
    await anna("POST", "/v1/things/a", idempotency_key="op-1")
    told = (await anna("GET", "/v1/operations/op-1")).json
    assert told.pop("committed_at") < told.pop("expires_at")
    assert told == {
        "operation_id": "op-1",
        "state": "committed",
        "kind": "events.append",
        "resource": "a",
        "revision": 1,
        "status": 201,
        "result": {"made": True},
    }


async def test_what_has_not_committed_is_not_found_until_it_is_abandoned(anna):
    missing = await anna("GET", "/v1/operations/op-1")
    assert (missing.status, missing.code, missing.headers["retry-after"]) == (404, "operation_not_committed", "1")
    ended = await anna("POST", "/v1/operations/op-1/abandon")
    assert (ended.status, ended.json["state"], ended.json["result"]) == (200, "abandoned", None)
    late = await anna("POST", "/v1/things/a", idempotency_key="op-1")
    assert (late.status, late.code) == (409, "operation_abandoned")


async def test_a_reading_waits_for_the_commit(anna):
    asked = asyncio.create_task(anna("GET", "/v1/operations/op-1?wait_seconds=20"))
    await asyncio.sleep(0)
    await anna("POST", "/v1/things/a", idempotency_key="op-1")
    assert (await asked).json["state"] == "committed"


@pytest.mark.parametrize(
    ("seconds", "status", "code"), [(400, 422, "operation_clock"), (-8 * 86_400, 410, "operation_expired")]
)
async def test_an_id_of_another_time_is_told_the_time(anna, seconds, status, code):
    key = aged_id(seconds)
    for method, target in (("POST", "/v1/things/a"), ("POST", f"/v1/operations/{key}/abandon")):
        refused = await anna(method, target, idempotency_key=key)
        assert (refused.status, refused.code) == (status, code)
        assert refused.json["server_time"].endswith("Z")


async def test_a_receipt_is_for_those_who_may_do_what_it_tells_of(house, anna):
    await anna("POST", "/v1/things/a", idempotency_key="op-1")
    for scopes, status in (
        (("state:write:a",), 200),
        (("state:write:b",), 403),
        (("jobs:submit",), 403),
        (("operations:admin",), 200),
    ):
        person = house.client("person", *scopes)
        for method, target in (("GET", "/v1/operations/op-1"), ("POST", "/v1/operations/op-1/abandon")):
            told = await person(method, target)
            assert told.status == status, scopes
            assert told.status == 200 or (told.code, told.json["scope"]) == ("missing_scope", "state:write")


async def test_a_key_that_only_reads_abandons_nothing(house, anna):
    reader = house.client("rita", "state:read")
    refused = await reader("POST", "/v1/operations/op-1/abandon")
    assert (refused.status, refused.code) == (403, "missing_scope")
    assert (await anna("POST", "/v1/things/a", idempotency_key="op-1")).status == 201


async def test_all_receipts_are_for_an_administrator(house, anna):
    keys = sorted(new_id() for _ in range(3))
    for key in keys:
        await anna("POST", f"/v1/things/{key}", idempotency_key=key)
    assert (await anna("GET", "/v1/operations")).code == "missing_scope"
    admin = house.client("admin", "operations:admin")
    first = (await admin("GET", "/v1/operations?limit=2")).json
    rest = (await admin("GET", f"/v1/operations?limit=2&cursor={first['next_cursor']}")).json
    assert [o["operation_id"] for o in first["items"] + rest["items"]] == keys
    assert rest["next_cursor"] is None


async def test_the_doors_tell_the_window_that_the_server_keeps(anna, patient_house):
    key = aged_id(-8 * 86_400)
    usual = await anna("POST", f"/v1/operations/{key}/abandon")
    assert (usual.status, usual.code) == (410, "operation_expired")
    carla = patient_house.client("carla", "state:write")
    assert (await carla("GET", f"/v1/operations/{key}")).code == "operation_not_committed"
    ended = (await carla("POST", f"/v1/operations/{key}/abandon")).json
    kept = datetime.fromisoformat(ended["expires_at"]) - datetime.fromisoformat(ended["committed_at"])
    assert (ended["state"], kept) == ("abandoned", timedelta(days=30))
