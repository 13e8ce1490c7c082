"""Grants: who holds what, under a fence that only rises."""

from __future__ import annotations

from steadhold.fences.model import (
    Grant,
    Granted,
    Held,
    KeySpent,
    Marked,
    Outrun,
    Released,
    Renewal,
    Renewed,
    Wanted,
)
from steadhold.fences.plans import (
    drop,
    end,
    first,
    grant,
    lapsed,
    look,
    mark,
    own,
    owned,
    release,
    renew,
    require,
    required,
    under_key,
)

__all__ = [
    "Grant",
    "Granted",
    "Held",
    "KeySpent",
    "Marked",
    "Outrun",
    "Released",
    "Renewal",
    "Renewed",
    "Wanted",
    "drop",
    "end",
    "first",
    "grant",
    "lapsed",
    "look",
    "mark",
    "own",
    "owned",
    "release",
    "renew",
    "require",
    "required",
    "under_key",
]
