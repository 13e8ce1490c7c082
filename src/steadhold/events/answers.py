"""How events are sent."""

from __future__ import annotations

import base64

from msgspec import UNSET, Raw

from steadhold.events.model import Event
from steadhold.events.wire import DomainEvent
from steadhold.kit import exact
from steadhold.web import reply


def event(found: Event) -> DomainEvent:
    """An event as it is sent: JSON as it is, other bytes in base64."""
    data = found.data
    is_json = data is not None and exact.check(data) is None
    return DomainEvent(
        event_id=found.event_id,
        schema_version=str(found.schema_version),
        aggregate_id=found.aggregate_id,
        aggregate_revision=found.aggregate_revision,
        occurred_at=reply.instant(found.occurred_at),
        type=found.type,
        data_ref=found.data_ref,
        data=Raw(data) if data is not None and is_json else UNSET,
        data_base64=None if data is None or is_json else base64.b64encode(data).decode(),
        correlation_id=found.correlation_id,
        causation_id=found.causation_id,
    )
