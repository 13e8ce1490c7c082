"""From the arguments of a tool to the one request that its door takes."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, urlencode

import jsonschema
import msgspec

from steadhold.kit import exact, fields, ids, limits
from steadhold.kit.fields import FenceRef
from steadhold.kit.paths import path_fault
from steadhold.mcp.doors import LIST_ITEMS, Door
from steadhold.web.problem import stop

Arguments: TypeAlias = Mapping[str, Any]

_SCHEMAS: Final[Any] = jsonschema  # its types are half told

FAULT_CHARS_MAX: Final = 300
"""How much is told of why arguments do not fit: a message quotes them."""

ITEMS_MAX: Final = 10_000
"""How many items of a list without a limit are looked at."""

FAULTS_MAX: Final = 8
"""How many faults of one list are looked for; one is told."""

TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. `target` is its address as it is sent; `operation_id` is told where a change has one."""

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""
    operation_id: str | None = None
    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """What it is answered. Header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Send: TypeAlias = Callable[[Asked], Awaitable[Answered]]
"""Sends a request to the server, as whoever asks."""


def asked(door: Door, arguments: Arguments) -> Asked:
    """The request that arguments make. Raises Stop where they do not fit what the tool takes."""
    _check_text(arguments)
    _check(door, arguments)
    operation = arguments.get("operation_id") or ids.new_id() if door.receipted else None
    body = _body(door, arguments)
    said = _fields(arguments)
    if operation is not None:
        said["idempotency-key"] = operation
    if body:
        said["content-type"] = TEXT if door.tool.content == "bytes" else "application/json"
    wait = float(arguments.get("wait_seconds", limits.WAIT_SECONDS_MAX if door.tool.while_in else 0))
    return Asked(door.method, _target(door, arguments), said, body, operation, wait)


def _check_text(arguments: Arguments) -> None:
    """Refuse half a surrogate pair, of which neither an address nor a body can be made."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        stop("bad_member", "The arguments hold half of a surrogate pair, which is no text.")
    except RecursionError:
        stop("bad_json", "The arguments are nested too deeply.")


def _check(door: Door, arguments: Arguments) -> None:
    fault = _SCHEMAS.exceptions.best_match(_validator(door).iter_errors(arguments))
    if fault is not None:
        pointer = "".join(f"/{part}" for part in fault.absolute_path)
        stop("bad_member", f"{pointer or 'The arguments'}: {fault.message[:FAULT_CHARS_MAX]}", pointer=pointer)


def _validator(door: Door) -> Any:
    if not door.checks:
        door.checks.append(_Validator(door.schema))
    return door.checks[0]


def _integer(_: Any, value: Any) -> bool:
    """No 1.0, which JSON Schema takes for an integer: an address and a header field would say it as it is written."""
    return isinstance(value, int) and not isinstance(value, bool)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    """A `$` is the end, as JSON Schema has it; Python's would leave a last newline."""
    if isinstance(value, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), value):
        yield _SCHEMAS.ValidationError(f"{value!r} does not match {pattern!r}")


def _items(check: Any, items: Any, value: Any, schema: Any) -> Iterator[Any]:
    """Look at no item of a list that is long, and no further than a few faults: each costs time that all share.

    What is not looked at here, the door refuses.
    """
    if not isinstance(value, list) or len(cast("list[Any]", value)) <= schema.get("maxItems", ITEMS_MAX):
        yield from islice(_DRAFT.VALIDATORS["items"](check, items, value, schema), FAULTS_MAX)


