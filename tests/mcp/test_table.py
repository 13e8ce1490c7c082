"""The table of tools against the document that describes all doors."""

from __future__ import annotations

import re

import msgspec
import pytest
from jsonschema import Draft202012Validator

from steadhold.commits.ops import APPLY
from steadhold.mcp.doors import doors
from steadhold.mcp.speaker import GUIDE, shown
from steadhold.mcp.table import TOOLS
from steadhold.server import rooms
from steadhold.web import openapi

DOCUMENT = msgspec.json.decode(msgspec.json.encode(openapi.document(rooms.routes(), version="t")))
DOORS = doors(TOOLS, DOCUMENT)
NOT_FOR_AGENTS = (
    r".* /v1/approvals/\{id\}/(votes|revoke)",
    r".* /v1/keys.*",
    r".* /v1/workspaces.*",
    r"PUT /v1/entitlements",
    r".* /v1/(webhooks|webhook-replays|deliveries).*",
    r".* /v1/inboxes/\{inbox\}/doors.*",
    r".* /v1/private-prefixes.*",
    r".* /v1/subscriptions.*",
    r".*restored.*",
)
"""What a person or an operator does: voting, keys, webhooks, doors, private prefixes, restoring."""


def forbidden(does):
    return any(re.fullmatch(pattern, does) for pattern in NOT_FOR_AGENTS)


def plain(path):
    return re.sub(r"\{(\w+):\w+\}", r"{\1}", path)


def test_each_tool_has_its_door():
    assert DOORS.keys() == {tool.name for tool in TOOLS}
    assert len(DOORS) == len(TOOLS)


def test_no_tool_votes_makes_keys_or_opens_a_way_out():
    found = {does for does in (f"{d.method} {d.path}" for d in DOORS.values()) if forbidden(does)}
    assert not found
    assert "approval_vote" not in DOORS
    assert forbidden("POST /v1/approvals/{id}/votes")


def test_no_op_of_a_commit_does_either():
    ops = {name: f"{op.route.method} {plain(op.route.path)}" for name, op in APPLY.items()}
    assert not {name: does for name, does in ops.items() if forbidden(does)}


def test_what_is_kept_from_agents_are_doors_that_there_are():
    """A door that is called otherwise from now on would not be kept from them any more."""
    there = [f"{method.upper()} {path}" for path, ops in DOCUMENT["paths"].items() for method in ops]
    idle = [pattern for pattern in NOT_FOR_AGENTS[:-1] if not any(re.fullmatch(pattern, does) for does in there)]
    assert not idle


@pytest.mark.parametrize("name", sorted(DOORS))
def test_a_tool_is_described_in_full(name):
    door = DOORS[name]
    listed = shown(door)
    Draft202012Validator.check_schema(listed.input_schema)
    text = msgspec.json.encode(listed.input_schema).decode()
    assert "#/components" not in text
    for reference in re.findall(r'"#/\$defs/([^"]+)"', text):
        assert reference in listed.input_schema["$defs"]
    hints = listed.annotations
    assert hints.read_only_hint is door.tool.reads
    assert hints.destructive_hint is door.tool.destroys
    assert not (hints.read_only_hint and hints.destructive_hint)
    assert re.fullmatch(r"[a-z]+(_[a-z]+)?", name)
    assert listed.description.endswith(".")


@pytest.mark.parametrize("name", sorted(DOORS))
def test_a_change_takes_an_operation_id_and_a_reading_none(name):
    door = DOORS[name]
    operation = DOCUMENT["paths"][door.path][door.method.lower()]
    keyed = any(one["name"] == "Idempotency-Key" for one in operation["parameters"]) or door.tool.keyed
    assert door.receipted is keyed
    assert ("operation_id" in door.schema["properties"]) is (keyed or name == "operation_get")
    if door.tool.reads:
        assert not keyed


def test_no_argument_means_two_things():
    for door in DOORS.values():
        places = list(door.places.values())
        assert len(places) == len(set(places)), door.tool.name
        guards = {"if_revision", "unless_revision", "fences", "operation_id", "value", "text", "offset"}
        assert guards & door.places.keys() <= ({"operation_id"} if door.tool.name == "operation_get" else set())


def test_all_tools_together_are_short_enough_to_be_read():
    listed = [shown(door).model_dump(by_alias=True, exclude_none=True) for door in DOORS.values()]
    asked = [{name: one[name] for name in ("name", "description", "inputSchema")} for one in listed]
    assert len(msgspec.json.encode(asked)) < 64 * 1024
    assert len(listed) <= 60
    assert GUIDE.name not in DOORS


def test_a_door_that_an_older_server_does_not_have_is_no_tool():
    older = {**DOCUMENT, "paths": {path: ops for path, ops in DOCUMENT["paths"].items() if path != "/v1/commits"}}
    assert DOORS.keys() - doors(TOOLS, older).keys() == {"commit"}
