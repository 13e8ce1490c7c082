"""Private prefixes: under them a room keeps what customers sealed, and refuses what it could read."""

from __future__ import annotations

from steadhold.private.model import (
    EnvelopeMismatch,
    NotPrivate,
    PlaintextPresent,
    PlaintextRefused,
    Prefix,
    RewrapNeeded,
    SealRefusal,
    bound_revision,
    judged,
    refusal,
    revision_of,
)
from steadhold.private.plans import get, lift, make, prefixes

__all__ = [
    "EnvelopeMismatch",
    "NotPrivate",
    "PlaintextPresent",
    "PlaintextRefused",
    "Prefix",
    "RewrapNeeded",
    "SealRefusal",
    "bound_revision",
    "get",
    "judged",
    "lift",
    "make",
    "prefixes",
    "refusal",
    "revision_of",
]
