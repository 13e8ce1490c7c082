"""What openapi.json says is true: schemathesis makes requests of it, fitting ones and others, to the real server."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from steadhold.kit.ids import new_id
from tests.faults.servers import house, key_in, server  # noqa: F401 - fixtures
from tests.suites.doors import SEALING_KEY
from tests.suites.things import things_of_events, things_of_webhooks

pytestmark = pytest.mark.journeys
EXAMPLES = 6
SCHEDULE = {"at": "2999-01-01T00:00:00Z", "target": {"job": {"type": "t"}}}
described = json.loads((Path(__file__).parents[2] / "openapi.json").read_text(encoding="utf-8"))
schema = schemathesis.openapi.from_dict(described)


@schemathesis.serializer("application/jose", "application/x-tar")
def as_it_is(_context, value):
    """Bodies that are bytes of a kind of their own."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False, sealing_key=SEALING_KEY) as made:
        yield made
        assert "Traceback" not in made.said()


@pytest.fixture(scope="module")
def seen(running, house):  # noqa: F811
    """How many answers of each class came, over all doors; a run that only hears errors proves nothing."""
    statuses = Counter()
    yield statuses
    fiftieth = statuses.total() / 50  # doors are shared out to processes, so their number is not known
    assert statuses[2] >= fiftieth
    assert statuses[4] >= fiftieth


@pytest.fixture(scope="module")
def key(house):  # noqa: F811
    return key_in(house, house.new_workspace())


@pytest.fixture(scope="module")
def things(running, key):
    """One of each thing that doors are about, by the beginning of their addresses."""
    with running.client(key) as client:
        new = lambda: {"idempotency-key": new_id()}  # noqa: E731
        made = {"if-none-match": "*", "content-type": "application/json"}
        artifact = {"reference": "r", "version": "1", "hash": f"sha256:{'0' * 64}"}
        question = {"artifact": artifact, "action": "a", "title": "t", "expires_in_seconds": 3_600}
        client.put("/v1/schedules/known", json=SCHEDULE, headers=made).raise_for_status()
        client.put("/v1/job-types/known", json={}, headers=made).raise_for_status()
        client.put("/v1/state/known", content=b"1", headers=made).raise_for_status()
        client.post("/v1/locks/known/acquire", json={"owner": "a", "ttl_seconds": 3_600}).raise_for_status()
        ids = things_of_events(client) | things_of_webhooks(client)
        job = client.post("/v1/jobs", json={"type": "known"}, headers=new()).json()["job_id"]
        approval = client.post("/v1/approvals", json=question, headers=new()).json()["approval_id"]
        door = client.post("/v1/inboxes/secret/doors", json={"scheme": "github"}, headers=new()).json()["door_id"]
        return {
            "/v1/schedules/{id}": {"id": "known"}, "/v1/job-types/{type}": {"type": "known"},
            "/v1/state/{name}": {"name": "known"}, "/v1/locks/{name}": {"name": "known"},
            "/v1/inboxes/{inbox}": {"inbox": "secret"}, "/v1/aggregate-types/{type}": {"type": "theirs"},
            "/v1/inboxes/{inbox}/consumers/{name}": {"name": "secret"},
            "/v1/inboxes/{inbox}/doors/{door}": {"door": door},
            "/v1/inboxes/{inbox}/receipts/{key}": {"key": "secret"},
            **{f"/v1/{room}/{{id}}": {"id": id} for room, id in ids.items()},
            "/v1/jobs/{id}": {"id": job},
            "/v1/approvals/{id}": {"id": approval},
        }  # fmt: skip


@schema.parametrize()
@seed(20_261_129)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_every_door_answers_as_described(case, running, key, things, seen):
    endless = case.path.endswith("/stream")  # of what is known it would never end
    if case.method in {"GET", "POST"} and not endless:  # what is replaced or deleted is not known any more
        for address, known in things.items():
            if case.path.startswith(address):
                case.path_parameters |= known
    for members in (case.query, case.body):
        if isinstance(members, dict):
            members.pop("wait_seconds", None)  # nobody waits here
    answer = case.call(base_url=running.url, headers={"authorization": f"Bearer {key}"}, timeout=30)
    seen[answer.status_code // 100] += 1
    assert case.validate_response(answer, checks=list(CHECKS)) is None
