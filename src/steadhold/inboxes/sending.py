"""Send from a transaction of one's own: the event is on its way if and only if that commits. No counter is taken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, TypeAlias

import msgspec

from steadhold import events
from steadhold.events import Event, Happened
from steadhold.events.flow import Spec, Subscription
from steadhold.events.model import happened_fault
from steadhold.events.plans import SQL as EVENTS
from steadhold.events.relaying import publish
from steadhold.inboxes import telling
from steadhold.inboxes.model import NoInbox, Sent
from steadhold.inboxes.plans import SQL
from steadhold.kit.ids import id_fault, new_id
from steadhold.kit.limits import EVENT_DATA_BYTES_MAX
from steadhold.kit.plan import Plan, operation, rows
from steadhold.kit.rules import Id, Rule, json_fault

LED: Final = "inboxes/send"
"""What leads here is no subscription of anybody's: no Id has a slash."""

_EVER: Final = datetime.fromtimestamp(0, UTC)


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """An event to be sent; `data` are exact JSON bytes of at most `event_data_bytes_max`.

    Make it once for each event that is meant: its `id` makes it that event, so the same sending is the same event.
    """

    type: str
    data: bytes | None = None
    data_ref: str | None = None
    schema_version: int = 1
    correlation_id: str | None = None
    causation_id: str | None = None
    id: str = msgspec.field(default_factory=new_id)


def sending_fault(sending: Sending) -> str | None:
    """Why this cannot be sent, as a sentence; None where it can."""
    if wrong := id_fault(sending.id):
        return f"id: {wrong}"
    if sending.data is not None and (wrong := json_fault(EVENT_DATA_BYTES_MAX, sending.data)):
        return f"data: {wrong}"
    return happened_fault(_happened(sending))


Sendable: TypeAlias = Annotated[Sending, Rule(sending_fault)]
"""An event that can be sent."""


@operation
def send(workspace: str, inbox: Id, sending: Sendable) -> Plan[Sent | NoInbox]:
    """Send an event to an inbox, which has it within a second of the commit, with a server alive.

    Nothing waits for this transaction however long it is open: the relay numbers the event once it has committed.
    Events sent apart may arrive in another order; to keep one, append them to an aggregate and subscribe to it.
    """
    if not (yield from rows(SQL.look, workspace=workspace, inbox=inbox)):
        return NoInbox(inbox)
    place = telling.place(inbox, sending.id)
    name = events.event_id(place, 1)
    yield from rows(EVENTS.hold_name, workspace=workspace, event_id=name)  # its twin waits, and finds it sent
    if isinstance((yield from events.get.plan(workspace, name)), Event):
        return Sent(name, again=True)
    happened = _happened(sending)
    yield from events.record(workspace, [(place, 1, happened)])
    yield from lead(workspace, inbox, [(place, 1, happened)])
    return Sent(name)


def _happened(sending: Sending) -> Happened:
    return Happened(
        sending.type, sending.data, sending.data_ref, sending.schema_version, sending.correlation_id,
        sending.causation_id,
    )  # fmt: skip


def lead(workspace: str, inbox: str, told: Sequence[tuple[str, int, Happened]]) -> Plan[None]:
    """Send events of a room's own aggregates, which it has just recorded, to an inbox: those of one in their order."""
    found = [
        Event(aggregate_id, revision, events.event_id(aggregate_id, revision), 1, _EVER, one.type, "", None, None, None)
        for aggregate_id, revision, one in told
    ]
    yield from publish(workspace, found, _subscription(inbox), again=False)


def _subscription(inbox: str) -> Subscription:
    return Subscription(LED, 1, Spec(("*",), f"inbox:{inbox}"), _EVER, _EVER)
