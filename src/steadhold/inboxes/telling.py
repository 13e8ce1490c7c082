"""What is told of an inbox and of its consumers: what somebody does with them, and who has a consumer alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import msgspec

from steadhold import events
from steadhold.events import Happened
from steadhold.kit.plan import Plan, each, one
from steadhold.kit.sql import load

SQL: Final = load(__file__)

INBOX: Final = ("inbox.created", "inbox.changed", "inbox.deleted")
CONSUMER: Final = (
    "consumer.created", "consumer.changed", "consumer.deleted", "consumer.leased", "consumer.released",
    "consumer.lease_expired",
)  # fmt: skip

CONSUMERS, SENDS = ":consumer:", ":send:"
"""Keep apart what is told of inboxes, of their consumers, and what is sent to them."""


def name_fault(inbox: str) -> str | None:
    """Why an inbox cannot have this name, as a sentence: with a word behind it that keeps apart, it were another's."""
    said = next((word for word in (CONSUMERS, SENDS) if word in f"{inbox}:"), None)
    return said and f"{said} stands in no name of an inbox, nor does a name end as it begins: it keeps events apart."


def inbox(workspace: str, name: str, revision: int, what: str) -> Plan[None]:
    """Write down what was done with a held inbox: `inbox.<what>`, at the revision that it made."""
    told = f"inbox.{what}"
    assert told in INBOX, "every event has its place in the guide"
    yield from events.record(workspace, [(f"inbox:{name}", revision, Happened(told))])


def subject(inbox: str, consumer: str) -> str:
    """The aggregate that a consumer is."""
    return f"inbox:{inbox}{CONSUMERS}{consumer}"


def place(inbox: str, id: str) -> str:
    """The aggregate that an event sent by itself is."""
    return f"inbox:{inbox}{SENDS}{id}"


def consumer(
    workspace: str, inbox: str, name: str, id: UUID, happened: Sequence[tuple[str, dict[str, Any]]]
) -> Plan[None]:
    """Write down what became of a held consumer: `consumer.<what>` for each, with its data."""
    if not happened:
        return
    last = yield from one(SQL.told, int, workspace=workspace, id=id, consumer=name, count=len(happened))
    entries: list[tuple[str, int, Happened]] = []
    for number, (what, data) in enumerate(happened, last - len(happened) + 1):
        told = f"consumer.{what}"
        assert told in CONSUMER, "every event has its place in the guide"
        said = msgspec.json.encode({"inbox": inbox, "consumer": name, **data})
        entries.append((subject(inbox, name), number, Happened(told, said)))
    yield from events.record(workspace, entries)


def ended(workspace: str, fences: Sequence[tuple[str, str, int]], what: str) -> Plan[None]:
    """Write down that leases have ended, of consumers that are still there: inbox, consumer and fence each."""
    items = [{"workspace": workspace, "inbox": inbox, "consumer": name} for inbox, name, _ in fences]
    held = yield from each(SQL.hold_consumer, items)
    for (inbox, name, fence), hand in zip(fences, held, strict=True):
        if not hand:
            continue
        id = hand[0][2]
        over = yield from each(SQL.end_lease, [{"workspace": workspace, "id": id, "consumer": name, "fence": fence}])
        yield from consumer(workspace, inbox, name, id, [(what, {"fence": fence})] if over[0] else [])
