"""Scopes: `room:verb[:prefix]`, what they mean and which there are. Pure."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from steadhold.kit.paths import EVERYWHERE, prefix_fault, under

Kind: TypeAlias = Literal["service", "person", "operator"]

VERBS: Final[dict[str, tuple[str, ...]]] = {
    "approvals": ("read", "request", "vote", "use"),
    "audit": ("read",),
    "context": ("read", "write", "configure"),
    "effects": ("read", "write"),
    "entitlements": ("read", "write"),
    "events": ("read", "append", "operate"),
    "inboxes": ("read", "append", "acknowledge", "configure"),
    "jobs": ("read", "submit", "work", "steer", "configure"),
    "keys": ("read", "create", "rotate", "revoke"),
    "locks": ("read", "write"),
    "operations": ("admin",),
    "payloads": ("read",),
    "schedules": ("read", "write"),
    "state": ("read", "write", "configure"),
    "webhooks": ("read", "write"),
    "workspaces": ("read", "create"),
}
ONLY: Final[dict[str, Kind]] = {
    "approvals:vote": "person",
    "entitlements:write": "operator",
    "workspaces:create": "operator",
    "workspaces:read": "operator",
}
"""Scopes that serve keys of one kind only, whoever holds them."""

NARROWED: Final = frozenset({"context", "inboxes", "locks", "schedules", "state", "webhooks"})
"""Rooms that ask for the name before they do anything: only their scopes may end in a prefix."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`room:verb[:prefix]`. `*` is every verb of a room, `*:*` everything; a prefix matches whole segments."""

    room: str
    verb: str
    prefix: str = ""

    def covers(self, other: Scope) -> bool:
        """Whether whoever has this needs not have the other."""
        return self.room in ("*", other.room) and self.verb in ("*", other.verb) and under(other.prefix, self.prefix)


@functools.lru_cache(maxsize=4_096)
def scope_of(text: str) -> Scope:
    """Read a scope that `scope_fault` found no fault in."""
    return Scope(*text.split(":", 2))


def scope_fault(text: str, kind: Kind) -> str | None:
    """Why a key of this kind cannot have this scope, as a sentence; None when it can."""
    room, _, rest = text.partition(":")
    verb, colon, prefix = rest.partition(":")
    if text == "*:*":
        return None
    if room not in VERBS:
        return f"{text!a} names no room; there are {', '.join(VERBS)}, and *:* for everything."
    if verb not in ("*", *VERBS[room]):
        return f"{text!a} names no verb of {room}; there are {', '.join(VERBS[room])}, and *."
    if colon and room not in NARROWED:
        return f"{text!a} cannot end in a prefix: {room} is not narrowed by names."
    if colon and (not prefix or prefix_fault(prefix)):
        return f"{text!a} does not end in a prefix: {prefix_fault(prefix) or 'leave out the last colon.'}"
    if ONLY.get(f"{room}:{verb}", kind) != kind:
        return f"{text!a} is of use to keys of kind {ONLY[f'{room}:{verb}']} only."
    return None


@functools.lru_cache(maxsize=16_384)
def reach(kind: Kind, scopes: tuple[str, ...], wanted: str) -> tuple[str, ...]:
    """The prefixes below which scopes allow `wanted` ("state:read"). EVERYWHERE, or `()` nowhere."""
    if ONLY.get(wanted, kind) != kind:
        return ()
    wide = Scope(*wanted.split(":"))
    found = {s.prefix for s in map(scope_of, scopes) if s.room in ("*", wide.room) and s.verb in ("*", wide.verb)}
    return EVERYWHERE if "" in found else tuple(sorted(found))


def allows(kind: Kind, scopes: tuple[str, ...], wanted: str, name: str | None = None) -> bool:
    """Whether scopes allow `wanted` on a name, or without one on everything: a prefix does not."""
    if not wanted:
        return True
    prefixes = reach(kind, scopes, wanted)
    return prefixes == EVERYWHERE or any(under(name or "", prefix) for prefix in prefixes)