def _members(check: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    """Name one member that nobody knows: a message that lists all of them costs time that all share."""
    if allowed is not False or not isinstance(value, dict):
        yield from islice(_DRAFT.VALIDATORS["additionalProperties"](check, allowed, value, schema), FAULTS_MAX)
        return
    known = schema.get("properties", {})
    unknown = (name for name in cast("dict[str, Any]", value) if name not in known)
    for name in islice(unknown, 1):
        yield _SCHEMAS.ValidationError(f"Additional properties are not allowed ({name!r} was unexpected)")


_DRAFT: Final[Any] = _SCHEMAS.Draft202012Validator
_Validator: Final[Any] = _SCHEMAS.validators.extend(
    _DRAFT,
    {"pattern": _pattern, "items": _items, "additionalProperties": _members},
    type_checker=_DRAFT.TYPE_CHECKER.redefine("integer", _integer),
)


def _target(door: Door, arguments: Arguments) -> str:
    path = door.path
    query: dict[str, str] = {}
    for name, (place, called) in door.places.items():
        if place == "path":
            path = path.replace(f"{{{called}}}", _segments(door, name, arguments[name]))
        elif place == "query" and arguments.get(name) is not None:
            query[called] = _text(arguments[name])
    if "limit" in door.places and door.places["limit"] == ("query", "limit"):
        query.setdefault("limit", str(LIST_ITEMS))
    if "wait_seconds" in door.places and door.tool.while_in:
        query.setdefault("wait_seconds", str(limits.WAIT_SECONDS_MAX))
    return f"{path}?{urlencode(query, quote_via=quote)}" if query else path


def _segments(door: Door, name: str, value: str) -> str:
    """A parameter in an address. One that an address would lose on its way leads elsewhere, so it is refused here."""
    if "pattern" in door.schema["properties"][name]:
        if value in {".", ".."}:
            stop("bad_name", f"{name}: it names nothing.", pointer=f"/{name}")
        return quote(value, safe=":@~")
    if fault := path_fault(value):
        stop("bad_name", f"{name}: {fault}", pointer=f"/{name}")
    return quote(value, safe="/:@~")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fields(arguments: Arguments) -> dict[str, str]:
    said: dict[str, str] = {}
    revision = arguments.get("if_revision")
    if revision == 0:
        said["if-none-match"] = "*"
    elif revision is not None:
        said["if-match"] = fields.etag(revision)
    if (known := arguments.get("unless_revision")) is not None:
        said["if-none-match"] = fields.etag(known)
    if grants := arguments.get("fences"):
        said["fence"] = _fence(grants)
    return said


def _fence(grants: list[dict[str, Any]]) -> str:
    try:
        return fields.write_fences(FenceRef(one["grant"], one["fence"]) for one in grants)
    except ValueError as error:
        stop("bad_member", f"/fences: {error}", pointer="/fences")


def _body(door: Door, arguments: Arguments) -> bytes:
    if door.tool.content == "bytes":
        return str(arguments["text"]).encode()
    values = {name: _value(name, arguments) for name in door.raw if _given(name, arguments)}
    if door.tool.content == "json":
        return bytes(values["value"])
    takes = {name: called for name, (place, called) in door.places.items() if place == "body"}
    if not takes:
        return b""
    given = {called: values.get(name, arguments.get(name)) for name, called in takes.items() if _given(name, arguments)}
    return b"{" + b",".join([_json(name) + b":" + _member(value) for name, value in given.items()]) + b"}"


def _member(value: Any) -> bytes:
    return bytes(value) if isinstance(value, msgspec.Raw) else _json(value)


def _given(name: str, arguments: Arguments) -> bool:
    return name in arguments or f"{name}_json" in arguments


def _value(name: str, arguments: Arguments) -> msgspec.Raw:
    """A user's JSON: as it was written, or as exact JSON of the value. Raises Stop."""
    text = arguments.get(f"{name}_json")
    if text is None:
        return msgspec.Raw(_json(arguments[name]))
    if name in arguments:
        stop("two_sources", f"Give {name} or {name}_json, not both.", pointer=f"/{name}")
    if fault := exact.check(text.encode()):
        stop("bad_json", f"{name}_json: {fault.why} (byte {fault.position})", position=fault.position)
    return msgspec.Raw(text.encode())


def _json(value: Any) -> bytes:
    """What came as JSON, as JSON again. The door checks it: to check megabytes here, too, would hold up everybody."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError as error:
        stop("bad_json", str(error))
