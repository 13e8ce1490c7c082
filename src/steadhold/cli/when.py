"""Moments as they are typed."""

from __future__ import annotations

from datetime import datetime

import click


def moment(text: str) -> datetime:
    """RFC 3339 with a zone: a moment, and not a time of day somewhere. Raises BadParameter."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is no time as in 2026-11-29T16:00:00Z.") from None
    if found.tzinfo is None:
        raise click.BadParameter(f"{text!r} has no zone: add Z for UTC, or an offset as in +01:00.")
    return found
