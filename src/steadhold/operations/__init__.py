"""Every mutation has an identity, and its receipt commits with its effect."""

from __future__ import annotations

from steadhold.operations.model import (
    KEPT_SECONDS,
    InFlightHere,
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
from steadhold.operations.plans import abandon, look, once, purge, receipted, receipts

__all__ = [
    "KEPT_SECONDS",
    "InFlightHere",
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
    "once",
    "purge",
    "receipted",
    "receipts",
    "written",
]
