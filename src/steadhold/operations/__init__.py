"""Every mutation has an identity, and its receipt commits with its effect."""

from __future__ import annotations

from steadhold.operations.model import (
    KEPT_SECONDS,
    InFlightHere,
    Kept,
    NotCommitted,
    OperationAbandoned,
    OperationClock,
    OperationExpired,
    OperationMismatch,
    Receipt,
    Replayed,
    Sealed,
    Unplayed,
    fingerprint,
    written,
)
from steadhold.operations.plans import abandon, look, near, once, purge, receipted, receipts

__all__ = [
    "KEPT_SECONDS",
    "InFlightHere",
    "Kept",
    "NotCommitted",
    "OperationAbandoned",
    "OperationClock",
    "OperationExpired",
    "OperationMismatch",
    "Receipt",
    "Replayed",
    "Sealed",
    "Unplayed",
    "abandon",
    "fingerprint",
    "look",
    "near",
    "once",
    "purge",
    "receipted",
    "receipts",
    "written",
]
