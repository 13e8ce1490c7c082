"""Another workspace's things, at every door of a real server: as if there were nothing."""

from __future__ import annotations

import json

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures
from tests.suites.doors import JOB, ROUTES, headers, name_of, target

pytestmark = pytest.mark.journeys


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False) as made:
        yield made


@pytest.fixture
def mine(running, key):  # noqa: F811
    with running.client(key) as made:
        yield made


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
        owner.put(f"/v1/schedules/{job}", json=SCHEDULE, headers={"if-none-match": "*"}).raise_for_status()
        made = owner.post(
            "/v1/keys", json={"subject": "a", "kind": "service", "scopes": ["state:read"]},
            headers={"idempotency-key": new_id()},
        ).json()  # fmt: skip
        asked = owner.post("/v1/approvals", json=QUESTION, headers={"idempotency-key": new_id()}).json()["approval_id"]
        lock = {"owner": "a", "ttl_seconds": 3_600}
        owner.post("/v1/locks/secret/acquire", json=lock).raise_for_status()
        ids = {"name": "secret", "type": "theirs", "id": job, "key_id": made["key_id"], "stage": "s"}

        def theirs_at(route):
            return ids | {"id": "theirs" if "operations" in route.path else asked if "approvals" in route.path else job}

        def everything():
            reads = [route for route in ROUTES if route.method == "GET"]
            paths = [target(route, **theirs_at(route)) for route in reads]
            return {path: owner.get(path).content for path in paths if "audit" not in path and path != "/v1/keys"}

        yield theirs_at, held["fence"], everything


QUESTION = {
    "artifact": {"reference": "secret", "version": "1", "hash": f"sha256:{'0' * 64}"},
    "action": "secret", "title": "secret", "expires_in_seconds": 3_600,
}  # fmt: skip
SCHEDULE = {"at": "2999-01-01T00:00:00Z", "target": {"job": {"type": "theirs"}}}
MADE_BY_NAME = {
    "PUT /v1/job-types/{type}",
    "POST /v1/operations/{id}/abandon",
    "POST /v1/locks/{name}/acquire",
    "POST /v1/fences/{resource}",
}


def test_another_workspaces_things_are_missing_at_every_door(mine, theirs):
    """What is asked about theirs is answered as about nothing, byte for byte, and theirs stays as it was."""
    theirs_at, fence, everything = theirs
    before = everything()
    none = {"name": "absent", "type": "absent", "id": JOB, "key_id": "absent", "stage": "s"}
    bodies = {
        "PUT /v1/jobs/{id:uuid}/checkpoints/{stage}": {"fence": fence, "result": 2},
        "POST /v1/jobs/{id:uuid}/heartbeat": {"fence": fence},
        "POST /v1/jobs/{id:uuid}/settle": {"fence": fence, "outcome": {"state": "completed", "result": 2}},
        "POST /v1/jobs/{id:uuid}/signal": {"name": "go"},
        "POST /v1/locks/{name}/renew": {"fence": 1, "ttl_seconds": 3_600},
        "POST /v1/locks/{name}/release": {"fence": 1},
        "POST /v1/approvals/{id:uuid}/votes": {"decision": "approve"},
        "POST /v1/approvals/{id:uuid}/use": {"use_id": "mine"},
        "PUT /v1/state/{name:path}": "mine",
        "PUT /v1/schedules/{id}": SCHEDULE,
        "POST /v1/schedules/{id}/backfill": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
    }
    asked = 0
    for route in ROUTES:
        if "{" not in route.path or name_of(route) in MADE_BY_NAME:
            continue
        body = json.dumps(bodies.get(name_of(route), {})).encode() if route.body != "none" else b""
        here, absent = theirs_at(route), none | ({"id": "nobodys"} if "operations" in route.path else {})
        answers = [
            mine.request(route.method, target(route, **which), content=body, headers=headers(route))
            for which in (here, absent)
        ]
        assert [got.status_code for got in answers] in ([404, 404], [409, 409], [412, 412]), (
            name_of(route),
            answers[0].text,
        )
        shown = [got.text.replace(this, "…") for got, this in zip(answers, (here["id"], absent["id"]), strict=True)]
        assert shown[0] == shown[1], name_of(route)
        assert b"secret" not in answers[0].content
        asked += 1
    assert asked >= 20
    claimed = mine.post("/v1/jobs:claim", json={"worker": "w", "types": ["theirs"]}).json()
    assert claimed["jobs"] == []
    assert everything() == before
