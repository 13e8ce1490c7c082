"""A body of JSON, decoded strictly: exact bytes where they are a user's, problems with a pointer elsewhere."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import msgspec
import msgspec.inspect

from steadhold.kit import exact as kit
from steadhold.kit import ids
from steadhold.kit.limits import ID_CHARS_MAX
from steadhold.kit.moments import BEGIN, END, within_time
from steadhold.web import choices
from steadhold.web.ask import Problem, Request, Stop
from steadhold.web.problem import stop

S = TypeVar("S", bound=msgspec.Struct)

# The texts are msgspec's own (< 0.24) and are never shown; tests/web/test_decode.py holds them to these shapes.
# A member's name stands in them as it came, megabytes of anything: a pattern begins at the start, or soon ends.
_AT: Final = re.compile(r" - at `(?:key in )?\$(?P<path>(?:\.[^.\[\]`]{1,100}+|\[[0-9.]{1,20}+\]){0,32}+)`\Z")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.*)`\Z", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>.*)`\Z", re.DOTALL)
_EXPECTED: Final = re.compile(r"^Expected `(?P<kind>[a-z |]+)`(?P<bound> (?:of length )?(?:[<>]=?|==) [\d.]+)?")
_SHAPED: Final = re.compile(r"^Expected `str` matching regex '(?P<pattern>.*)'$")
_MOMENT: Final = re.compile(r"RFC3339|timezone component")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_KINDS: Final = {
    "str": "a string", "int": "a whole number", "float": "a number", "bool": "true or false", "array": "an array",
    "object": "an object", "null": "null", "datetime": "a time", "uuid": "a UUID",
}  # fmt: skip
_SHAPES: Final = {
    ids.whole(ids.ID_PATTERN): f"an Id: 1 to {ID_CHARS_MAX} letters, digits and . _ ~ : @ -",
    ids.NO_NUL: "a string without the character NUL",
    ids.whole(ids.UUID_PATTERN): "a UUID in small letters, with its hyphens",
    ids.whole(ids.HASH_PATTERN): "sha256: with 64 of 0-9a-f, or sha512: with 128",
}


def exact(ask: Request) -> bytes:
    """The whole body as a user's JSON, checked; its bytes are kept as they are."""
    fault = kit.check(ask.body)
    if fault:
        stop("bad_json", f"{fault.why} (byte {fault.position})", position=fault.position)
    return ask.body


def body(ask: Request, into: type[S]) -> S:
    """Decode the body into a Struct that forbids unknown fields; an empty body reads as an empty object."""
    raw = exact(ask) if ask.body else b"{}"
    try:
        found: S = _decoder(into).decode(raw)
    except msgspec.ValidationError as error:
        raise _refused(str(error), into) from None
    except (msgspec.DecodeError, RecursionError):
        stop("bad_json", "The body is not JSON that can be read.")
    if _tells_time(into) and (path := beyond(found)) is not None:
        pointer = "".join(f"/{_escaped(str(step))}" for step in path)
        raise _at(pointer, f"must lie in the years {BEGIN.year} to {END.year - 1}.")
    return found


def beyond(value: Any) -> tuple[str | int, ...] | None:
    """Where in a decoded body a moment lies beyond all time."""
    inside: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, datetime):
        return None if within_time(value) else ()
    if isinstance(value, msgspec.Struct):
        inside = zip(value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True)
    elif isinstance(value, list):
        inside = enumerate(cast("list[Any]", value))
    for step, each in inside:
        if (path := beyond(each)) is not None:
            return step, *path
    return None


@functools.cache
def _tells_time(into: type[msgspec.Struct]) -> bool:
    return "DateTimeType" in repr(msgspec.inspect.type_info(into))


@functools.cache
def _decoder(into: type[S]) -> msgspec.json.Decoder[S]:
    if not into.__struct_config__.forbid_unknown_fields:
        raise TypeError(f"{into.__name__} takes unknown members silently: give it forbid_unknown_fields=True")
    return msgspec.json.Decoder(into)


def _refused(text: str, into: type[msgspec.Struct]) -> Stop:
    """Say in our own words what msgspec found."""
    at = _AT.search(text)
    what = text[: at.start()] if at else text
    where = _pointer(at["path"]) if at else ""
    if found := _UNKNOWN.match(what):
        known = ", ".join(choices.members(into, where))
        return _at(f"{where}/{_escaped(found['name'])}", f"is not known here{known and f'; there are {known}'}.")
    if found := _MISSING.match(what):
        return _at(f"{where}/{_escaped(found['name'])}", "is missing.")
    if words := choices.values(into, where):
        return _at(where, f"must be one of {', '.join(words)}.")
    return _at(where, _wanted(what))


def _at(pointer: str, what: str) -> Stop:
    return Stop(Problem("bad_member", f"{pointer or 'The body'} {what}", {"pointer": pointer}))


def _wanted(what: str) -> str:
    if shaped := _SHAPED.match(what):
        pattern = shaped["pattern"].replace("\\\\", "\\")  # it is shown as Python writes it
        return f"must be {_SHAPES.get(pattern, f'a string that matches {pattern}')}."
    if _MOMENT.search(what):
        return "must be a moment with its offset, as in 2026-11-29T16:00:00Z."
    found = _EXPECTED.match(what)
    kinds = found["kind"].split(" | ") if found else []
    if found and all(kind in _KINDS for kind in kinds):
        return f"must be {' or '.join(_KINDS[kind] for kind in kinds)}{found['bound'] or ''}."
    return "has a value that is not taken here."


def _pointer(path: str) -> str:
    """A JSON Pointer (RFC 6901) of msgspec's path; an unnamed index ends it."""
    pointer = ""
    for name, index in _STEP.findall(path):
        if index == "...":
            break
        pointer += "/" + (_escaped(name) if name else index)
    return pointer


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
