"""Names of deliveries: the same in every process, and telling how old they are. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime

from steadhold.kit import ids


def delivery_id(workspace: str, webhook: str, event_id: str, at: datetime, of: str = "") -> str:
    """Name the delivery of an event to an endpoint, or one replayed by a replay: the same in every process.

    It holds a moment no later than its making, that of the event or of the replay, which tells when it must be gone.
    """
    drawn = hashlib.sha256(f"{workspace} {webhook} {event_id} {of}".encode()).digest()[:10]
    return ids.uuid7(max(0, int(at.timestamp() * 1_000)), drawn)


def gone_by_now(id: str, reach: datetime) -> bool:
    """Whether what has this id may have been removed, where all that ended before `reach` was."""
    made_ms = ids.uuid7_ms(id)
    return made_ms is not None and made_ms < reach.timestamp() * 1_000
