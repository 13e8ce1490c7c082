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
from steadhold.server import rooms
from steadhold.web.codes import PROBLEMS
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys
JOB = "0198aaaa-0000-7000-8000-000000000000"
ROUTES = [route for route in rooms.routes() if not route.house]
DEEP = b"[" * 500_000 + b"]" * 500_000
INSIDE = (b"Traceback", b"asyncpg", b"psycopg", b"msgspec", b"sqlstate", b".py", b"select ", b"steadhold.")
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
TAKE_JSON = [route for route in ROUTES if route.body == "json"]


def target(route, **params):
    """The address of a route, about something that is not there."""
    values = {"id": JOB, "key_id": "none", "stage": "s", "type": "t", "name": "none"} | params
    path = route.path
    for name, value in values.items():
        for form in (f"{{{name}}}", f"{{{name}:uuid}}", f"{{{name}:path}}"):
            path = path.replace(form, quote(value, safe="/:@~"))
    return path


def headers(route, **more):
    """What a well-formed request to a route has."""
    made = {"content-type": "application/json"} if route.body != "none" else {}
    if route.receipt != "none":
        made["idempotency-key"] = new_id()
    if route.method in {"PUT", "DELETE"} and "if-match" in route.headers:
        made["if-match"] = '"1"'
    return made | more


def told(got):
    """Status and code of a problem that shows nothing of our inside."""
    assert got.headers["content-type"] == "application/problem+json", (got.status_code, got.text[:200])
    problem = got.json()
    assert PROBLEMS[problem["code"]].status == problem["status"] == got.status_code
    assert problem["next"] == PROBLEMS[problem["code"]].next
    assert not [word for word in INSIDE if word in got.content], got.text
    return got.status_code, problem["code"]


def name_of(route):
    return f"{route.method} {route.path}"


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False) as made:
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
    known = {"/v1/jobs:retry": b'{"filter":{},"expect_count":0}', "/v1/jobs": b'{"type":"t"}'}
    body = known.get(route.path, _shortest(route))
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
        "/v1/jobs/{id:uuid}/signal": b'{"name":"go"}',
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


@pytest.fixture
def theirs(running, house):  # noqa: F811
    """Another workspace with one of everything, and its ids."""
    with running.client(key_in(house, house.new_workspace())) as owner:
        json_ = {"content-type": "application/json"}
        owner.put(
            "/v1/state/secret",
            content=b'"secret"',
            headers={"if-none-match": "*", "idempotency-key": "theirs", **json_},
        )
        owner.put("/v1/job-types/theirs", json={}, headers={"if-none-match": "*"}).raise_for_status()
        job = owner.post("/v1/jobs", json={"type": "theirs"}, headers={"idempotency-key": new_id()}).json()["job_id"]
        [held] = owner.post("/v1/jobs:claim", json={"worker": "w", "types": ["theirs"]}).json()["jobs"]
        owner.put(f"/v1/jobs/{job}/checkpoints/s", json={"fence": held["fence"], "result": 1}).raise_for_status()
        made = owner.post(
            "/v1/keys", json={"subject": "a", "kind": "service", "scopes": ["state:read"]},
            headers={"idempotency-key": new_id()},
        ).json()  # fmt: skip
        ids = {"name": "secret", "type": "theirs", "id": job, "key_id": made["key_id"], "stage": "s"}

        def everything():
            reads = [route for route in ROUTES if route.method == "GET"]
            paths = [target(route, **(ids if "operations" not in route.path else {"id": "theirs"})) for route in reads]
            return {path: owner.get(path).content for path in paths if "audit" not in path and path != "/v1/keys"}

        yield ids, held["fence"], everything


MADE_BY_NAME = {"PUT /v1/job-types/{type}", "POST /v1/operations/{id}/abandon"}


def test_another_workspaces_things_are_missing_at_every_door(mine, theirs):
    """What is asked about theirs is answered as about nothing, byte for byte, and theirs stays as it was."""
    ids, fence, everything = theirs
    before = everything()
    none = {"name": "absent", "type": "absent", "id": JOB, "key_id": "absent", "stage": "s"}
    bodies = {
        "PUT /v1/jobs/{id:uuid}/checkpoints/{stage}": {"fence": fence, "result": 2},
        "POST /v1/jobs/{id:uuid}/heartbeat": {"fence": fence},
        "POST /v1/jobs/{id:uuid}/settle": {"fence": fence, "outcome": {"state": "completed", "result": 2}},
        "POST /v1/jobs/{id:uuid}/signal": {"name": "go"},
        "PUT /v1/state/{name:path}": "mine",
    }
    asked = 0
    for route in ROUTES:
        if "{" not in route.path or name_of(route) in MADE_BY_NAME:
            continue
        body = json.dumps(bodies.get(name_of(route), {})).encode() if route.body != "none" else b""
        here, absent = ({"id": "theirs"}, {"id": "nobodys"}) if "operations" in route.path else (ids, none)
        answers = [
            mine.request(route.method, target(route, **which), content=body, headers=headers(route))
            for which in (here, absent)
        ]
        assert [got.status_code for got in answers] in ([404, 404], [409, 409], [412, 412]), (
            name_of(route),
            answers[0].text,
        )
        shown = [got.text.replace(this, "…") for got, this in zip(answers, (ids["id"], JOB), strict=True)]
        assert shown[0] == shown[1], name_of(route)
        assert b"secret" not in answers[0].content
        asked += 1
    assert asked >= 20
    claimed = mine.post("/v1/jobs:claim", json={"worker": "w", "types": ["theirs"]}).json()
    assert claimed["jobs"] == []
    assert everything() == before


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
