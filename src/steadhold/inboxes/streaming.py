"""An inbox followed for as long as its reader likes, as Server-Sent Events (WHATWG HTML §9.2)."""

from __future__ import annotations

from typing import Final

from steadhold.inboxes import plans, reading
from steadhold.inboxes import refusing as no
from steadhold.inboxes.model import Page, ReadOutcome, Received
from steadhold.kit.ids import is_id
from steadhold.kit.limits import FENCE_NUMBER_MAX
from steadhold.web import problem, query
from steadhold.web.ask import REST, Answer, Ask, Pieces, Reply, Request, Route, Stream
from steadhold.web.problem import stop

EVENTS: Final = "text/event-stream"
PAGE_BYTES: Final = 65_536
"""So much of an inbox is in memory for each of its streams, and an event that is larger."""

PAGE_EVENTS: Final = 100
LINES_MAX: Final = 1_000
"""Lines of one event's data. Each costs the format a field, so a megabyte of line ends would be seven."""

_SILENCE: Final = b":\n\n"


def follow(ask: Request) -> Ask[ReadOutcome]:
    """Send what follows a position, and all that is appended after it."""
    name = ask.params["inbox"]
    epoch, after = _position(ask)

    def render(outcome: ReadOutcome) -> Answer:
        if not isinstance(outcome, Page):
            return no.refused(outcome)
        first = [outcome]  # taken out as it begins: the stream may last for long after its first page
        body = Stream(lambda: _told(ask.workspace, name, first.pop()), True, (("inbox", name),), _SILENCE)
        return Reply(200, content_type=EVENTS, stream=body)

    return Ask(plans.read.call(ask.workspace, name, epoch, after, PAGE_EVENTS, PAGE_BYTES), render)


def _position(ask: Request) -> tuple[str | None, int | None]:
    """Where it begins: `Last-Event-ID`, which a client sends that connects again, goes before what the address says."""
    epoch, after = query.text(ask, "epoch"), query.whole(ask, "after")
    last = ask.headers.get("last-event-id")
    if last:
        epoch, _, number = last.rpartition(":")
        if not (is_id(epoch) and number.isascii() and number.isdecimal() and len(number) <= len(str(FENCE_NUMBER_MAX))):
            stop("bad_header", "Last-Event-ID is an epoch and a number, with a colon between.", field="Last-Event-ID")
        return epoch, int(number)
    if after is not None and epoch is None:
        stop("epoch_required", "A position is an epoch and a number: send both, as you have read them.")
    return epoch, after


def _told(workspace: str, inbox: str, outcome: ReadOutcome) -> Pieces:
    """Each page in turn, until there is none any more; then why."""
    first = True  # what was appended while the stream began gave nobody a hint
    while isinstance(outcome, Page):
        told = _page(outcome)
        epoch, after, caught_up = outcome.epoch, outcome.next_after, outcome.next_after >= outcome.last_sequence
        del outcome
        if told:
            yield told
        del told
        if caught_up and not first:
            yield REST
        first = False
        outcome = yield plans.read.call(workspace, inbox, epoch, after, PAGE_EVENTS, PAGE_BYTES)
    yield _event(b"problem", None, problem.encode(no.refused(outcome)))


def _page(page: Page) -> bytes:
    """What is gone, then what is there. The id of a gap is its end, so that it is not told again to who has seen it."""
    gaps = [_event(b"gap", _id(page, gap.to_sequence), reading.gap(gap)) for gap in page.gaps]
    events = [_event(None, _id(page, event.sequence), _written(event)) for event in page.events]
    return b"".join([*gaps, *events])


def _written(event: Received) -> bytes:
    """The JSON that a page has for it, where the format can carry that: it knows no carriage return."""
    body = event.body or b""
    return reading.lined(event) if b"\r" in body or body.count(b"\n") >= LINES_MAX else reading.written(event)


def _id(page: Page, sequence: int) -> bytes:
    return b"%b:%d" % (page.epoch.encode(), sequence)


def _event(kind: bytes | None, id: bytes | None, data: bytes) -> bytes:
    lines = [
        *([b"event: %b\n" % kind] if kind else ()),
        *([b"id: %b\n" % id] if id else ()),
        *[b"data: %b\n" % line for line in data.split(b"\n")],
    ]
    return b"".join([*lines, b"\n"])


STREAMS: Final = (
    Route("GET", "/v1/inboxes/{inbox}/stream", follow, "inboxes:read", "Follow an inbox as it grows", scoped="inbox",
          query=("epoch", "after"), headers=("last-event-id",), answers=(EVENTS,),
          problems=("epoch_required", "inbox_restored", "beyond_head", "too_many_streams")),
)  # fmt: skip
