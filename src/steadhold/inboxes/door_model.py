"""Doors of inboxes: what they are, what comes in, and what is made of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from steadhold.inboxes.items import Envelope, Item, item
from steadhold.inboxes.schemes import Challenged, Proven, Refused, Scheme, member
from steadhold.kit import exact, limits
from steadhold.kit.outcome import Missing
from steadhold.kit.plan import Refusal

HOPS: Final = "x-steadhold-hops"
"""How many of our own doors an event has come through; senders of this house say it."""

UNNAMED: Final = "webhook"
"""The type of an event whose sender says none."""

_NAME: Final = re.compile(rf"[\x21-\x7e]{{1,{limits.ID_CHARS_MAX}}}")
_FROM: Final = re.compile(r"header:[a-z0-9-]{1,100}|body:[\x21-\x7e]{1,100}")
_TYPES: Final[Mapping[Scheme, str]] = {
    "standard": "body:type",
    "github": "header:x-github-event",
    "stripe": "body:type",
    "slack": "body:event.type",
    "hmac": "header:x-event-type",
}


@dataclass(frozen=True, slots=True)
class Door:
    """A door as it is told. `old_until`: so long the secret before the current one proves too."""

    id: str
    inbox: str
    revision: int
    scheme: Scheme
    id_from: str | None
    made_at: datetime
    changed_at: datetime
    old_until: datetime | None

    @property
    def subject(self) -> str:
        """What the audit calls it."""
        return f"door:{self.inbox}/{self.id}"


@dataclass(frozen=True, slots=True)
class Held:
    """What proves who comes in at a door, held until commit. `now` is the clock in Unix seconds."""

    inbox: str
    life: Any
    scheme: Scheme
    id_from: str | None
    sealed: bytes
    old_sealed: bytes | None
    now: int


@dataclass(frozen=True, slots=True)
class Knock:
    """A request as it came; the names of `headers` are in lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Place:
    """Which door an address is of; how many requests a second its workspace may send, None without end."""

    workspace: str
    door: str
    inbox: str
    requests_per_second_max: int | None


@dataclass(frozen=True, slots=True)
class CameIn:
    """The event is in the inbox. `duplicate`: it was before, under its id; `differs`: with other content."""

    inbox: str
    event_id: str
    duplicate: bool = False
    differs: bool = False


@dataclass(frozen=True, slots=True)
class IdMissing(Refusal):
    """What was sent has no id that could make it known when it comes again (422)."""

    where: str


@dataclass(frozen=True, slots=True)
class TooManyHops(Refusal):
    """It came through more of our doors than an event may: it goes in a circle (422)."""


@dataclass(frozen=True, slots=True)
class Sealed(Refusal):
    """The door's secret cannot be opened with the keys that this server has (503)."""


@dataclass(frozen=True, slots=True)
class DoorsFull(Refusal):
    """The inbox has all its doors (409)."""


@dataclass(frozen=True, slots=True)
class SecretUnfit(Refusal):
    """The secret cannot prove anything under the door's scheme (400)."""

    scheme: Scheme


Came: TypeAlias = CameIn | Challenged | Refused | IdMissing | TooManyHops | Sealed | Missing


def from_fault(scheme: Scheme, id_from: str) -> str | None:
    """Why ids cannot be read from there, as a sentence; None where they can."""
    if scheme == "standard":
        return "Standard Webhooks signs its id (webhook-id), so it is read from there and nowhere else."
    if not _FROM.fullmatch(id_from):
        return "id_from is header:<name in lower case> or body:<member of the JSON object>."
    return None


def event_of(door: str, held: Held, proven: Proven, knock: Knock) -> Item | IdMissing | TooManyHops:
    """The event that a proven request is. Its key is the door's own: no client has it, nor another door."""
    id = _said(held.id_from, knock) if held.id_from else proven.id
    if id is None or not _NAME.fullmatch(id):
        return IdMissing(held.id_from or WHERE[held.scheme])
    if _hops(knock.headers.get(HOPS, "0")) > limits.DOOR_HOPS_MAX:
        return TooManyHops()
    type = _said(_TYPES[held.scheme], knock)
    envelope = Envelope(type if type and _NAME.fullmatch(type) else UNNAMED, causation_id=id, source="door")
    kind = knock.headers.get("content-type", "application/octet-stream")
    return item(f"{door}:{id}", envelope, knock.body, None if _is_json(kind, knock.body) else kind)


WHERE: Final[Mapping[Scheme, str]] = {
    "standard": "header:webhook-id",
    "github": "header:x-github-delivery",
    "stripe": "body:id",
    "slack": "body:event_id",
    "hmac": "header:x-event-id",
}
"""Where each scheme has the id, unless the door says otherwise."""


def _said(where: str, knock: Knock) -> str | None:
    kind, _, name = where.partition(":")
    return knock.headers.get(name) if kind == "header" else member(knock.body, name)


def _hops(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,3}", text) else limits.DOOR_HOPS_MAX + 1


def _is_json(kind: str, body: bytes) -> bool:
    """Whether the body can stand as `data`: white space around it would be lost there."""
    if kind.partition(";")[0].strip().lower() != "application/json":
        return False
    return body.strip(b" \t\r\n") == body and exact.check(body) is None
