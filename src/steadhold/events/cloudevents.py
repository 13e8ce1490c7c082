"""An event as CloudEvents 1.0 says it, in structured and in binary mode: how it leaves to the world outside.

`id` is the event's own, for ever; `source` names where it comes from, and both together are what a receiver knows a
duplicate by. `aggregaterevision` is a string: the integers of CloudEvents have 32 bits.
"""

from __future__ import annotations

import base64
from datetime import UTC
from typing import Final
from urllib.parse import quote

import msgspec

from steadhold.events.model import Event
from steadhold.kit import exact

STRUCTURED: Final = "application/cloudevents+json; charset=utf-8"
JSON: Final = "application/json"
BYTES: Final = "application/octet-stream"
_PLAIN: Final = "".join(chr(n) for n in range(0x21, 0x7F) if chr(n) not in '"%')
"""What a header field of the binary mode carries as it is; all else is percent-encoded (HTTP binding, 3.1.3.2)."""


def attributes(event: Event, source: str) -> dict[str, str]:
    """The attributes of an event, without its data."""
    told = {
        "specversion": "1.0",
        "id": event.event_id,
        "source": source,
        "type": event.type,
        "subject": event.aggregate_id,
        "time": event.occurred_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "dataschema": f"urn:steadhold:{quote(event.type, safe='')}:{event.schema_version}",
        "dataref": quote(event.data_ref, safe="/:#?&=@+,;~.-_!$'()*%"),
        "partitionkey": event.aggregate_id,
        "aggregaterevision": str(event.aggregate_revision),
        "correlationid": event.correlation_id,
        "causationid": event.causation_id,
    }
    return {name: value for name, value in told.items() if value is not None}


def structured(event: Event, source: str) -> bytes:
    """One JSON document (`application/cloudevents+json`): JSON data stands in it byte for byte, other in base64."""
    told: dict[str, str | msgspec.Raw] = {**attributes(event, source)}
    if event.data is not None:
        told["datacontenttype"] = media_type(event.data)
        if told["datacontenttype"] == JSON:
            told["data"] = msgspec.Raw(event.data)
        else:
            told["data_base64"] = base64.b64encode(event.data).decode()
    return msgspec.json.encode(told)


def binary(event: Event, source: str) -> tuple[dict[str, str], bytes]:
    """Header fields (`ce-…` and `content-type`) and the data's own bytes."""
    fields = {f"ce-{name}": quote(value, safe=_PLAIN) for name, value in attributes(event, source).items()}
    if event.data is not None:
        fields["content-type"] = media_type(event.data)
    return fields, event.data or b""


def media_type(data: bytes) -> str:
    """JSON is what can be read as JSON."""
    return BYTES if exact.check(data) else JSON
