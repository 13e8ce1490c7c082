"""The header fields and the query of a request, read once for all rooms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from steadhold.kit import fields, ids
from steadhold.kit.fields import BadTag, Condition, FenceRef, FieldFault
from steadhold.kit.ids import IdFault
from steadhold.web.ask import Route
from steadhold.web.problem import stop

_SINGLE: Final = frozenset({
    "authorization", "content-encoding", "content-length", "content-type", "host", "idempotency-key", "if-range",
    "range",
})  # fmt: skip
_GUARDS: Final = ("if-match", "if-none-match", "fence")
_NAMES: Final = {
    name.encode(): name
    for name in (*_SINGLE, *_GUARDS, "accept", "accept-encoding", "connection", "cookie", "traceparent", "user-agent")
}
"""Names that most requests have, so that they need not be made each time."""
_NOTHING: Final[Mapping[str, str]] = {}
_PARAMETERS_MAX: Final = 32
_CRUMBS: Final = "; "
"""Between cookies, which HTTP/2 and HTTP/3 carry in a field each."""


@dataclass(slots=True)
class Heading:
    """Header fields by their lower-case names; a field that came in several lines is joined with commas."""

    fields: dict[str, str]
    repeated: frozenset[str] = frozenset()

    def get(self, name: str) -> str | None:
        """One field, or None."""
        return self.fields.get(name)


def heading(raw: Sequence[tuple[bytes, bytes]]) -> Heading:
    """Collect the fields of a request."""
    name_of = _NAMES.get
    found = {name_of(key) or key.decode("latin-1"): value.decode("latin-1") for key, value in raw}
    return Heading(found) if len(found) == len(raw) else _joined(raw)


def _joined(raw: Sequence[tuple[bytes, bytes]]) -> Heading:
    found: dict[str, list[str]] = {}
    for key, value in raw:
        found.setdefault(key.decode("latin-1"), []).append(value.decode("latin-1"))
    repeated = frozenset(name for name, texts in found.items() if len(texts) > 1)
    return Heading(
        {name: (_CRUMBS if name == "cookie" else ", ").join(texts) for name, texts in found.items()}, repeated
    )


def refuse_repeated(head: Heading) -> None:
    """Refuse a field that came twice where only one can be meant."""
    if twice := head.repeated & _SINGLE:
        name = min(twice)
        stop("bad_header", f"{name} came more than once, so nobody can tell which is meant.", field=name)


def guards(
    route: Route, head: Heading, *, fenced: bool = False
) -> tuple[str | None, tuple[FenceRef, ...], Condition, Condition]:
    """Read the operation's id, fences, If-Match and If-None-Match; refuse those that this route would ignore.

    `fenced`: fences are tested for it. A stranger who comes in by an address may have keys of its own kind.
    """
    found = head.fields
    named = found.get("idempotency-key") if route.capability is None else None
    if route.method != "GET":
        for name in _GUARDS:
            if name in found and name not in route.headers and not (fenced and name == "fence"):
                stop("bad_header", f"This request takes no {name}: it would be ignored.", field=name)
    return (
        None if named is None else _operation(named),
        _fences(found["fence"]) if "fence" in found else (),
        _condition("If-Match", found["if-match"]) if "if-match" in found else None,
        _condition("If-None-Match", found["if-none-match"]) if "if-none-match" in found else None,
    )


def _operation(text: str) -> str:
    if ids.is_id(text):
        return text
    key = ids.operation_key(text)
    if isinstance(key, IdFault):
        stop("bad_header", f"Idempotency-Key: {key.why}", field="Idempotency-Key")
    return key


def _fences(text: str) -> tuple[FenceRef, ...]:
    refs = fields.fences(text)
    if isinstance(refs, FieldFault):
        stop("bad_header", refs.why, field="Fence")
    return refs


def _condition(name: str, text: str) -> Condition:
    found = fields.condition(text)
    if isinstance(found, BadTag):
        stop("bad_header", f"{name}: {found.why}", field=name)
    return found


def parameters(raw: bytes) -> Mapping[str, str]:
    """The query of an address; a name that comes twice, or is not UTF-8, is refused."""
    if not raw:
        return _NOTHING
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict",
            max_num_fields=_PARAMETERS_MAX,
        )  # fmt: skip
    except ValueError:
        stop("bad_query", f"The query must be at most {_PARAMETERS_MAX} pairs of name=value in percent-encoded UTF-8.")
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        stop("bad_query", "A parameter came more than once, so nobody can tell which is meant.", parameter=twice)
    return found


def refuse_unknown(route: Route, query: Mapping[str, str]) -> None:
    """Refuse a parameter that the route does not take."""
    for name in query:
        if name not in route.query:
            known = f"It takes {', '.join(route.query)}." if route.query else "It takes none."
            stop("unknown_parameter", f"This request does not take this parameter. {known}", parameter=name)
