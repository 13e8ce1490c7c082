"""Bad input at every door of a real server process: the documented problem, nothing stored, memory flat."""

from __future__ import annotations

import http.client
import json
from urllib.parse import quote

import httpx2
import pytest

from steadhold import access
from steadhold.kit import limits
from steadhold.kit.ids import new_id, uuid7
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures
from tests.suites.doors import JOB, ROUTES, SEALING_KEY, headers, name_of, target, told

pytestmark = pytest.mark.journeys
SPAN = b'{"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}'
DEEP = b"[" * 500_000 + b"]" * 500_000
GROWTH_BYTES_MAX = 64 * 1024 * 1024

BODIES = {
    "an unknown member": (b'{"unknown_member":1}', {(400, "bad_member")}),
    "a list": (b"[]", {(400, "bad_member")}),
    "a number": (b"1", {(400, "bad_member")}),
    "a wrong type in every member": (None, {(400, "bad_member")}),
    "NaN": (b'{"a":NaN}', {(400, "bad_json")}),
    "no JSON": (b"hello", {(400, "bad_json")}),
    "truncated": (b'{"a":', {(400, "bad_json")}),
    "a byte order mark": (b"\xef\xbb\xbf{}", {(400, "bad_json")}),
    "no UTF-8": (b'{"a":"\xff"}', {(400, "bad_json")}),
    "half a pair": (b'{"a":"\\udc00"}', {(400, "bad_json")}),
    "a key twice": (b'{"a":1,"\\u0061":2}', {(400, "bad_json")}),
    "deep": (b'{"a":' + DEEP + b"}", {(400, "bad_json"), (413, "too_large")}),
    "a long number": (b'{"a":' + b"1" * 1_001 + b"}", {(400, "bad_json")}),
    "too large": (b'{"a":"' + b"a" * limits.BODY_BYTES_MAX + b'"}', {(413, "too_large")}),
    "a fault at the end of a megabyte": (b'{"a":[' + b"1," * 500_000 + b"x]}", {(400, "bad_json"), (413, "too_large")}),
    "a second key at the end of a megabyte": (
        b"{" + b",".join(b'"%d":1' % n for n in range(90_000)) + b',"0":1}', {(400, "bad_json"), (413, "too_large")},
    ),
}  # fmt: skip
TAKE_JSON = [route for route in ROUTES if route.body == "json" or route.takes]


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False, sealing_key=SEALING_KEY) as made:
        yield made
        assert "Traceback" not in made.said()


@pytest.fixture
def mine(running, key):  # noqa: F811
    with running.client(key) as made:
        yield made


@pytest.fixture
def ask(running, house, place, mine):  # noqa: F811
    """Send a request to a route, with an operator's key where only that may."""
    with running.client(key_in(house, access.HOUSE, kind="operator"), params={"workspace": place}) as operator:

        def send(route, body, path=None, **more):
            client = operator if route.scope == "entitlements:write" else mine
            return client.request(route.method, path or target(route), content=body, headers=headers(route, **more))

        yield send


@pytest.fixture
def exactly(running, key):  # noqa: F811
    """Send a request whose path is left as it is."""

    def send(method, path, body=b"", **fields):
        conn = http.client.HTTPConnection(*running.listener.getsockname(), timeout=30)
        conn.request(method, path, body, {"authorization": f"Bearer {key}", "host": "x", **fields})
        came = conn.getresponse()
        got = httpx2.Response(came.status, headers=came.getheaders(), content=came.read())
        conn.close()
        return got

    return send


@pytest.fixture
def cost(running):
    """Note the server's processor time; speed itself is a matter of bench."""
    before = running.cpu_seconds()
    yield
    used = (running.cpu_seconds() - before) / len(TAKE_JSON)
    print(f"{used:.4f} s of the server's processor a request")  # noqa: T201 - noted, not judged


@pytest.mark.usefixtures("cost")
@pytest.mark.parametrize("case", BODIES)
def test_bodies_that_are_none_at_every_door(ask, mine, case):
    body, expected = BODIES[case]
    for route in TAKE_JSON:
        members = route.takes.__struct_fields__ if route.takes else ()
        wrong = json.dumps({name: {"not": "this"} for name in members} | {"zz": 1}).encode()
        got = ask(route, wrong if body is None else body)
        assert told(got) in expected, (name_of(route), got.text)
    assert len(TAKE_JSON) >= 15
    assert (mine.get("/v1/jobs").json()["items"], mine.get("/v1/job-types").json()["items"]) == ([], [])


@pytest.mark.parametrize("route", TAKE_JSON, ids=name_of)
def test_types_and_codings_that_are_not_taken(ask, route):
    for type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert told(ask(route, b'{"a":1}', **{"content-type": type})) == (415, "unsupported_media_type")
    for coding in ("gzip", "br", "identity, gzip", "x"):
        assert told(ask(route, b"{}", **{"content-encoding": coding})) == (415, "unsupported_coding")


