"""The one flow of every request, over toy routes."""

from __future__ import annotations

import asyncio

import pytest

from tests.web.toy import Client, World


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def call(world: World) -> Client:
    return Client(world.doors())


async def test_a_put_creates_and_a_get_reads_the_same_bytes(call, world):
    made = await call("PUT", "/v1/things/a/b", b' {"x": 1.10} ', if_none_match="*")
    assert (made.status, made.json, made.headers["etag"], made.headers["revision"]) == (
        201,
        {"revision": 1},
        '"1"',
        "1",
    )
    got = await call("GET", "/v1/things/a/b")
    assert (got.status, got.body, got.headers["etag"]) == (200, b' {"x": 1.10} ', '"1"')
    assert got.headers["cache-control"] == "no-store, no-transform"
    assert [(seen.route, seen.status) for seen in world.seen] == [
        ("/v1/things/{name:path}", 201),
        ("/v1/things/{name:path}", 200),
    ]


async def test_head_answers_as_get_does_without_the_bytes(call, world):
    world.things["a"] = (7, b"[1]")
    got = await call("HEAD", "/v1/things/a")
    assert (got.status, got.body, got.headers["content-length"], got.headers["etag"]) == (200, b"", "3", '"7"')


async def test_not_modified_has_a_tag_and_no_body(call, world):
    world.things["a"] = (7, b"[1]")
    got = await call("GET", "/v1/things/a", if_none_match='"7"')
    assert (got.status, got.body, got.headers["etag"]) == (304, b"", '"7"')
    assert "content-length" not in got.headers


@pytest.mark.parametrize(
    "headers,status,code",
    [
        ({}, 428, "condition_required"),
        ({"if_match": "*"}, 428, "condition_inexact"),
        ({"if_match": '"1", "2"'}, 428, "condition_inexact"),
        ({"if_match": 'W/"1"'}, 412, "condition_false"),
        ({"if_match": '"x"'}, 412, "condition_false"),
        ({"if_match": "1"}, 400, "bad_header"),
        ({"if_match": '"9"'}, 412, "condition_false"),
        ({"if_none_match": '"1"'}, 428, "condition_inexact"),
        ({"if_none_match": "*"}, 412, "condition_false"),
        ({"if_match": '"1"', "if_none_match": "*"}, 428, "condition_inexact"),
        ({"if_match": '"1"', "fence": '"lock:a";fence=1'}, 400, "bad_header"),
        ({"if_match": '"1"', "idempotency_key": "a b"}, 400, "bad_header"),
    ],
)
async def test_a_condition_that_does_not_hold_changes_nothing(call, world, headers, status, code):
    world.things["a"] = (1, b"[1]")
    got = await call("PUT", "/v1/things/a", b"[2]", **headers)
    assert (got.status, got.code) == (status, code)
    assert world.things["a"] == (1, b"[1]")


async def test_a_name_that_is_none_is_missing_to_readers_and_refused_to_writers(call):
    for name in ("..", "a//b", "%00", "a/%2e%2e", "%ff", "%zz", ""):
        assert (await call("GET", f"/v1/things/{name}")).json == (await call("GET", "/v1/things/none")).json
        assert (await call("PUT", f"/v1/things/{name}", b"1", if_none_match="*")).code == "bad_name"


async def test_missing_foreign_and_malformed_ids_answer_alike(call):
    paths = [
        "/v1/jobs/0198aaaa-0000-7000-8000-000000000000", "/v1/jobs/x", "/v1/jobs/a%2Fb", "/v1/jobs/a/b", "/v1/nothing",
        "/v1/jobs/0198aaaa-0000-7000-8000-00000000000%00",
    ]  # fmt: skip
    answers = [await call("GET", path) for path in paths]
    assert {answer.status for answer in answers} == {404}
    assert len({answer.body for answer in answers}) == 1
    assert len({tuple(answer.headers.items()) for answer in answers}) == 1


async def test_an_encoded_slash_is_no_part_of_an_id(call):
    assert (await call("POST", "/v1/boxes/a%2Fb/free")).code == "not_found"
    assert (await call("POST", "/v1/boxes/a%40b/free")).status == 200


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer ", "Basic anna", "Bearer nobody", "Bearer " + "x" * 300, "anna"]
)
async def test_without_a_valid_key_nothing_is_told(world, authorization):
    call = Client(world.doors(), key=None)
    for path in ("/v1/things/a", "/v1/nothing", "/v1/jobs/%00"):
        got = await call("GET", path, **({"authorization": authorization} if authorization else {}))
        assert (got.status, got.code, got.headers["www-authenticate"]) == (401, "no_valid_key", "Bearer")
    assert not world.played


async def test_scope_is_tested_before_anything_is_read(world):
    call = Client(world.doors(), key="rita")
    got = await call("PUT", "/v1/things/..", b"\xff" * 2000, content_type="text/plain", fence="nonsense")
    assert (got.status, got.code, got.json["scope"]) == (403, "missing_scope", "things:write")


async def test_size_is_tested_before_type_and_syntax(call, world):
    got = await call("PUT", "/v1/things/..", b"x" * 1001, content_type="text/plain", content_length="1001")
    assert (got.status, got.code, got.json["bytes_max"]) == (413, "too_large", 1000)
    got = await call("PUT", "/v1/things/a", pieces=[b"x" * 600, b"x" * 600], if_none_match="*")
    assert (got.status, got.code, got.json["bytes_max"]) == (413, "too_large", 1000)
    got = await call("PUT", "/v1/things/a", pieces=[b"[", b"]"], ends=False, if_none_match="*")
    assert (got.status, got.code) == (400, "truncated_body")
    assert not world.things


