"""jobs through the doors: what each route answers, and what it refuses."""

from __future__ import annotations

import functools
import hashlib

import msgspec
import pytest

from steadhold import access, jobs
from steadhold.access.authenticate import Keyring, permits
from steadhold.access.model import HOUSE
from steadhold.db.pool import Pool
from steadhold.jobs.routes import ROUTES
from steadhold.kit.ids import new_id
from steadhold.kit.limits import JOB_INPUT_BYTES_MAX
from steadhold.play.single import Single
from steadhold.server.receipts import receipted
from steadhold.server.trouble import trouble
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Above, Doors
from tests.access.people import a_token
from tests.web.toy import Client

NOBODY = "0198f000-0000-7000-8000-000000000000"


class House:
    """The doors of jobs over a real database, and a client that may do everything."""

    def __init__(self, player, workspace):
        self.player, self.workspace, self.keyring = player, workspace, Keyring(player)
        above = Above(
            play=player.play,
            authenticate=self.keyring.principal,
            permits=permits,
            receipted=functools.partial(receipted, kept_seconds=3_600),
            trouble=trouble,
            rate=self.keyring.rate,
            known=self.keyring.known,
            forget=self.keyring.forget,
            house=HOUSE,
        )
        self.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())

    async def enter(self, scopes=("jobs:*",)):
        token = a_token()
        wanted = {"env": "live", "subject": "anna", "kind": "service", "scopes": scopes}
        await self.player.play(access.import_key.call(self.workspace, token.key_id, token.hash, **wanted))
        self.client = Client(self.doors, token.text)
        return self

    async def __call__(self, method, target, value=None, **headers):
        headers.setdefault("idempotency_key", new_id())
        body = value if isinstance(value, bytes) else b"" if value is None else msgspec.json.encode(value)
        return await self.client(method, target, body, **headers)

    async def submitted(self, type="t", **more):
        return (await self("POST", "/v1/jobs", {"type": type, **more})).json["job_id"]

    async def claimed(self, type="t", **more):
        """A job that is admitted and claimed: the claim's own account of it."""
        await self.submitted(type, **more)
        (job,) = (await self("POST", "/v1/jobs:claim", {"worker": "w", "types": [type], "limit": 1})).json["jobs"]
        return job

    async def settled(self, job, **outcome):
        return await self("POST", f"/v1/jobs/{job['job_id']}/settle", {"fence": job["fence"], "outcome": outcome})


@pytest.fixture
async def house(dsn, workspace):
    async with Pool(dsn, size=4) as pool:
        yield await House(Single(pool), workspace).enter()


async def test_admission(house):
    made = await house("POST", "/v1/jobs", b'{"type":"t","input":{"n":1.50},"tags":["x"]}', idempotency_key="op-1")
    id = made.json["job_id"]
    assert (made.status, made.headers["location"], made.json["state"]) == (202, f"/v1/jobs/{id}", "accepted")
    again = await house("POST", "/v1/jobs", b'{"type":"t","input":{"n":1.50},"tags":["x"]}', idempotency_key="op-1")
    assert (again.status, again.json, again.headers["idempotent-replayed"]) == (202, made.json, "true")
    read = await house("GET", f"/v1/jobs/{id}")
    assert (read.json["tags"], read.json["effects"], read.headers["etag"]) == (["x"], [], f'"{read.json["revision"]}"')
    assert (await house("GET", f"/v1/jobs/{id}/input")).body == b'{"n":1.50}'
    assert (await house.client("POST", "/v1/jobs", b'{"type":"t"}')).code == "key_required"


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


async def test_a_job_is_worked(house):
    job = await house.claimed(input={"n": 1})
    assert (job["input"], job["attempt"], job["stages"]) == ({"n": 1}, 1, [])
    id, fence = job["job_id"], job["fence"]
    beaten = await house("POST", f"/v1/jobs/{id}/heartbeat", {"fence": fence, "progress": {"done": 1}})
    assert (beaten.status, beaten.json["cancel_requested"]) == (200, False)
    stage = f"/v1/jobs/{id}/checkpoints/walk"
    made = await house("PUT", stage, {"fence": fence, "result": [1], "input_digest": "ab" * 32})
    assert made.status == 201
    assert (await house("PUT", stage, {"fence": fence, "result": [1], "input_digest": "ab" * 32})).status == 200
    assert (await house("PUT", stage, {"fence": fence, "result": [2]})).code == "checkpoint_conflict"
    assert (await house("PUT", stage, {"fence": fence + 1, "result": [1]})).code == "stale_fence"
    assert (await house("GET", stage)).json["result"] == [1]
    assert [item["stage"] for item in (await house("GET", f"/v1/jobs/{id}/checkpoints")).json["items"]] == ["walk"]
    done = await house.settled(
        job, state="completed", result={"x": 1}, coverage={"state": "partial", "expected": 3, "covered": 1}
    )
    assert (done.status, done.json["state"]) == (200, "completed")
    read = (await house("GET", f"/v1/jobs/{id}")).json
    assert read["coverage"] == {"state": "partial", "expected": 3, "covered": 1}
    assert read["progress"] == {"done": 1}
    result = await house("GET", f"/v1/jobs/{id}/result")
    assert (result.body, "repr-digest" in result.headers) == (b'{"x":1}', True)
    assert read["result_ref"] == f"job:{id}/result#sha256:{hashlib.sha256(result.body).hexdigest()}"
    types = [item["type"] for item in (await house("GET", f"/v1/jobs/{id}/events")).json["items"]]
    assert types == ["job.accepted", "job.running", "job.checkpointed", "job.completed"]


