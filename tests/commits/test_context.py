"""Files in a commit: few bytes inline, more by reference, under the same conditions as alone."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest


def put(path, condition=None, **content):
    return {"op": "context.put", "path": path, **content, **(condition or {"if_none_match": "*"})}


def need(path, **condition):
    return {"op": "context.get", "path": path, **condition}


async def test_files_are_written_with_the_rest(house):
    made = await house.commit(
        apply=[
            put("a", text="ü", content_type="text/plain"),
            put("b", base64=base64.b64encode(b"\0\xff").decode()),
            {"op": "state.put", "name": "a", "value": 1, "if_none_match": "*"},
        ]
    )
    assert made.status == 200, made.json
    assert [one["revision"] for one in made.json["apply"]] == [1, 1, 1]
    assert ((await house.ask("GET", "/v1/context/a")).body, (await house.ask("GET", "/v1/context/b")).body) == (
        "ü".encode(),
        b"\0\xff",
    )
    named = (await house.ask("GET", "/v1/context?prefix=a")).json["items"][0]["reference"]
    made = await house.commit(
        require=[need("a", if_match=1), need("c", if_none_match="*")],
        apply=[put("c", reference=named), put("d", text="")],
    )
    assert made.status == 200, made.json
    copied = await house.ask("GET", "/v1/context/c")
    assert (copied.body, copied.headers["content-type"]) == ("ü".encode(), "text/plain")


REFUSED = {
    "a condition": (put("a", {"if_match": 7}, text=""), [], 412, "condition_false"),
    "a file that is not there": (put("c", {"if_match": 1}, text=""), [], 412, "condition_false"),
    "a requirement": (put("c", text=""), [need("a", if_match=7)], 412, "condition_false"),
    "an absence that is required": (put("c", text=""), [need("a", if_none_match="*")], 412, "condition_false"),
    "a reference to nothing": (put("c", reference=f"context:x@1#sha256:{'0' * 64}"), [], 422, "unknown_reference"),
    "a reference that is none": (put("c", reference="x"), [], 400, "bad_member"),
    "nothing said": (put("c"), [], 400, "bad_member"),
    "two things said": (put("c", text="", base64=""), [], 400, "bad_member"),
    "no base64": (put("c", base64="%"), [], 400, "bad_member"),
    "no type": (put("c", text="", content_type="x"), [], 400, "bad_member"),
    "too much": (put("c", text="x" * 65_537), [], 413, "too_large"),
    "no path": (put("../c", text=""), [], 400, "bad_name"),
}


@pytest.mark.parametrize(("item", "require", "status", "code"), REFUSED.values(), ids=REFUSED)
async def test_what_is_refused_changes_nothing(house, item, require, status, code):
    await house.ask("PUT", "/v1/context/a", b"1", if_none_match="*")
    got = await house.commit(require=require, apply=[put("first", text="x"), item])
    assert (got.status, got.code) == (status, code), got.json
    assert [one["path"] for one in (await house.ask("GET", "/v1/context")).json["items"]] == ["a"]


async def test_a_job_relies_on_what_the_commit_itself_outdates(house):
    """Its result, its stage and its input are found before anything is written."""
    await house.ask("PUT", "/v1/context/n", b"1", if_none_match="*")
    named = (await house.ask("GET", "/v1/context?prefix=n")).json["items"][0]["reference"]
    for revision in range(1, 10):
        await house.ask("PUT", "/v1/context/n", b"%d" % revision, if_match=f'"{revision}"')
    job, other = await house.running(), await house.running()
    done = {"op": "jobs.settle", "job_id": job["job_id"], "fence": job["fence"]}
    stage = {"op": "jobs.checkpoint", "job_id": other["job_id"], "stage": "s", "fence": other["fence"]}
    wrong = named.replace("@1", "@99")
    apply = [put("n", {"if_match": 10}, text="x"), {**stage, "result_ref": named}]
    got = await house.commit(apply=[*apply, {**done, "outcome": {"state": "completed", "result_ref": wrong}}])
    assert (got.status, got.code, got.json["index"], got.json["reference"]) == (422, "unknown_reference", 2, wrong)
    assert (await house.ask("GET", f"/v1/jobs/{job['job_id']}")).json["state"] == "running"
    submit = {"op": "jobs.submit", "type": "next", "input_ref": named}
    got = await house.commit(apply=[*apply, {**done, "outcome": {"state": "completed", "result_ref": named}}, submit])
    assert got.status == 200, got.json
    assert (await house.ask("GET", "/v1/context/n?revision=1")).status == 410
    assert (await house.ask("GET", f"/v1/context:resolve?reference={quote(named)}")).body == b"1"
