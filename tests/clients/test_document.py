"""What openapi.json tells generators: a union they can narrow, one shape for every refusal."""

from __future__ import annotations

import json

from steadhold.server import rooms
from steadhold.web import openapi

DOCUMENT = json.loads(json.dumps(openapi.document(rooms.routes(), version="1")))
SCHEMAS = DOCUMENT["components"]["schemas"]
STATES = ("accepted", "running", "waiting", "completed", "failed", "cancelled")


def test_a_job_is_a_union_by_its_state():
    job = SCHEMAS["Job"]
    mapping = job["discriminator"]["mapping"]
    assert (job["discriminator"]["propertyName"], tuple(mapping)) == ("state", STATES)
    assert [one["$ref"] for one in job["oneOf"]] == list(mapping.values())
    own = {}
    for state, reference in mapping.items():
        shape = SCHEMAS[reference.rpartition("/")[2]]
        assert shape["properties"]["state"] == {"enum": [state]}
        own[state] = {"result_ref", "error_code"} & shape["properties"].keys()
        assert own[state] <= set(shape["required"])
    assert own == {state: set() for state in STATES} | {"completed": {"result_ref"}, "failed": {"error_code"}}


def test_every_door_that_shows_a_job_shows_the_union():
    reference = {"$ref": "#/components/schemas/Job"}
    one = DOCUMENT["paths"]["/v1/jobs/{id}"]["get"]["responses"]["200"]
    many = DOCUMENT["paths"]["/v1/jobs"]["get"]["responses"]["200"]
    assert one["content"]["application/json"]["schema"] == reference
    assert many["content"]["application/json"]["schema"]["properties"]["items"]["items"] == reference


def test_an_event_has_the_fields_of_a_domain_event():
    event = SCHEMAS["DomainEvent"]
    fields = ["event_id", "schema_version", "aggregate_id", "aggregate_revision", "occurred_at", "type", "data_ref"]
    assert event["required"] == fields
    kinds = {name: event["properties"][name]["type"] for name in fields}
    assert kinds == dict.fromkeys(fields, "string") | {"aggregate_revision": "integer"}


def test_every_refusal_is_a_problem():
    for path, doors in DOCUMENT["paths"].items():
        for method, door in doors.items():
            refusals = {status: told for status, told in door["responses"].items() if status >= "400"}
            assert refusals, (method, path)
            assert {told["$ref"] for told in refusals.values()} == {"#/components/responses/Problem"}
            assert all(told["description"] for told in refusals.values())
