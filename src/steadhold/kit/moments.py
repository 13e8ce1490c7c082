"""Moments that can be said: those that zones know, and that can be reckoned with in any of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

BEGIN: Final = datetime(1900, 1, 1, tzinfo=UTC)
END: Final = datetime(3000, 1, 1, tzinfo=UTC)
"""They lie from the first on and before the second."""


def within_time(moment: datetime) -> bool:
    """Whether a moment, which has a zone, is one of them."""
    return BEGIN <= moment < END
