"""A sink: whose it is, where it is, and how an event is said and addressed there. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from steadhold.events import Event, cloudevents
from steadhold.kit import traces
from steadhold.kit.ids import is_id

KINDS: Final = ("nats", "tls")
"""Schemes of the addresses: NATS JetStream, in the clear and by TLS."""

MODES: Final = ("structured", "binary")
FORM: Final = "WORKSPACE/NAME=nats://[USER:PASSWORD@]HOST:PORT/SUBJECT[?mode=binary][&source=URI]"


class SinkFault(ValueError):
    """An entry of the setting is no sink; the message says what one looks like."""


@dataclass(frozen=True, slots=True)
class Sink:
    """One workspace's sink. The subjects of its messages begin with `subject`; `source` is that of its events."""

    workspace: str
    name: str
    server: str
    subject: str
    mode: str
    source: str


def read_sinks(entries: Iterable[str]) -> dict[tuple[str, str], Sink]:
    """Read the operator's list, by workspace and name. Raises SinkFault, without what might be a password."""
    found: dict[tuple[str, str], Sink] = {}
    for n, entry in enumerate(entries, 1):
        sink = _entry(n, entry)
        if (sink.workspace, sink.name) in found:
            raise SinkFault(f"the sink {sink.workspace}/{sink.name} is there twice")
        found[sink.workspace, sink.name] = sink
    return found


def _entry(n: int, text: str) -> Sink:
    whose, _, address = text.partition("=")
    workspace, _, name = whose.partition("/")
    try:
        url = urlsplit(address)
        told = dict(parse_qsl(url.query, strict_parsing=True)) if url.query else {}
        port = url.port
    except ValueError:
        raise _fault(n) from None
    subject, mode = url.path.removeprefix("/"), told.pop("mode", "structured")
    source = told.pop("source", f"urn:steadhold:{workspace}")
    fits = is_id(workspace) and is_id(name) and url.scheme in KINDS and url.hostname and port and not told
    if not (fits and mode in MODES and source and subject and subject == subject_of(subject)):
        raise _fault(n)
    return Sink(workspace, name, f"{url.scheme}://{url.netloc}", subject, mode, source)


def _fault(n: int) -> SinkFault:
    return SinkFault(f"entry {n} is no sink such as {FORM}; a subject has letters, digits and - _ : @ ~ between dots")


def subject_of(words: str) -> str:
    """A subject of words between dots. NATS takes none that is empty, so such a one is an underscore."""
    return ".".join("".join(c if is_id(c) else "_" for c in word) or "_" for word in words.split("."))


@dataclass(frozen=True, slots=True)
class Message:
    """What is published of an event: the same each time."""

    subject: str
    headers: dict[str, str]
    body: bytes


def message(sink: Sink, event: Event) -> Message:
    """Say an event as a CloudEvent. JetStream knows it again by `Nats-Msg-Id`, which is the event's id."""
    if sink.mode == "structured":
        headers, body = {"content-type": cloudevents.STRUCTURED}, cloudevents.structured(event, sink.source)
    else:
        headers, body = cloudevents.binary(event, sink.source)
    subject = f"{sink.subject}.{subject_of(event.type)}"
    cause = traces.traceparent(event.trace)
    traced = {} if cause is None else {traces.HEADER: cause}
    return Message(subject, {"Nats-Msg-Id": event.event_id, **headers, **traced}, body)
