"""The description of all doors for machines: OpenAPI 3.1, made of the same routes that answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from steadhold.kit import ids, limits
from steadhold.web.ask import Route
from steadhold.web.codes import PROBLEMS
from steadhold.web.guard import guardable
from steadhold.web.problem import MEDIA_TYPE
from steadhold.web.router import PARAM

Schema: TypeAlias = dict[str, Any]

_ID: Final[Schema] = {"type": "string", "pattern": f"^{ids.ID_PATTERN}$"}
_KINDS: Final[Mapping[str, Schema]] = {
    "id": _ID,
    "uuid": {"type": "string", "format": "uuid", "pattern": f"^{ids.UUID_PATTERN}$"},
    "path": {"type": "string", "minLength": 1, "maxLength": limits.PATH_BYTES_MAX},
}
_QUERY: Final[Mapping[str, tuple[Schema, str]]] = {
    "limit": (
        {"type": "integer", "minimum": 1, "maximum": limits.PAGE_ITEMS_MAX, "default": limits.PAGE_ITEMS_DEFAULT},
        "How many items a page holds.",
    ),
    "cursor": ({"type": "string", "maxLength": limits.CURSOR_CHARS_MAX}, "`next_cursor` of the page before."),
    "wait_seconds": (
        {"type": "number", "minimum": 0, "maximum": limits.WAIT_SECONDS_MAX},
        "Hold the answer back until there is news, at most this long.",
    ),
    "prefix": ({"type": "string", "maxLength": limits.PATH_BYTES_MAX}, "Only names under it, by whole segments."),
    "revision": ({"type": "integer", "minimum": 1}, "An older revision that is still kept."),
}
_TAG: Final = '^"[1-9][0-9]{0,17}"$'
_FIELDS: Final[Mapping[str, tuple[str, Schema, str]]] = {
    "if-match": ("If-Match", {"type": "string", "pattern": _TAG}, 'The revision that was read, such as `"42"`.'),
    "if-none-match": (
        "If-None-Match",
        {"type": "string", "pattern": f"^[*]$|{_TAG}"},
        "`*`: it must not exist. On a reading: what the asker has.",
    ),
    "last-event-id": (
        "Last-Event-ID",
        {"type": "string"},
        "The id of the last event that was seen; the next follow it.",
    ),
    "range": ("Range", {"type": "string"}, "One range of bytes, such as `bytes=0-1023`."),
    "if-range": ("If-Range", {"type": "string", "pattern": _TAG}, "The range is of this revision, or all is sent."),
    "fence": ("Fence", {"type": "string"}, 'Grants that must be current, such as `"lock:deploy";fence=3`.'),
}
_KEY: Final[Schema] = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key belongs to a workspace. An operator's key does not, and names one by `?workspace=`.",
}
_COMMON: Final = (
    "bad_header",
    "bad_query",
    "headers_too_large",
    "internal",
    "misdirected_request",
    "no_valid_key",
    "request_timeout",
    "too_many_requests",
    "unavailable",
    "unknown_parameter",
    "uri_too_long",
)
_OF_BODY: Final = (
    "bad_json",
    "bad_member",
    "truncated_body",
    "too_large",
    "unsupported_media_type",
    "unsupported_coding",
)
_PROBLEM: Final[Schema] = {
    "description": "Why the answer is no.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_OF_RECEIPT: Final = (
    "operation_in_flight", "operation_abandoned", "operation_expired", "operation_mismatch", "operation_clock",
)  # fmt: skip


def document(routes: Sequence[Route], *, version: str) -> Schema:
    """Describe all doors."""
    shapes = [shape for route in routes for shape in (route.takes, route.gives) if shape is not None]
    schemas, components = msgspec.json.schema_components(shapes, ref_template="#/components/schemas/{name}")
    of = {id(shape): _named(schema, components) for shape, schema in zip(shapes, schemas, strict=True)}
    paths: dict[str, Schema] = {}
    for route in routes:
        paths.setdefault(PARAM.sub(r"{\1}", route.path), {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "steadhold",
            "version": version,
            "summary": "Durable coordination on PostgreSQL",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "tags": [{"name": tag} for tag in sorted({_tag(route) for route in routes})],
        "paths": dict(sorted(paths.items())),
        "components": {
            "securitySchemes": {"key": _KEY},
            "responses": {"Problem": _PROBLEM},
            "schemas": dict(sorted({**components, "Problem": _problem_schema()}.items())),
        },
    }


def _named(schema: Schema, components: Schema) -> Schema:
    """A union that has a title becomes a component of that name, for generators to name it too."""
    if "discriminator" not in schema or "title" not in schema:
        return schema
    one_of = {"oneOf" if member == "anyOf" else member: told for member, told in schema.items()}
    components[schema["title"]] = one_of
    return {"$ref": f"#/components/schemas/{schema['title']}"}


def _operation(route: Route, of: Mapping[int, Schema]) -> Schema:
    told: Schema = {
        "operationId": _name(route),
        "summary": route.summary,
        "tags": [_tag(route)],
        "parameters": [*_path(route), *_query(route), *_fields(route)],
        "responses": _responses(route, of),
    }
    if route.scope:
        told["description"] = f"Needs the scope `{route.scope}`."
    if route.capability:
        told |= {"description": f"Needs no key: `{route.capability}` is a secret.", "security": []}
    if route.body != "none":
        told["requestBody"] = _body(route, of)
    return told


def _name(route: Route) -> str:
    words = re.sub(r"[{}]", "", PARAM.sub(r"by_\1", route.path)).replace("/v1/", "")
    return f"{route.method.lower()}_{re.sub(r'[^A-Za-z0-9]+', '_', words)}"


def _tag(route: Route) -> str:
    return route.path.split("/")[2].partition(":")[0]


def _path(route: Route) -> Iterable[Schema]:
    for name, kind in PARAM.findall(route.path):
        yield {"name": name, "in": "path", "required": True, "schema": dict(_KINDS[kind or "id"])}


def _query(route: Route) -> Iterable[Schema]:
    for name in route.query:
        schema, told = _QUERY.get(name, ({"type": "string"}, ""))
        yield {"name": name, "in": "query", "schema": dict(schema), **({"description": told} if told else {})}


def _fields(route: Route) -> Iterable[Schema]:
    if route.receipt != "none":
        told = "The operation's id: under one, this takes effect at most once."
        needed = {"required": True} if route.receipt == "required" else {}
        yield {"name": "Idempotency-Key", "in": "header", **needed, "schema": dict(_ID), "description": told}
    for field in (*route.headers, *(("fence",) if guardable(route) else ())):
        name, schema, told = _FIELDS.get(field, (field.title(), {"type": "string"}, ""))
        yield {"name": name, "in": "header", "schema": dict(schema), **({"description": told} if told else {})}


def _body(route: Route, of: Mapping[int, Schema]) -> Schema:
    schema = of.get(id(route.takes), {}) if route.takes is not None else {}
    types = ("application/json",) if route.body == "json" else route.media or ("*/*",)
    return {"required": route.body == "json", "content": {media: {"schema": schema} for media in types}}


def _responses(route: Route, of: Mapping[int, Schema]) -> Schema:
    told: Schema = {str(route.status): _success(route, of)}
    if route.capability or (route.status == 201 and route.receipt == "optional"):  # the second answers what is there
        told["200"] = _success(route, of)
    if route.method == "PUT" and "if-none-match" in route.headers:
        told["201"] = _success(route, of)
    if route.method == "GET" and "if-none-match" in route.headers:
        told["304"] = {"description": "It is what the asker has."}
    by_status: dict[int, list[str]] = {}
    for code in _codes(route):
        by_status.setdefault(PROBLEMS[code].status, []).append(code)
    for status, codes in sorted(by_status.items()):
        told[str(status)] = {
            "$ref": "#/components/responses/Problem",
            "description": ", ".join(f"`{code}`" for code in codes),
        }
    return told


def _success(route: Route, of: Mapping[int, Schema]) -> Schema:
    headers = {
        "ETag": {"schema": {"type": "string"}, "description": "The revision, in quotes."},
        "Revision": {"schema": {"type": "integer"}},
    }
    told: Schema = {"description": route.summary, "headers": headers}
    if route.receipt != "none":
        headers["Operation-Id"] = {"schema": {"type": "string"}}
        headers["Idempotent-Replayed"] = {"schema": {"const": "true"}, "description": "It took effect before."}
    if route.status == 204:
        return told
    schema = of[id(route.gives)] if route.gives is not None else {}
    if route.gives is not None and "cursor" in route.query:
        schema = _page(schema)
        headers["Link"] = {"schema": {"type": "string"}, "description": "The next page, if there is one."}
    return {**told, "content": {media: {"schema": schema} for media in route.answers}}


def _page(item: Schema) -> Schema:
    properties = {"items": {"type": "array", "items": item}, "next_cursor": {"type": ["string", "null"]}}
    return {"type": "object", "properties": properties, "required": ["items", "next_cursor"]}


def _codes(route: Route) -> list[str]:
    codes = [*_COMMON, *route.problems]
    if route.scope:
        codes.append("missing_scope")
    if "{" in route.path:
        codes += ["not_found"]
    codes += _OF_BODY if route.body != "none" else ["unexpected_body"]
    if route.receipt != "none":
        codes += [*_OF_RECEIPT, *(("key_required",) if route.receipt == "required" else ())]
    if route.method != "GET":
        codes += ["outcome_unknown", "busy"]
    if guardable(route):
        codes.append("stale_fence")
    if not route.house:
        codes += ["workspace_required", "not_found"]
    return sorted(set(codes) - ({"no_valid_key", "workspace_required"} if route.capability else set()))


def _problem_schema() -> Schema:
    return {
        "type": "object",
        "description": "Why the answer is no (RFC 9457). Members beyond these depend on `code`; ignore unknown ones.",
        "properties": {
            "type": {"type": "string", "format": "uri-reference"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": sorted(PROBLEMS)},
            "next": {"enum": ["resend", "reread", "wait", "stop"]},
        },
        "required": ["type", "title", "status", "detail", "code", "next"],
        "additionalProperties": True,
    }
