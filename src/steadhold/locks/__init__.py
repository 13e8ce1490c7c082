"""locks: they expire, and their fences only rise."""

from __future__ import annotations

from steadhold.kit.fields import GRANT_KINDS
from steadhold.locks.model import Granted, Held, Lock, LockLost, Queued, Released, Renewed
from steadhold.locks.plans import acquire, get, leave, mark, names, release, renew, require

CAPABILITIES = {"fences": [*GRANT_KINDS]}
"""What `Fence` may name in this version, as capabilities show it."""

__all__ = [
    "CAPABILITIES",
    "Granted",
    "Held",
    "Lock",
    "LockLost",
    "Queued",
    "Released",
    "Renewed",
    "acquire",
    "get",
    "leave",
    "mark",
    "names",
    "release",
    "renew",
    "require",
]
