"""What a tool takes: made of the document that describes its door, so that HTTP, OpenAPI and MCP say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

from steadhold.kit import ids, limits
from steadhold.mcp.table import Tool

Schema: TypeAlias = dict[str, Any]
Place: TypeAlias = Literal["path", "query", "body"]

LIST_ITEMS: Final = 20
"""How many items of a list an agent is given that names no limit."""

_REVISION: Final[Schema] = {"type": "integer", "minimum": 1}
_COMPONENTS: Final = "#/components/schemas/"
_FENCES: Final[Schema] = {
    "type": "array",
    "maxItems": limits.FENCES_MAX,
    "description": "Grants that must still be yours, or nothing is changed.",
    "items": {
        "type": "object",
        "properties": {
            "grant": {"type": "string", "description": "`lock:<name>`, `job:<id>` or `consumer:<inbox>/<name>`."},
            "fence": {"type": "integer", "minimum": 1},
        },
        "required": ["grant", "fence"],
        "additionalProperties": False,
    },
}
_OPERATION: Final[Schema] = {
    "type": "string",
    "pattern": f"^{ids.ID_PATTERN}$",
    "description": "Under one id a change takes effect once; a repeat is told the first answer. Made when left out.",
}
_OFFSET: Final[Schema] = {
    "type": "integer",
    "minimum": 0,
    "description": "`next_offset` of the answer before: go on there.",
}
_EXACT: Final[Schema] = {
    "type": "string",
    "description": "The same as JSON text, kept byte for byte.",
}


@dataclass(frozen=True, slots=True)
class Door:
    """A tool and what it takes: `places` are arguments with the place and the name under which its door has them."""

    tool: Tool
    method: str
    path: str
    schema: Schema
    places: Mapping[str, tuple[Place, str]]
    raw: frozenset[str]
    fields: frozenset[str]
    receipted: bool
    checks: list[Any] = field(default_factory=list[Any])
    """What checks arguments against the schema, once it was needed."""

    @property
    def again(self) -> bool:
        """Whether the same arguments are given the same answer, so that the rest of a long one can be asked for."""
        return self.tool.reads or self.receipted


def doors(tools: tuple[Tool, ...], document: Mapping[str, Any]) -> dict[str, Door]:
    """The doors of tools, by name. What the document does not have is left out: an older server has no such tool."""
    found = (_door(tool, document) for tool in tools)
    return {door.tool.name: door for door in found if door is not None}


def _door(tool: Tool, document: Mapping[str, Any]) -> Door | None:
    method, _, path = tool.does.partition(" ")
    told: Mapping[str, Any] | None = document["paths"].get(path, {}).get(method.lower())
    if told is None:
        return None
    left = {name.lower() for name in tool.leave}
    fields = {one["name"].lower() for one in told["parameters"] if one["in"] == "header"} - left
    arguments = list(_arguments(tool, told, document, left))
    properties = {name: schema for name, _, _, schema, _ in arguments}
    required = [name for name, _, _, _, needed in arguments if needed]
    places: dict[str, tuple[Place, str]] = {name: (place, called) for name, place, called, _, _ in arguments}
    raw = frozenset(name for name, place, _, schema, _ in arguments if place == "body" and not schema.keys() - _TOLD)
    receipted = "idempotency-key" in fields or tool.keyed
    extra, needed = _guards(tool, method, fields, receipted=receipted)
    if tool.content == "json":
        raw |= {"value"}
    properties |= extra | {f"{name}_json": _EXACT for name in raw}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if tool.content == "json":
        schema["oneOf"] = [{"required": ["value"]}, {"required": ["value_json"]}]
    if all_needed := sorted({*required, *needed} - raw):
        schema["required"] = all_needed
    if used := _used(schema, document["components"]["schemas"]):
        schema["$defs"] = used
    return Door(tool, method, path, _at_home(schema), places, raw, frozenset(fields), receipted)


_TOLD: Final = {"description", "title", "default"}


def _arguments(
    tool: Tool, told: Mapping[str, Any], document: Mapping[str, Any], left: set[str]
) -> Iterator[tuple[str, Place, str, Schema, bool]]:
    for one in told["parameters"]:
        name: str = one["name"]
        if one["in"] == "header" or name in left or f"{one['in']}:{name}" in left:
            continue
        schema: Schema = {**one["schema"], **({"description": one["description"]} if "description" in one else {})}
        if schema == {"type": "string"} and one["in"] == "query":
            schema = {"type": ["string", "integer"]}
        if name == "limit":
            schema["default"] = LIST_ITEMS
        yield tool.names.get(name, name), one["in"], name, schema, one.get("required", False)
    if tool.content is not None:
        return
    body = _body(told, document)
    for name, schema in body.get("properties", {}).items():
        if f"body:{name}" not in left and (name not in left or name == "fence"):
            yield name, "body", name, dict(schema), name in body.get("required", ())


def _body(told: Mapping[str, Any], document: Mapping[str, Any]) -> Schema:
    """The members of a body of JSON."""
    for content in told.get("requestBody", {}).get("content", {}).values():
        schema: Schema = content["schema"]
        if reference := schema.get("$ref"):
            return document["components"]["schemas"][reference.removeprefix(_COMPONENTS)]
    return {}


def _guards(tool: Tool, method: str, fields: set[str], *, receipted: bool) -> tuple[Schema, list[str]]:
    """Arguments for what a request says in its header fields, and for how its answer is read; which are needed."""
    found: Schema = {}
    needed: list[str] = []
    if method != "GET" and "if-none-match" in fields:
        found["if_revision"] = {
            **_REVISION,
            "minimum": 0,
            "description": "The revision that you read; 0: there is none.",
        }
        needed += ["if_revision"] * (method == "PUT")
    elif "if-match" in fields:
        found["if_revision"] = {**_REVISION, "description": "Only if it is still at this revision."}
        needed += ["if_revision"] * (method in {"DELETE", "PATCH"})
    elif method == "GET" and "if-none-match" in fields:
        found["unless_revision"] = {**_REVISION, "description": "The revision that you have: answer if it is another."}
    if "fence" in fields:
        found["fences"] = _FENCES
    if receipted:
        found["operation_id"] = _OPERATION
    if tool.content == "json":
        found["value"] = {"description": "The document: any JSON."}
    if tool.content == "bytes":
        found["text"] = {"type": "string", "description": "The file's text, kept as UTF-8."}
        needed.append("text")
    if tool.reads or receipted:
        found["offset"] = _OFFSET
    return found, needed


def _used(schema: Any, components: Mapping[str, Schema]) -> dict[str, Schema]:
    """The schemas that one refers to, and those that these do."""
    found: dict[str, Schema] = {}
    left = [schema]
    while left:
        for name in _references(left.pop()):
            if name not in found:
                found[name] = components[name]
                left.append(components[name])
    return dict(sorted(found.items()))


def _references(schema: Any) -> Iterator[str]:
    for name, each in _parts(schema):
        if name == "$ref":
            yield each.removeprefix(_COMPONENTS)
        else:
            yield from _references(each)


def _parts(schema: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, list):
        yield from (("", each) for each in cast("list[Any]", schema))
    elif isinstance(schema, dict):
        yield from cast("dict[str, Any]", schema).items()


def _at_home(schema: Any) -> Any:
    """The same with references into itself, and without what only OpenAPI has."""
    if isinstance(schema, list):
        return [_at_home(each) for _, each in _parts(cast("list[Any]", schema))]
    if not isinstance(schema, dict):
        return schema
    return {
        name: each.replace(_COMPONENTS, "#/$defs/") if name == "$ref" else _at_home(each)
        for name, each in _parts(cast("dict[str, Any]", schema))
        if name != "discriminator" or "propertyName" not in each
    }
