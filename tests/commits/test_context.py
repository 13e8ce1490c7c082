"""Files in a commit: few bytes inline, more by reference, under the same conditions as alone."""

from __future__ import annotations

import base64

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
