"""commits over HTTP: each item becomes the very request that its own route would have got.

So its scope, its rules and its refusals are that route's: what an item may do alone it may do here, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeVar

import msgspec
from msgspec import Meta, Raw

from steadhold.commits.members import Members, body, lists, members
from steadhold.commits.model import Part
from steadhold.commits.ops import OPS, Op
from steadhold.jobs.doors import ids
from steadhold.kit import exact, limits
from steadhold.kit.fields import AnyTag, Condition, ExactTag
from steadhold.web.ask import Ask, Problem, Request, Stop
from steadhold.web.problem import MISSING, stop
from steadhold.web.router import FITS, PARAM

T = TypeVar("T")
Revision = Annotated[int, Meta(ge=1, le=2**62)]
CONDITIONS: Final = ("if_match", "if_none_match")
CONDITION: Final = (
    'Say "if_match" with the revision that you have read, or "if_none_match": "*" where nothing is to be there.'
)


@dataclass(frozen=True, slots=True)
class Read:
    """An item that was read: what it is called, which scope it needs for which name, and what its route asks for."""

    op: str
    list: Part
    index: int
    needs: tuple[str, str]
    asked: Ask[Any]


def read(ask: Request) -> list[Read]:
    """Read both lists, conditions first; the first item that its route would not take stops the request."""
    found = lists(ask.body)
    count = sum(len(items) for items in found.values())
    if count > limits.COMMIT_ITEMS_MAX or not found["apply"]:
        most = f"A commit applies at least one item, and has at most {limits.COMMIT_ITEMS_MAX} with those it requires."
        stop("bad_member", most, pointer="/apply")
    fresh = iter(ids(ask.fresh, count))
    seen: set[tuple[Part, str]] = set()
    read: list[Read] = []
    for part, items in found.items():
        for index, raw in enumerate(items):
            try:
                read.append(_item(replace(ask, drawn=next(fresh)), part, index, raw, seen))
            except Stop as stopped:
                raise Stop(placed(stopped.problem, part, index)) from None
    return read


def placed(said: Problem, part: Part, index: int) -> Problem:
    """A problem of one item, with its place in the commit."""
    extras = {**said.extras, "list": part, "index": index}
    if "pointer" in extras:
        extras["pointer"] = f"/{part}/{index}{extras['pointer']}"
    if said.code == "condition_required" and "If-" in said.detail:
        return replace(said, extras=extras, detail=CONDITION)  # an item has members where its route has fields
    return replace(said, extras=extras)


def _item(ask: Request, part: Part, index: int, raw: Raw, seen: set[tuple[Part, str]]) -> Read:
    said = members(bytes(raw))
    name = _said(said, "op", str)
    if name not in OPS[part]:
        name = name[: limits.ID_CHARS_MAX]
        stop("unknown_op", f"{part} knows no op {name!a}; it knows {', '.join(OPS[part])}.", op=name)
    op = OPS[part][name]
    params = _params(op, said)
    scoped = params[op.route.scoped] if op.route.scoped else None
    if not ask.permits(op.route.scope, scoped):
        on = f" for {scoped!a}" if scoped else ""
        stop("missing_scope", f"This key lacks the scope {op.route.scope}{on}.", scope=op.route.scope)
    _refuse_repeated(op, part, params, seen)
    return Read(name, part, index, (op.route.scope, scoped or ""), _asked(ask, op, params, said))


def _params(op: Op, said: Members) -> dict[str, str]:
    params: dict[str, str] = {}
    for param, kind in PARAM.findall(op.route.path):
        params[param] = _said(said, op.members.get(param, param), str)
        if kind != "path" and not FITS[kind or "id"](params[param]):
            raise Stop(MISSING)
    return params


def _refuse_repeated(op: Op, part: Part, params: dict[str, str], seen: set[tuple[Part, str]]) -> None:
    if op.about is None:
        return
    name = f"{op.about}:{next(iter(params.values()))}"
    if (part, name) in seen:
        stop("repeated_name", f"{part} has an item about {name} already; a commit says it once.", name=name)
    seen.add((part, name))


def _asked(ask: Request, op: Op, params: dict[str, str], said: Members) -> Ask[Any]:
    """Ask what the route asks of the request that the item is."""
    route = op.route
    if_match, if_none_match = _conditions(op, said)
    content, locate = body(said, op.content)
    if route.body_bytes_max is not None and len(content) > route.body_bytes_max:
        most = route.body_bytes_max
        stop("too_large", f"{op.content} has at most {most} bytes; these are {len(content)}.", bytes_max=most)
    request = Request(
        ask.who, ask.workspace, params, {}, {}, content, ask.operation, (), if_match, if_none_match,
        "PUT" if route.method == "GET" else route.method, route.path, ask.permits, ask.reach, ask.trace,
        drawn=ask.fresh,
    )  # fmt: skip
    try:
        asked = route.handle(request)
    except Stop as stopped:
        raise Stop(locate(stopped.problem)) from None
    if isinstance(asked, Problem):
        raise Stop(asked)
    if not isinstance(asked, Ask):
        raise TypeError(f"{route.path} asks nothing of the database at once, so it cannot stand in a commit")
    return asked


def _conditions(op: Op, said: Members) -> tuple[Condition, Condition]:
    takes = [name for name in CONDITIONS if name.replace("_", "-") in op.route.headers]
    match = ExactTag(_said(said, "if_match", Revision)) if "if_match" in takes and "if_match" in said else None
    none: Condition = None
    if "if_none_match" in takes and "if_none_match" in said:
        _said(said, "if_none_match", Literal["*"])
        none = AnyTag()
    return match, none


def _said(said: Members, name: str, kind: Any) -> Any:
    """Take a member out that is not the route's own."""
    if name not in said:
        stop("bad_member", f"/{name} is missing.", pointer=f"/{name}")
    raw = said.pop(name)
    if fault := exact.check(raw):
        stop("bad_json", fault.why, pointer=f"/{name}", position=fault.position)
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError:
        shape = {str: "a string", Revision: "a revision, a whole number from 1 on"}.get(kind, 'the string "*"')
        stop("bad_member", f"/{name} must be {shape}.", pointer=f"/{name}")


def read_of(items: Sequence[Read], part: Part) -> list[Read]:
    """The items of one list."""
    return [item for item in items if item.list == part]
