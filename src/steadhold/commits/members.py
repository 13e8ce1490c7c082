"""The members of a commit's items, as the exact bytes they came as.

A commit is no value of a user's, its members are: so depth and size count within each, as on its own route.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw

from steadhold.commits.model import APPLY, REQUIRE, Part
from steadhold.kit import exact
from steadhold.web.ask import Problem
from steadhold.web.problem import stop

Members: TypeAlias = dict[str, bytes]


class _Key:
    """A key as it came. No two are equal, so that one that came twice is seen."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _key(_type: type, text: Any) -> _Key:
    return _Key(text)


_OBJECT: Final = msgspec.json.Decoder(dict[_Key, Raw], dec_hook=_key)
_LIST: Final = msgspec.json.Decoder(list[Raw])


def lists(raw: bytes) -> dict[Part, list[Raw]]:
    """The items of both lists; what is not there is empty."""
    try:
        found = members(raw or b"{}")
    except RecursionError:
        found = {}
        stop("bad_json", "Something in the body lies too deep.", position=0)
    _only(found, {REQUIRE, APPLY})
    return {REQUIRE: _items(found, REQUIRE), APPLY: _items(found, APPLY)}


def _only(said: Members, known: set[str]) -> None:
    """Refuse a member that is not known here; one that is no exact JSON as that."""
    for name in sorted(said.keys() - known):
        if fault := exact.check(said[name]):
            stop("bad_json", fault.why, pointer=f"/{name}", position=fault.position)
        stop("bad_member", f"/{name} is not known here.", pointer=f"/{name}")


def _items(found: Members, part: Part) -> list[Raw]:
    try:
        return _LIST.decode(found.get(part, b"[]"))
    except msgspec.ValidationError:
        stop("bad_member", f"/{part} must be an array.", pointer=f"/{part}")


def members(raw: bytes) -> Members:
    """The members of an object, each once, byte for byte."""
    try:
        pairs = _OBJECT.decode(raw)
    except msgspec.ValidationError:
        stop("bad_member", "An object is wanted here.", pointer="")
    except (msgspec.DecodeError, UnicodeDecodeError):
        fault = exact.check(raw)
        why = fault.why if fault else "This is not JSON that can be read."
        stop("bad_json", why, position=fault.position if fault else 0)
    found = {key.text: bytes(value) for key, value in pairs.items()}
    if len(found) < len(pairs):
        names = [key.text for key in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        stop("bad_json", f"An object has the key {twice!a} a second time.", pointer="", position=0)
    return found


def body(said: Members, content: str | None) -> tuple[bytes, Callable[[Problem], Problem]]:
    """The body that an item's own route would have got, and what places a problem with it within the item."""
    if content is not None:
        return _content(said, content), lambda problem: _within(problem, content)
    raw = b"{%b}" % b",".join(msgspec.json.encode(name) + b":" + value for name, value in said.items())
    return raw, lambda problem: _found(problem, said)


def _content(said: Members, content: str) -> bytes:
    _only(said, {content})
    if content not in said:
        stop("bad_member", f"/{content} is missing.", pointer=f"/{content}")
    return said[content]


def _within(problem: Problem, name: str) -> Problem:
    """Only a body that is no exact JSON is refused for what it is; else it is about the name, or a condition."""
    if problem.code != "bad_json":
        return problem
    return Problem(problem.code, problem.detail, {"pointer": f"/{name}", **problem.extras}, problem.headers)


def _found(problem: Problem, said: Members) -> Problem:
    """A body that is no exact JSON is so by one of its members: say by which, and where in it."""
    if problem.code != "bad_json":
        return problem
    for name, value in said.items():
        if fault := exact.check(value):
            return Problem("bad_json", fault.why, {"pointer": f"/{name}", "position": fault.position})
    return problem