async def test_types_and_codings_that_are_not_taken(call):
    assert (
        await call("PUT", "/v1/things/a", b"1", content_type="text/plain", if_none_match="*")
    ).code == "unsupported_media_type"
    assert (
        await call("PUT", "/v1/things/a", b"1", content_encoding="gzip", if_none_match="*")
    ).code == "unsupported_coding"
    assert (
        await call("PUT", "/v1/things/a", b"1", content_type="Application/JSON; charset=utf-8", if_none_match="*")
    ).status == 201
    assert (await call("POST", "/v1/boxes/a/free", b"{}")).code == "unexpected_body"


@pytest.mark.parametrize(
    "body,pointer",
    [
        (b'{"size": 1, "seize": 2}', "/seize"),
        (b"{}", "/size"),
        (b'{"size": "1"}', "/size"),
        (b'{"size": 1.5}', "/size"),
        (b"[]", ""),
        (b"null", ""),
    ],
)
async def test_a_member_that_is_wrong_is_pointed_at(call, body, pointer):
    got = await call("POST", "/v1/things:make", body, idempotency_key="k")
    assert (got.code, got.json["pointer"]) == ("bad_member", pointer)
    assert "`" not in got.json["detail"]


@pytest.mark.parametrize(
    "body", [b"{", b"NaN", b'{"size": 1, "size": 2}', b"\xef\xbb\xbf{}", b'{"a": "\xff"}', b"[" * 200 + b"]" * 200]
)
async def test_a_body_that_is_no_exact_json_says_where(call, body):
    got = await call("POST", "/v1/things:make", body, idempotency_key="k")
    assert (got.status, got.code) == (400, "bad_json")
    assert isinstance(got.json["position"], int)


async def test_a_members_bytes_stay_exact(call):
    got = await call("POST", "/v1/things:make", b'{"size": 1, "note": [1.10,  1e400]}', idempotency_key='"k"')
    assert got.status == 201
    assert b'"note":[1.10,  1e400]' in got.body
    assert (got.headers["operation-id"], got.headers["x-said"]) == ("k", "7")


async def test_making_something_needs_an_operation_id(call, world):
    assert (await call("POST", "/v1/things:make", b'{"size": 1}')).code == "key_required"
    assert not world.played


async def test_a_method_that_is_not_there_names_those_that_are(call):
    got = await call("DELETE", "/v1/things")
    assert (got.status, got.code, got.headers["allow"]) == (405, "method_not_allowed", "GET, HEAD")


@pytest.mark.parametrize(
    "search,code",
    [("a=1", "unknown_parameter"), ("limit=0", "bad_query"), ("limit=x", "bad_query"), ("limit=1&limit=2", "bad_query"),
     ("limit", "bad_query"), ("prefix=%ff", "bad_query"), ("cursor=abc", "bad_cursor")],
)  # fmt: skip
async def test_a_query_that_is_wrong_is_refused(call, search, code):
    assert (await call("GET", f"/v1/things?{search}")).code == code


async def test_a_list_pages_with_a_link(call, world):
    world.things |= {"a": (1, b""), "b": (1, b""), "c": (1, b"")}
    first = await call("GET", "/v1/things?limit=2")
    assert [item["name"] for item in first.json["items"]] == ["a", "b"]
    cursor = first.json["next_cursor"]
    assert first.headers["link"] == f'</v1/things?limit=2&cursor={cursor}>; rel="next"'


async def test_an_operator_names_the_workspace(world):
    call = Client(world.doors(), key="olga")
    world.things["a"] = (1, b"[]")
    assert (await call("GET", "/v1/things/a")).code == "workspace_required"
    assert (await call("GET", "/v1/things/a?workspace=acme")).status == 200
    assert (await call("GET", "/v1/things/a?workspace=other")).code == "not_found"
    assert (await call("POST", "/v1/houses")).json == {"workspace": "~house", "subject": "olga"}


async def test_a_key_reaches_no_other_workspace_by_naming_it(call, world):
    world.things["a"] = (1, b"[]")
    assert (await call("GET", "/v1/things/a?workspace=acme")).status == 200
    assert (await call("GET", "/v1/things/a?workspace=other")).json == (await call("GET", "/v1/things/none")).json


async def test_what_was_not_foreseen_is_logged_and_not_shown(call, world):
    world.fail = RuntimeError("select secret from psycopg")
    got = await call("GET", "/v1/things/a")
    assert (got.status, got.code) == (500, "internal")
    assert b"psycopg" not in got.body
    (error, facts) = world.alarms[0]
    assert error is world.fail
    assert facts["request_id"] == got.json["request_id"]


async def test_trouble_that_is_known_has_its_own_code(call, world):
    world.fail = OSError("no route to 10.0.0.1")
    got = await call("GET", "/v1/things/a")
    assert (got.status, got.code) == (503, "unavailable")
    assert not world.alarms


async def test_what_takes_too_long_is_ended_and_its_outcome_unknown(call, world):
    world.stall = asyncio.Event()
    for method, target, headers, code in (
        ("GET", "/v1/things/a", {}, "unavailable"),
        ("PUT", "/v1/things/a", {"if_none_match": "*", "idempotency_key": "op"}, "outcome_unknown"),
    ):
        task = asyncio.ensure_future(call(method, target, b"1" if method == "PUT" else b"", **headers))
        while len(world.played) == 0:
            await asyncio.sleep(0)
        world.played.clear()
        assert world.flights.end_overdue(asyncio.get_running_loop().time() + 61) == 1
        got = await task
        assert got.code == code
    assert got.json["operation_id"] == "op"
    assert len(world.flights) == 0