async def test_settling_again(house):
    job = await house.claimed()
    assert (await house.settled(job, state="completed", result=1)).status == 200
    assert (await house.settled(job, state="completed", result=1)).status == 200
    assert (await house.settled(job, state="completed", result=2)).code == "job_ended"
    assert (await house.settled(job | {"fence": job["fence"] + 1}, state="completed", result=1)).code == "stale_fence"
    assert (await house.settled(job | {"job_id": NOBODY}, state="completed")).status == 404


async def test_many_are_settled(house):
    one, two = await house.claimed(), await house.claimed()
    items = [
        {"job_id": one["job_id"], "fence": one["fence"], "outcome": {"state": "completed"}},
        {"job_id": two["job_id"], "fence": two["fence"] + 1, "outcome": {"state": "completed"}},
    ]
    settled = (await house("POST", "/v1/jobs:settle", {"items": items})).json["outcomes"]
    assert [(outcome["status"], outcome["job_id"]) for outcome in settled] == [
        (200, one["job_id"]),
        (409, two["job_id"]),
    ]
    assert settled[1]["code"] == "stale_fence"
    beats = [{"job_id": two["job_id"], "fence": two["fence"]}, {"job_id": NOBODY, "fence": 1}]
    beaten = (await house("POST", "/v1/jobs:heartbeat", {"items": beats})).json["outcomes"]
    assert [outcome["status"] for outcome in beaten] == [200, 409]


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        ({"state": "running"}, 400, "bad_member"),
        ({"state": "completed", "error_code": "x"}, 400, "bad_member"),
        ({"state": "failed", "error_code": "x", "class": "odd"}, 400, "bad_member"),
        ({"state": "waiting", "stage": "s", "for": {}}, 400, "bad_member"),
        ({"state": "waiting", "stage": "s", "for": {"timer": 1, "signal": "x"}}, 400, "bad_member"),
        ({"state": "waiting", "stage": "s", "for": {"signal": "x"}}, 422, "until_required"),
        ({"state": "waiting", "stage": "s", "for": {"approval": "x"}}, 422, "wait_unknown"),
        ({"state": "waiting", "stage": "s", "for": {"inbox": "x", "after": {"epoch": 1}}}, 422, "wait_unknown"),
        (
            {"state": "waiting", "stage": "s", "for": {"job": NOBODY}, "until": "2999-01-01T00:00:00Z"},
            422,
            "unknown_subject",
        ),
        ({"state": "cancelled"}, 409, "cancel_not_requested"),
        ({"state": "completed", "result": 1, "result_ref": "x"}, 422, "two_sources"),
    ],
)
async def test_what_a_worker_may_not_say(house, outcome, status, code):
    job = await house.claimed()
    refused = await house.settled(job, **outcome)
    assert (refused.status, refused.code) == (status, code)
    assert (await house("GET", f"/v1/jobs/{job['job_id']}")).json["state"] == "running"


async def test_a_failure_due_a_retry_says_when(house):
    job = await house.claimed()
    failed = await house.settled(job, state="failed", error_code="boom", message="no", **{"class": "transient"})
    assert (failed.json["state"], "run_at" in failed.json) == ("accepted", True)
    read = (await house("GET", f"/v1/jobs/{job['job_id']}")).json
    assert ("error_code" in read, read["failure"]["error_code"]) == (False, "boom")


async def test_a_wait_and_a_signal(house):
    job = await house.claimed()
    waiting = {"state": "waiting", "stage": "go", "for": {"signal": "ready"}, "until": "2999-01-01T00:00:00Z"}
    assert (await house.settled(job, **waiting)).json["state"] == "waiting"
    id = job["job_id"]
    assert (await house("GET", f"/v1/jobs/{id}")).json["waiting"]["for"] == {"signal": "ready"}
    assert (await house("POST", f"/v1/jobs/{id}/signal", {"name": "ready", "data": {"x": 1}})).status == 202
    assert await house.player.play(jobs.wake.call(house.workspace, 10)) == 1
    assert (await house("GET", f"/v1/jobs/{id}/checkpoints/go")).json["result"]["data"] == {"x": 1}


async def test_what_is_true_already_is_told_at_once(house):
    job = await house.claimed()
    await house("POST", f"/v1/jobs/{job['job_id']}/signal", {"name": "ready"})
    waiting = {"state": "waiting", "stage": "go", "for": {"signal": "ready"}, "until": "2999-01-01T00:00:00Z"}
    told = (await house.settled(job, **waiting)).json
    assert (told["state"], told["woke"]["why"]) == ("running", "happened")


