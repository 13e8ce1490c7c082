"""References to context over HTTP: what is told, and to whom."""

from __future__ import annotations

from steadhold import context
from tests.context.desk import refer

ONE = b"what was found"
NAMED, WRONG = refer("a/n", 1, ONE), refer("a/n", 2, ONE)


async def written(house):
    await house.player.play(context.put.call(house.workspace, "a/n", ONE, None))


async def test_what_is_given_and_said_is_shown(house):
    await house.enter(("jobs:*", "context:read:a"))
    await written(house)
    job = await house.claimed(input_ref=NAMED, inputs=[NAMED, "s3://other"])
    assert (job["input_ref"], job["inputs"]) == (NAMED, [NAMED, "s3://other"])
    at = f"/v1/jobs/{job['job_id']}"
    stage = {"fence": job["fence"], "result_ref": NAMED}
    assert (await house("PUT", f"{at}/checkpoints/s", stage)).json["result_ref"] == NAMED
    assert (await house.settled(job, state="completed", result_ref=NAMED)).status == 200
    shown = (await house("GET", at)).json
    assert (shown["result_ref"], shown["input_ref"], shown["inputs"]) == (NAMED, NAMED, [NAMED, "s3://other"])
    told = await house("GET", f"{at}/result")
    assert (told.status, told.json["result_ref"]) == (404, NAMED)


async def test_what_is_not_there_is_refused_and_named(house):
    await house.enter(("jobs:*", "context:read"))
    await written(house)
    job = await house.claimed()
    at = f"/v1/jobs/{job['job_id']}"
    answers = [
        await house("POST", "/v1/jobs", {"type": "t", "input_ref": WRONG}),
        await house("POST", "/v1/jobs", {"type": "t", "inputs": [NAMED, WRONG]}),
        await house("PUT", f"{at}/checkpoints/s", {"fence": job["fence"], "result_ref": WRONG}),
        await house.settled(job, state="completed", result_ref=WRONG),
    ]
    assert [(got.status, got.code, got.json["reference"]) for got in answers] == [(422, "unknown_reference", WRONG)] * 4
    malformed = await house("POST", "/v1/jobs", {"type": "t", "input_ref": "context:a/n"})
    assert malformed.code == "unknown_reference"
    assert "context:<path>@<revision>#sha256:<hex>" in malformed.json["detail"]
    many = await house("POST", "/v1/jobs:batch", {"items": [{"type": "t", "input_ref": WRONG}, {"type": "t"}]})
    assert [item["status"] for item in many.json["outcomes"]] == [422, 202]
    one = {"job_id": job["job_id"], "fence": job["fence"], "outcome": {"state": "completed", "result_ref": WRONG}}
    assert (await house("POST", "/v1/jobs:settle", {"items": [one]})).json["outcomes"][0]["code"] == "unknown_reference"
    assert (await house("GET", at)).json["state"] == "running"


async def test_nobody_refers_to_what_its_key_may_not_read(house):
    """A reference is no way to keep, or to find out about, files of others."""
    await written(house)
    job = await house.claimed()
    await house.enter(("jobs:*", "context:read:b"))
    at, fence = f"/v1/jobs/{job['job_id']}", job["fence"]
    asks = [
        ("POST", "/v1/jobs", {"type": "t", "input_ref": NAMED}),
        ("POST", "/v1/jobs:batch", {"items": [{"type": "t", "inputs": [NAMED]}]}),
        ("PUT", f"{at}/checkpoints/s", {"fence": fence, "result_ref": NAMED}),
        ("POST", f"{at}/settle", {"fence": fence, "outcome": {"state": "completed", "result_ref": NAMED}}),
    ]
    for method, target, body in asks:
        got = await house(method, target, body)
        assert (got.status, got.code, got.json["scope"]) == (403, "missing_scope", "context:read")
