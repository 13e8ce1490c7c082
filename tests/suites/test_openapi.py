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

from tests.faults.servers import house, key_in, server  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys
EXAMPLES = 6
described = json.loads((Path(__file__).parents[2] / "openapi.json").read_text(encoding="utf-8"))
schema = schemathesis.openapi.from_dict(described)
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture(scope="module")
def running(house):  # noqa: F811
    with server(house.dsn, background=False) as made:
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


@schema.parametrize()
@seed(20_261_129)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
def test_every_door_answers_as_described(case, running, key, seen):
    for members in (case.query, case.body):
        if isinstance(members, dict):
            members.pop("wait_seconds", None)  # nobody waits here
    answer = case.call(base_url=running.url, headers={"authorization": f"Bearer {key}"}, timeout=30)
    seen[answer.status_code // 100] += 1
    assert case.validate_response(answer, checks=list(CHECKS)) is None