@pytest.mark.parametrize("route", [route for route in ROUTES if route.receipt == "required"], ids=name_of)
def test_what_makes_something_new_needs_an_operation_id_of_now(mine, route):
    known = {
        "/v1/commits": b'{"apply":[{"op":"jobs.submit","type":"t"}]}',
        "/v1/jobs:retry": b'{"filter":{},"expect_count":0}',
        "/v1/jobs": b'{"type":"t"}',
    }
    body = known.get(route.path, _shortest(route)) if route.body != "none" else b""
    plain = headers(route)
    del plain["idempotency-key"]
    assert told(mine.request(route.method, target(route), content=body, headers=plain)) == (400, "key_required")
    ahead = {"idempotency-key": uuid7(4_000_000_000_000, bytes(10))}
    got = mine.request(route.method, target(route), content=body, headers=plain | ahead)
    assert told(got) == (422, "operation_clock")
    assert "server_time" in got.json()
    for none in ("a/b", "", "é", "a" * 201, '"'):
        got = mine.request(
            route.method, target(route), content=body, headers=plain | {"idempotency-key": none.encode("latin-1")}
        )
        assert told(got) == (400, "bad_header"), none


def _shortest(route):
    bodies = {
        "/v1/keys": b'{"subject":"a","kind":"service","scopes":["state:read"]}',
        "/v1/jobs:batch": b'{"items":[{"type":"t"}]}',
        "/v1/approvals": b'{"artifact":{"reference":"r","version":"1","hash":"sha256:%s"},"action":"a","title":"t",'
        b'"expires_in_seconds":60}' % (b"0" * 64),
        "/v1/jobs/{id:uuid}/signal": b'{"name":"go"}',
        "/v1/schedules/{id}/backfill": SPAN,
        "/v1/subscriptions/{id}/replay": SPAN,
        "/v1/inboxes/{inbox}/doors": b'{"scheme":"github"}',
        "/v1/webhooks": b'{"url":"https://example.com/","types":["*"]}',
        "/v1/webhooks/{id:uuid}/replay": b'{"since":"2026-01-01T00:00:00Z"}',
    }
    return bodies.get(route.path, b"{}")


@pytest.mark.parametrize("route", ROUTES, ids=name_of)
def test_no_door_opens_without_a_key_that_may(running, mine, house, place, route):  # noqa: F811
    body = b"{}" if route.body != "none" else b""
    for header in ("", "Bearer", "Bearer x", "Basic YTpi", "Bearer sh_test_x_y", "Bearer " + "a" * 5_000):
        got = mine.request(route.method, target(route), content=body, headers=headers(route, authorization=header))
        assert told(got) == (401, "no_valid_key"), header
        assert "www-authenticate" in got.headers
    if route.scope:
        room = route.scope.partition(":")[0]
        other = "audit:read" if room != "audit" else "state:read"
        with running.client(key_in(house, place, scopes=(other,))) as poor:
            got = poor.request(route.method, target(route), content=DEEP, headers=headers(route))
            assert told(got) == (403, "missing_scope")


def test_a_revoked_key_opens_no_door(running, mine, house, place):  # noqa: F811
    with running.client(key_in(house, place)) as other:
        assert other.get("/v1/state").status_code == 200
        id = other.headers["authorization"].split("_")[2]
        assert mine.post(f"/v1/keys/{id}/revoke").status_code == 200
        for route in ROUTES:
            body = b"{}" if route.body != "none" else b""
            got = other.request(route.method, target(route), content=body, headers=headers(route))
            assert told(got) == (401, "no_valid_key"), name_of(route)


NAMES = [
    "..",
    ".",
    "a/..",
    "a//b",
    "a/",
    "/a",
    "%00",
    "a%0Ab",
    "a%7Fb",
    "%ff",
    "%C3",
    "e%CC%81",
    "%ED%A0%80",
    "a" * 513,
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none(exactly, name):
    path = f"/v1/state/{name}"
    put = exactly("PUT", path, b"1", **{"if-none-match": "*", "content-type": "application/json"})
    delete = exactly("DELETE", path, **{"if-match": '"1"'})
    assert (told(put), told(delete)) == ((400, "bad_name"), (400, "bad_name"))
    read = exactly("GET", path)
    assert told(read) == (404, "not_found")
    assert read.content == exactly("GET", "/v1/state/none").content


IDS = [
    "x",
    "..",
    "%00",
    "a%2Fb",
    "a%0Ab",
    "%ff",
    JOB.upper(),
    JOB[:-1],
    f"{JOB}0",
    "{" + JOB + "}",
    "é",
    "0",
    "-1",
    "null",
]


@pytest.mark.parametrize("id", IDS)
def test_ids_that_are_none_are_missing(exactly, id):
    missing = exactly("GET", f"/v1/jobs/{JOB}").content
    about_jobs = [route for route in ROUTES if route.path.startswith("/v1/jobs/{id:uuid}")]
    assert len(about_jobs) >= 10
    for route in about_jobs:
        path = target(route).replace(JOB, quote(id, safe="%"))
        got = exactly(route.method, path, b'{"a":1}' if route.body != "none" else b"", **headers(route))
        assert told(got) == (404, "not_found"), name_of(route)
        assert got.content == missing


def test_hostile_bodies_leave_memory_flat(running, mine):
    def hostile():
        for body, _ in BODIES.values():
            mine.post(
                "/v1/jobs",
                content=body or b"",
                headers={"idempotency-key": new_id(), "content-type": "application/json"},
            )
            mine.put(
                "/v1/state/a", content=body or b"", headers={"if-match": '"1"', "content-type": "application/json"}
            )

    hostile()
    before = running.memory_bytes()
    for _ in range(5):
        hostile()
    assert running.memory_bytes() - before < GROWTH_BYTES_MAX
    assert mine.get("/v1/state").status_code == 200
