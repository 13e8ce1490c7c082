"""Another workspace's things, at every door of a real server: as if there were nothing."""

from __future__ import annotations

import json

import pytest

from steadhold.kit.ids import new_id
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures
from tests.suites.doors import JOB, ROUTES, SEALING_KEY, headers, name_of, target
from tests.suites.things import (
    EVER,
    HAPPENED,
    SUBSCRIPTION,
    now,
    things_of_effects,
    things_of_events,
    things_of_webhooks,
)

pytestmark = pytest.mark.journeys


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False, sealing_key=SEALING_KEY) as made:
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
        ids = {"name": "secret", "type": "theirs", "key_id": made["key_id"], "stage": "s"}
        ids |= {"inbox": "secret", "key": "secret"}
        of = {"operations": "theirs", "approvals": asked, **things_of_events(owner), **things_of_webhooks(owner)}
        of |= things_of_effects(owner)
        door = {"scheme": "github"}, {"idempotency-key": new_id()}
        ids["door"] = owner.post("/v1/inboxes/secret/doors", json=door[0], headers=door[1]).json()["door_id"]

        def theirs_at(route):
            return ids | {"id": of.get(route.path.split("/")[2], job)}

        def everything():
            reads = [route for route in ROUTES if route.method == "GET" and "text/event-stream" not in route.answers]
            paths = [target(route, **theirs_at(route)) for route in reads]
            paths = [f"{path}?state=pending" if path == "/v1/publications" else path for path in paths]
            return {path: owner.get(path).content for path in paths if "audit" not in path and path != "/v1/keys"}

        yield theirs_at, held["fence"], everything


def without_echo(text, which):
    """An answer without what it repeats of the address that was asked."""
    return text.replace(which["id"], "…").replace("consumer:{inbox}/{name}".format(**which), "…")


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
    "POST /v1/journals/{name}/entries",
    "PUT /v1/private-prefixes/state/{prefix:path}",
    "PUT /v1/private-prefixes/context/{prefix:path}",
}


def test_another_workspaces_things_are_missing_at_every_door(mine, theirs):
    """What is asked about theirs is answered as about nothing, byte for byte, and theirs stays as it was."""
    theirs_at, fence, everything = theirs
    before = everything()
    none = dict.fromkeys(("name", "type", "key_id", "inbox", "key"), "absent") | {"id": JOB, "door": JOB, "stage": "s"}
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
        "POST /v1/effects/{id}/outcome": {"execution": "failed"},
        "POST /v1/effects/{id}/settlement": {"to": "settled"},
        "POST /v1/effects/{id}/reconcile": {"outcome": "failed", "evidence_ref": "mine"},
        "POST /v1/aggregates/{id}/events": HAPPENED,
        "PUT /v1/aggregate-types/{type}": {"states": ["mine"], "edges": []},
        "PUT /v1/subscriptions/{id}": SUBSCRIPTION,
        "POST /v1/subscriptions/{id}/replay": EVER,
        "POST /v1/inboxes/{inbox}/events": {"type": "t", "data": 1},
        "POST /v1/inboxes/{inbox}/consumers/{name}/acknowledge": {"epoch": "e", "sequence": 1, "fence": 1},
        "POST /v1/inboxes/{inbox}/consumers/{name}/lease": {"owner": "mine", "lease_seconds": 60},
        "POST /v1/inboxes/{inbox}/consumers/{name}/renew": {"fence": 1},
        "POST /v1/inboxes/{inbox}/consumers/{name}/release": {"fence": 1},
        "POST /v1/inboxes/{inbox}/doors": {"scheme": "github"},
        "POST /v1/webhooks/{id:uuid}/replay": {"since": now()},
        "POST /v1/schedules/{id}/backfill": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
    }
    asked = 0
    for route in ROUTES:
        if "{" not in route.path or name_of(route) in MADE_BY_NAME:
            continue
        body = json.dumps(bodies.get(name_of(route), {})).encode() if route.body != "none" else b""
        here, absent = theirs_at(route), dict(none)
        if here["id"] == "theirs":
            absent["id"] = "nobodys"
        if "deliveries_pruned" in route.problems:
            absent["id"] = new_id()  # an old one would be answered as one that is not kept any more
        answers = [
            mine.request(route.method, target(route, **which), content=body, headers=headers(route))
            for which in (here, absent)
        ]
        assert [got.status_code for got in answers] in [[status, status] for status in (404, 409, 412)], (
            name_of(route),
            answers[0].text,
        )
        shown = [without_echo(got.text, which) for got, which in zip(answers, (here, absent), strict=True)]
        assert shown[0] == shown[1], name_of(route)
        assert "secret" not in shown[0]
        asked += 1
    assert asked >= 60
    claimed = mine.post("/v1/jobs:claim", json={"worker": "w", "types": ["theirs"]}).json()
    assert claimed["jobs"] == []
    assert everything() == before
