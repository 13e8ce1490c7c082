"""Who asks: the bearer of a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeAlias

from steadhold.kit import limits
from steadhold.web.ask import Principal, Problem, Stop
from steadhold.web.heading import Heading
from steadhold.web.problem import MISSING
from steadhold.web.router import Found

Authenticate: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Finds who presents a key, or None. It may remember what it found for a few seconds."""

_REFUSED: Final = Problem(
    "no_valid_key",
    "Send Authorization: Bearer with a key that is known, not revoked and not expired.",
    headers=(("www-authenticate", "Bearer"),),
)


def refuse() -> NoReturn:
    """Answer 401."""
    raise Stop(_REFUSED)


def bearer(head: Heading) -> str:
    """The key that a request presents; 401 without one."""
    field = head.fields.get("authorization", "")
    scheme, _, token = field.partition(" ")
    token = token.strip(" ")
    if scheme.lower() != "bearer" or not 1 <= len(token) <= limits.KEY_CHARS_MAX or "authorization" in head.repeated:
        refuse()
    return token


async def nobody(_token: str) -> Principal | None:
    """Admit nobody: where no door is opened by a token."""
    return None


async def asker(
    head: Heading, found: Found | None, authenticate: Authenticate, admit: Authenticate
) -> tuple[str, Principal]:
    """Who asks, and by which token: a key's bearer, or whoever knows an address that lets in without one.

    Without a valid key 401; an address that nobody has is 404, whichever it is.
    """
    if found is None or found[0].capability is None:
        token = bearer(head)
        return token, await authenticate(token) or refuse()
    token = found[1][found[0].capability]
    who = await admit(token)
    if who is None:
        raise Stop(MISSING)
    return token, who
