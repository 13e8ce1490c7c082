"""What the relay brings: events of the house, appended in the transaction that settles their publications."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from steadhold.events import Event
from steadhold.events.flow import Answer, Publication, Reject, Retry, Taken
from steadhold.inboxes.items import Envelope, Item, item, shown
from steadhold.inboxes.model import Appended, Mismatch, NoInbox
from steadhold.inboxes.plans import append
from steadhold.kit import exact
from steadhold.kit.plan import Plan


def publish(workspace: str, inbox: str, batch: Sequence[Publication]) -> Plan[list[Answer]]:
    """Append publications in order, an answer each. An event that the inbox has already is taken.

    Where there is no such inbox they are asked again later: it may be made.
    """
    outcome = yield from append.plan(workspace, inbox, [_item(publication.event) for publication in batch])
    if isinstance(outcome, NoInbox):
        return [Retry(f"there is no inbox {inbox}") for _ in batch]
    return [_answer(one) for one in outcome]


def _answer(placed: Appended | Mismatch) -> Answer:
    if isinstance(placed, Mismatch):
        return Reject(f"another event has this id, at {placed.sequence}")
    return Taken()


def _item(event: Event) -> Item:
    occurred_at = event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"
    envelope = Envelope(
        event.type, shown(event.schema_version), event.aggregate_id, event.aggregate_revision, occurred_at,
        event.correlation_id, event.causation_id, event.data_ref, "relay",
    )  # fmt: skip
    kind = None if event.data is None or exact.check(event.data) is None else "application/octet-stream"
    return item(event.event_id, envelope, event.data, kind, event_id=event.event_id)
