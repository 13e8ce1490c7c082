"""The JSON of a commit: its users' values byte for byte, all of it exact, each fault with its place."""

from __future__ import annotations

import pytest

EXACT = [b"9007199254740993", b"1e400", b"1.10", b"-0", b'{"b":1, "a" :2}', b"[ 1 ,\n2]", '"ü\\u0000"'.encode()]


@pytest.mark.parametrize("value", EXACT)
async def test_bytes_are_kept_as_they_came(house, value):
    """The bytes of a value, an input and a result are those of their members."""
    job = await house.running()
    body = b"""{ "apply" : [
      {"value" :  %b , "op":"state.put","name":"exact","if_none_match":"*"},
      {"op":"jobs.submit","type":"t","input": %b},
      {"op":"jobs.settle","job_id":"%b","fence":%d,"outcome":{"state":"completed","result": %b}}
    ] }""" % (value, value, job["job_id"].encode(), job["fence"], value)
    got = await house.ask("POST", "/v1/commits", body)
    assert got.status == 200, got.json
    submitted = got.json["apply"][1]["result"]["job_id"]
    assert (await house.ask("GET", "/v1/state/exact")).body == value
    assert (await house.ask("GET", f"/v1/jobs/{submitted}/input")).body == value
    assert (await house.ask("GET", f"/v1/jobs/{job['job_id']}/result")).body == value


def deep(levels):
    return b"[" * levels + b"]" * levels


async def test_depth_counts_within_a_value(house):
    """A value may be as deep here as on its own route, and no deeper."""
    apply = b'{"apply":[{"op":"state.put","name":"%b","if_none_match":"*","value":%b}]}'
    assert (await house.ask("POST", "/v1/commits", apply % (b"a", deep(128)))).status == 200
    got = await house.ask("POST", "/v1/commits", apply % (b"b", deep(129)))
    assert (got.status, got.json["code"], got.json["pointer"]) == (400, "bad_json", "/apply/0/value")
    assert got.json["position"] == 128
    assert (await house.ask("POST", "/v1/commits", apply % (b"b", deep(9_000)))).json["code"] == "bad_json"


ITEM = b'{"apply":[{"op":"state.put","name":"a","if_none_match":"*","value":%b}]}'
SUBMIT = b'{"apply":[{"op":"jobs.submit","type":"t","input":%b}]}'
BAD = {
    "no JSON": (b"{", None),
    "NaN": (ITEM % b"NaN", None),
    "a key twice in a value": (ITEM % b'{"x":1,"x":2}', "/apply/0/value"),
    "a key twice in an input": (SUBMIT % b'{"x":1,"x":2}', "/apply/0/input"),
    "half a character": (ITEM % b'"\\ud800"', None),
    "no UTF-8": (ITEM % b'"\xff"', "/apply/0/value"),
    "a number too long": (ITEM % (b"1" * 1001), "/apply/0/value"),
    "a list twice": (b'{"apply":[],"apply":[]}', ""),
    "a member twice": (b'{"apply":[{"op":"state.put","name":"a","name":"b","value":1}]}', "/apply/0"),
    "a byte order mark": (b"\xef\xbb\xbf{}", None),
}


ASTRAY = {
    "a path that is none": {"name": "a//b", "if_match": 1},
    "no condition": {"name": "a"},
    "two conditions": {"name": "a", "if_match": 1, "if_none_match": "*"},
}


@pytest.mark.parametrize("how", ASTRAY)
async def test_no_pointer_leads_to_what_is_right(house, how):
    """Where not the value is at fault, but its name or what is said of its revision, the pointer is not its."""
    got = await house.commit(apply=[{"op": "state.put", "value": 1, **ASTRAY[how]}])
    assert (got.status // 100, got.json["index"], "pointer" in got.json) == (4, 0, False)


async def test_a_problem_is_no_longer_than_it_must_be(house):
    got = await house.commit(apply=[{"op": "x" * 1_000_000}])
    assert (got.json["code"], len(got.body) < 2_000) == ("unknown_op", True)


@pytest.mark.parametrize("how", BAD)
async def test_json_is_exact(house, how):
    """What is no exact JSON is refused wherever it stands, and the pointer says where."""
    body, pointer = BAD[how]
    got = await house.ask("POST", "/v1/commits", body)
    assert (got.status, got.json["code"]) == (400, "bad_json"), got.json
    assert got.json.get("pointer") == pointer
    assert (await house.ask("GET", "/v1/state/a")).status == 404
