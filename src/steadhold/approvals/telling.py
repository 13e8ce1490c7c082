"""What is told of an approval: the events of its history, and how it stands for whoever waits."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from steadhold.approvals.model import Approval, By
from steadhold.events import Happened, Head

Entry: TypeAlias = tuple[str, int, Happened]
"""A line of an approval's history: its aggregate, its revision, what happened."""


def subject(id: str) -> str:
    """The name under which events and waits know an approval."""
    return f"approval:{id}"


def head(row: Approval) -> Head:
    """Where an approval stands, for whoever waits for its outcome."""
    return Head(subject(row.id), row.revision, row.state, open=row.state == "pending")


def event(row: Approval, revision: int, what: str, told: dict[str, Any]) -> Entry:
    """An event of an approval: `approval.<what>`. Each says what it is about."""
    about = {"reference": row.artifact.reference, "version": row.artifact.version, "hash": row.artifact.hash}
    return subject(row.id), revision, Happened(f"approval.{what}", msgspec.json.encode(about | told))


def outcome(now: Approval, by: By) -> dict[str, Any]:
    """What the event of an outcome tells: who brought it about, and until when it may be acted on."""
    until = {} if now.usable_until is None else {"usable_until": now.usable_until}
    return {"outcome": now.state, "by": by.subject, **until}


def passed(now: Approval, what: str) -> dict[str, Any]:
    """What the event of a time that passed tells."""
    return {"expires_at": now.expires_at} if what in ("expiring", "expired") else {"usable_until": now.usable_until}
