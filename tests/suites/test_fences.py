"""A grant that nobody holds, named at every door that changes something: the change is refused, and not made."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from steadhold import access
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures
from tests.suites.doors import JOB, ROUTES, SEALING_KEY, headers, name_of, target, told
from tests.suites.things import EVER, HAPPENED, SUBSCRIPTION, now

pytestmark = pytest.mark.journeys

NOBODYS = '"lock:nobodys";fence=7'
CHANGES = [route for route in ROUTES if route.method != "GET"]
DIGEST = f"sha256:{'0' * 64}"
ARTIFACT = {"reference": "r", "version": "1", "hash": DIGEST}
DONE = {"state": "completed", "result": 1}
CONSUMER = "POST /v1/inboxes/{inbox}/consumers/{name}"
EFFECT = "/v1/effects/{id}"
PLANNED = {"effect_id": "planned", "kind": "k", "target": "t", "request_digest": DIGEST, "repeatable": False}
BODIES = {
    "POST /v1/aggregates/{id}/events": HAPPENED,
    "PUT /v1/aggregate-types/{type}": {"states": ["a"], "edges": []},
    "POST /v1/approvals": {"artifact": ARTIFACT, "action": "a", "title": "t", "expires_in_seconds": 60},
    "POST /v1/approvals/{id:uuid}/use": {**ARTIFACT, "use_id": "u"},
    "POST /v1/approvals/{id:uuid}/verify": ARTIFACT,
    "POST /v1/approvals/{id:uuid}/votes": {"decision": "approve", "hash": DIGEST},
    "POST /v1/commits": {"apply": [{"op": "jobs.submit", "type": "t"}]},
    "POST /v1/context:move": {"from": "a", "to": "b"},
    "POST /v1/effects": {**PLANNED, "effect_id": "another"},
    f"POST {EFFECT}/outcome": {"execution": "failed"},
    f"POST {EFFECT}/reconcile": {"outcome": "failed", "evidence_ref": "r"},
    f"POST {EFFECT}/settlement": {"to": "settled"},
    "POST /v1/fences/{resource}": {"fence": 1},
    "POST /v1/inboxes/{inbox}/doors": {"scheme": "github"},
    "POST /v1/inboxes/{inbox}/events": {"type": "t", "data": 1},
    f"{CONSUMER}/acknowledge": {"epoch": "e", "sequence": 1},
    f"{CONSUMER}/lease": {"owner": "a", "lease_seconds": 60},
    f"{CONSUMER}/renew": {"fence": 1},
    f"{CONSUMER}/release": {"fence": 1},
    "POST /v1/jobs": {"type": "t"},
    "POST /v1/jobs:batch": {"items": [{"type": "t"}]},
    "POST /v1/jobs:cancel": {"filter": {}},
    "POST /v1/jobs:claim": {"worker": "w", "types": ["t"]},
    "POST /v1/jobs:heartbeat": {"items": [{"job_id": JOB, "fence": 1}]},
    "POST /v1/jobs:retry": {"filter": {}},
    "POST /v1/jobs:settle": {"items": [{"job_id": JOB, "fence": 1, "outcome": DONE}]},
    "PUT /v1/jobs/{id:uuid}/checkpoints/{stage}": {"fence": 1, "result": 1},
    "POST /v1/jobs/{id:uuid}/heartbeat": {"fence": 1},
    "POST /v1/jobs/{id:uuid}/settle": {"fence": 1, "outcome": DONE},
    "POST /v1/jobs/{id:uuid}/signal": {"name": "go"},
    "POST /v1/journals/{name}/entries": {"entry_id": "e", "amount": "1", "currency": "EUR"},
    "POST /v1/keys": {"subject": "a", "kind": "service", "scopes": ["state:read"]},
    "POST /v1/locks/{name}/acquire": {"owner": "a", "ttl_seconds": 60},
    "POST /v1/locks/{name}/release": {"fence": 1},
    "POST /v1/locks/{name}/renew": {"fence": 1, "ttl_seconds": 60},
    "PUT /v1/schedules/{id}": {"at": "2999-01-01T00:00:00Z", "target": {"job": {"type": "t"}}},
    "POST /v1/schedules/{id}/backfill": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
    "POST /v1/state:batch": {"items": [{"op": "put", "name": "n", "value": 1, "if_none_match": "*"}]},
    "PUT /v1/subscriptions/{id}": SUBSCRIPTION,
    "POST /v1/subscriptions/{id}/replay": EVER,
    "POST /v1/webhooks": {"url": "https://example.com/", "types": ["*"]},
    "POST /v1/webhooks/{id:uuid}/replay": {"since": now()},
}


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False, sealing_key=SEALING_KEY) as made:
        yield made


def everything(house, place):  # noqa: F811
    """How many rows of the workspace each table has, but those of keys."""
    with house.connect() as conn:
        tables = conn.execute(
            "select table_name from information_schema.columns where table_schema = 'steadhold'"
            " and column_name = 'workspace' and table_name !~ '^key' order by 1"
        ).fetchall()
        return {
            name: conn.execute(f"select count(*) from steadhold.{name} where workspace = %s", [place]).fetchone()
            for (name,) in tables
        }


def archive():
    """A file, as an import takes it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        entry = tarfile.TarInfo("a")
        entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))
    return made.getvalue()


def each_of(got):
    """An import answers for each of its files as if it had been sent alone."""
    [file] = got.json()["files"]
    return file["status"], file["code"]


def test_no_change_is_made_under_a_grant_that_is_not_current(running, house, place, key):  # noqa: F811
    with (
        running.client(key) as mine,
        running.client(key_in(house, access.HOUSE, kind="operator"), params={"workspace": place}) as operator,
    ):
        mine.post("/v1/effects", json=PLANNED).raise_for_status()
        before, answers = everything(house, place), {}
        for route in CHANGES:
            client = operator if route.scope == "entitlements:write" else mine
            made = {"fence": NOBODYS}
            if {"if-none-match", "if-match"} & {*route.headers} == {"if-none-match"}:
                made["if-none-match"] = "*"
            body = json.dumps(BODIES.get(name_of(route), {})).encode() if route.body != "none" else b""
            if route.path == "/v1/context:import":
                made["content-type"], body = "application/x-tar", archive()
            path = target(route, id="planned") if EFFECT in route.path else target(route)
            got = client.request(route.method, path, content=body, headers=headers(route, **made))
            answers[name_of(route)] = each_of(got) if "import" in route.path else told(got)
    assert {name: answer for name, answer in answers.items() if answer != (409, "stale_fence")} == {}
    assert len(answers) >= 80
    assert everything(house, place) == before