async def test_cancelling(house):
    id = await house.submitted()
    assert (await house("POST", f"/v1/jobs/{id}/cancel", {"reason": "enough"})).json["outcome"] == "cancelled"
    job = await house.claimed()
    asked = await house("POST", f"/v1/jobs/{job['job_id']}/cancel")
    assert (asked.status, asked.json["outcome"]) == (202, "requested")
    read = (await house("GET", f"/v1/jobs/{job['job_id']}")).json
    assert read["cancel_requested"]["by"] == "anna"
    await house.settled(job, state="completed")
    late = await house("POST", f"/v1/jobs/{job['job_id']}/cancel")
    assert (late.status, late.json["outcome"]) == (200, "too_late")
    assert (await house("POST", f"/v1/jobs/{NOBODY}/cancel")).status == 404


async def test_if_match_on_a_verb(house):
    id = await house.submitted()
    refused = await house("POST", f"/v1/jobs/{id}/cancel", if_match='"99"')
    assert (refused.status, refused.code) == (412, "condition_false")
    assert (
        await house("POST", f"/v1/jobs/{id}/cancel", if_match=f'"{refused.json["current_revision"]}"')
    ).status == 200


async def test_retrying(house):
    job = await house.claimed(input=7)
    path = f"/v1/jobs/{job['job_id']}/retry"
    assert (await house("POST", path)).code == "job_not_ended"
    await house.settled(job, state="failed", error_code="x", **{"class": "bug"})
    made = await house("POST", path)
    assert (made.status, made.json["retry_of"], made.json["root_job_id"]) == (202, job["job_id"], job["job_id"])
    assert (await house("GET", f"/v1/jobs/{made.json['job_id']}/input")).body == b"7"


async def test_what_a_filter_means(house):
    for _ in range(3):
        await house.submitted(tags=["old"])
    counted = await house("POST", "/v1/jobs:cancel", {"filter": {"tag": "old"}})
    assert counted.json == {"count": 3}
    changed = await house("POST", "/v1/jobs:cancel", {"filter": {"tag": "old"}, "expect_count": 2})
    assert (changed.status, changed.code, changed.json["count"]) == (409, "count_changed", 3)
    done = await house("POST", "/v1/jobs:cancel", {"filter": {"tag": "old"}, "expect_count": 3})
    assert [outcome["outcome"] for outcome in done.json["outcomes"]] == ["cancelled"] * 3
    again = await house("POST", "/v1/jobs:retry", {"filter": {"tag": "old", "state": "cancelled"}, "expect_count": 3})
    assert [outcome["status"] for outcome in again.json["outcomes"]] == [202] * 3


async def test_lists(house):
    ids = [await house.submitted(type=type) for type in ("a", "b", "a")]
    first = await house("GET", "/v1/jobs?limit=2")
    rest = await house("GET", f"/v1/jobs?limit=2&cursor={first.json['next_cursor']}")
    assert [item["job_id"] for item in first.json["items"] + rest.json["items"]] == ids[::-1]
    assert len((await house("GET", "/v1/jobs?type=a&state=accepted")).json["items"]) == 2
    assert (await house("GET", "/v1/jobs?state=odd")).code == "bad_query"
    assert (await house("GET", "/v1/jobs?created_after=yesterday")).code == "bad_query"
    assert (await house("GET", "/v1/jobs?created_before=2020-01-01T00:00:00Z")).json["items"] == []


async def test_a_claim_waits_for_a_job(house):
    import anyio

    got = []

    async def wait():
        claim = {"worker": "w", "types": ["t"], "limit": 1, "wait_seconds": 20}
        got.append(await house("POST", "/v1/jobs:claim", claim))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        id = await house.submitted()
    assert got[0].json["jobs"][0]["job_id"] == id


async def test_a_claim_is_repeated_under_its_key(house):
    await house.submitted()
    await house.submitted()
    claim = {"worker": "w", "types": ["t"], "limit": 1}
    first = await house("POST", "/v1/jobs:claim", claim, idempotency_key="c-1")
    again = await house("POST", "/v1/jobs:claim", claim, idempotency_key="c-1")
    assert [job["fence"] for job in again.json["jobs"]] == [job["fence"] for job in first.json["jobs"]]
    empty = {"worker": "w", "types": ["none"], "limit": 1}
    assert (await house("POST", "/v1/jobs:claim", empty, idempotency_key="c-2")).json == {"jobs": []}


async def test_scopes(dsn, workspace):
    async with Pool(dsn, size=2) as pool:
        house = await House(Single(pool), workspace).enter(("jobs:read",))
        assert (await house("POST", "/v1/jobs", {"type": "t"})).code == "missing_scope"
        assert (await house("POST", "/v1/jobs:claim", {"worker": "w", "types": ["t"]})).code == "missing_scope"
        assert (await house("GET", "/v1/jobs")).status == 200
