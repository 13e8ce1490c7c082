"""Server-Sent Events, read as a browser reads them (WHATWG HTML §9.2.6)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec


class Event(NamedTuple):
    kind: str
    id: str
    data: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.data)


def events(text: bytes) -> list[Event]:
    """The events of a stream; comments and what is cut off at its end are none."""
    found: list[Event] = []
    kind, last, data = "", "", list[str]()
    for line in re.split(r"\r\n|\r|\n", text.decode()):
        if not line:
            if data:
                found.append(Event(kind or "message", last, "\n".join(data)))
            kind, data = "", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            data.append(value)
        elif name == "event":
            kind = value
        elif name == "id":
            last = value
    return found
