"""Who asks: the bearer of a key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn, TypeAlias

from steadhold.kit import limits
from steadhold.web.ask import Principal, Problem, Stop
from steadhold.web.heading import Heading

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
