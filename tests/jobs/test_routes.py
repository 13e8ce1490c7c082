"""jobs through the doors: what a worker and who steers is answered, and what is refused."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.kit import limits
from steadhold.play.single import Single
from tests.jobs.house import House

NOBODY = "0198f000-0000-7000-8000-000000000000"


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


ENDS = {"completed": {"result": 1}, "failed": {"error_code": "lost", "class": "permanent"}}


@pytest.mark.parametrize("state", ENDS)
async def test_a_state_shows_its_own_members_and_no_other_s(house, state):
    job = await house.claimed()
    live = (await house("GET", f"/v1/jobs/{job['job_id']}")).json
    assert (live["state"], {"result_ref", "error_code"} & live.keys()) == ("running", set())
    await house.settled(job, state=state, **ENDS[state])
    ended = (await house("GET", f"/v1/jobs/{job['job_id']}")).json
    own = {"completed": "result_ref", "failed": "error_code"}[state]
    assert (ended["state"], {"result_ref", "error_code"} & ended.keys()) == (state, {own})


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
        ({"state": "waiting", "stage": "s", "for": {"effect": "x"}}, 422, "until_required"),
        ({"state": "waiting", "stage": "s", "for": {"inbox": "x", "after": {"epoch": 1}}}, 400, "bad_member"),
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
    assert (await house("GET", "/v1/jobs?created_before=2020-01-01T00:00:00Z")).json["items"] == []


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("state", "broken", "There is no state 'broken'; there are accepted, cancelled, completed, failed, running, w"),
        ("state", "null", "There is no state 'null'"),
        ("type", "a b", "type is an Id. An id holds letters"),
        ("created_after", "yesterday", "created_after is a moment of 1900 to 2999 with its offset"),
        ("created_before", "null", "created_before is a moment"),
        ("created_before", "9999-12-31T23:59:59-05:00", "created_before is a moment"),
    ],
)
async def test_a_filter_that_means_nothing_says_what_it_takes(house, name, text, said):
    refused = await house("GET", f"/v1/jobs?tag=t&{name}={text.replace(' ', '%20')}")
    assert (refused.code, refused.json["parameter"]) == ("bad_query", name)
    assert refused.json["detail"].startswith(said)


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


async def test_a_page_of_stages_ends_with_the_one_that_fills_it(house, monkeypatch):
    monkeypatch.setattr(limits, "STAGES_PAGE_BYTES_MAX", 10)
    job = await house.claimed()
    at = f"/v1/jobs/{job['job_id']}/checkpoints"
    for stage, size in zip("abcdef", (4, 5, 30, 1, 8, 2), strict=True):
        result = "x" * (size - 2) if size > 1 else 1
        assert (await house("PUT", f"{at}/{stage}", {"fence": job["fence"], "result": result})).status == 201
    pages, cursor = [], ""
    while cursor is not None:
        page = (await house("GET", f"{at}?limit=4{cursor and f'&cursor={cursor}'}")).json
        pages.append("".join(item["stage"] for item in page["items"]))
        cursor = page.get("next_cursor")
    assert pages == ["abc", "def"]


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


@pytest.mark.parametrize("type", ["report\n", "report\n\n", "\nreport"])
async def test_an_id_is_one_to_its_end(house, type):
    """A newline behind it makes it none."""
    assert (await house("POST", "/v1/jobs", {"type": type, "input": 1})).code == "bad_member"
