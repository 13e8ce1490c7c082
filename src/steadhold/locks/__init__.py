"""locks: they expire, and their fences only rise."""

from __future__ import annotations

from steadhold.locks.model import Granted, Held, Lock, LockLost, Queued, Released, Renewed
from steadhold.locks.plans import acquire, get, leave, mark, names, release, renew, require

__all__ = [
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
