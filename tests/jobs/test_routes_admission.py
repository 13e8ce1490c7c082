"""jobs through the doors: admission, and the types of jobs."""

from __future__ import annotations

import pytest

from steadhold.kit.limits import JOB_INPUT_BYTES_MAX

NOBODY = "0198f000-0000-7000-8000-000000000000"


async def test_admission(house):
    made = await house("POST", "/v1/jobs", b'{"type":"t","input":{"n":1.50},"tags":["x"]}', idempotency_key="op-1")
    id = made.json["job_id"]
    assert (made.status, made.headers["location"], made.json["state"]) == (202, f"/v1/jobs/{id}", "accepted")
    again = await house("POST", "/v1/jobs", b'{"type":"t","input":{"n":1.50},"tags":["x"]}', idempotency_key="op-1")
    assert (again.status, again.json, again.headers["idempotent-replayed"]) == (202, made.json, "true")
    read = await house("GET", f"/v1/jobs/{id}")
    assert made.json["root_job_id"] == read.json["root_job_id"] == id
    assert (read.json["tags"], read.json["effects"], read.headers["etag"]) == (["x"], [], f'"{read.json["revision"]}"')
    assert (await house("GET", f"/v1/jobs/{id}/input")).body == b'{"n":1.50}'
    assert (await house.client("POST", "/v1/jobs", b'{"type":"t"}')).code == "key_required"


async def test_the_jobs_of_a_batch_are_their_own_roots(house):
    made = await house("POST", "/v1/jobs:batch", {"items": [{"type": "t"}, {"type": "t"}]})
    assert [one["root_job_id"] for one in made.json["outcomes"]] == [one["job_id"] for one in made.json["outcomes"]]


async def test_a_live_key_answers_with_the_job_there_is(house):
    first = await house("POST", "/v1/jobs", {"type": "t", "input": 1, "unique_key": "k"})
    same = await house("POST", "/v1/jobs", {"type": "t", "input": 1, "unique_key": "k"})
    other = await house("POST", "/v1/jobs", {"type": "t", "input": 2, "unique_key": "k"})
    assert (same.status, same.json["job_id"]) == (200, first.json["job_id"])
    assert (other.status, other.code, other.json["job_id"]) == (409, "key_conflict", first.json["job_id"])


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "bad_member"),
        ({"type": "a b"}, 400, "bad_member"),
        ({"type": "t", "colour": 1}, 400, "bad_member"),
        ({"type": "t", "priority": 10}, 400, "bad_member"),
        ({"type": "t", "run_at": "2026-01-01T00:00:00"}, 400, "bad_member"),
        ({"type": "t", "deadline_seconds": 0}, 400, "bad_member"),
        ({"type": "t", "tags": ["x"] * 17}, 400, "bad_member"),
        ({"type": "t", "input": 1, "input_ref": "x"}, 422, "two_sources"),
        ({"type": "t", "concurrency_key": "schedule:x"}, 422, "reserved_key"),
        ({"type": "t", "input": "x" * JOB_INPUT_BYTES_MAX}, 413, "too_large"),
        (b'{"type":"t","input":NaN}', 400, "bad_json"),
        (b'{"type":"t","input":{"a":1,"a":2}}', 400, "bad_json"),
    ],
)
async def test_what_is_not_admitted(house, body, status, code):
    refused = await house("POST", "/v1/jobs", body)
    assert (refused.status, refused.code) == (status, code)


async def test_the_schema_of_a_type(house):
    schema = b'{"input_schema":{"type":"object","required":["n"]},"lease_seconds":7}'
    made = await house("PUT", "/v1/job-types/t", schema, if_none_match="*")
    assert made.status == 201
    assert (await house("PUT", "/v1/job-types/t", schema, if_none_match="*")).status == 412
    assert (await house("PUT", "/v1/job-types/t", schema)).code == "condition_required"
    assert (
        await house("PUT", "/v1/job-types/u", b'{"input_schema":{"type":7}}', if_none_match="*")
    ).code == "bad_schema"
    read = await house("GET", "/v1/job-types/t")
    assert read.json["configuration"]["input_schema"] == {"type": "object", "required": ["n"]}
    assert (read.json["configuration"]["lease_seconds"], read.json["revision"]) == (7, made.json["revision"])
    refused = await house("POST", "/v1/jobs", {"type": "t", "input": {"m": 1}})
    assert (refused.status, refused.code, refused.json["faults"][0]["pointer"]) == (422, "invalid_input", "")
    assert [item["type"] for item in (await house("GET", "/v1/job-types")).json["items"]] == ["t"]
    assert (await house("GET", "/v1/job-types/none")).status == 404


async def test_many_at_once(house):
    await house("PUT", "/v1/job-types/strict", b'{"input_schema":false}', if_none_match="*")
    items = [{"type": "t"}, {"type": "strict"}, {"type": "t"}]
    made = await house("POST", "/v1/jobs:batch", {"items": items}, idempotency_key="b-1")
    assert [outcome["status"] for outcome in made.json["outcomes"]] == [202, 422, 202]
    assert made.json["outcomes"][1]["code"] == "invalid_input"
    again = await house("POST", "/v1/jobs:batch", {"items": items}, idempotency_key="b-1")
    assert again.json == made.json
    assert len((await house("GET", "/v1/jobs")).json["items"]) == 2


async def test_a_batch_that_admits_nothing_keeps_no_receipt(house):
    await house("PUT", "/v1/job-types/strict", b'{"input_schema":false}', if_none_match="*")
    for _ in range(2):
        refused = await house("POST", "/v1/jobs:batch", {"items": [{"type": "strict"}]}, idempotency_key="b-2")
        assert refused.json["outcomes"][0]["status"] == 422
        assert "idempotent-replayed" not in refused.headers
