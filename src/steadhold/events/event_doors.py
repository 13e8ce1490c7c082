"""Events over HTTP, as they were written: an aggregate's history, an event, its data, what led to it."""

from __future__ import annotations

from steadhold.events import answers, reading, wire
from steadhold.events.model import Causes, Event, EventsPruned, History
from steadhold.kit import exact, limits
from steadhold.kit.outcome import Missing
from steadhold.kit.page import page
from steadhold.web import problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request


def history(ask: Request) -> Ask[History | EventsPruned | Missing]:
    """An aggregate's events above a revision, oldest first."""
    most, place = query.limit(ask), query.cursor(ask, "events", int)
    after = query.whole(ask, "after_revision") or 0

    def render(found: History | EventsPruned | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        if isinstance(found, EventsPruned):
            first = {"first_retained_revision": found.first_retained_revision}
            return Problem("events_pruned", "Some of the events asked for are not kept any more.", first)
        return reply.listing(ask, page(found.events, most, "events", _place_of, cut=found.cut), answers.event)

    call = reading.history.call(
        ask.workspace, ask.params["id"], place[0] if place else after, most + 1,
        bytes_max=limits.EVENTS_PAGE_BYTES_MAX,
    )  # fmt: skip
    return Ask(call, render)


def _place_of(found: Event) -> tuple[int]:
    return (found.aggregate_revision,)


def event(ask: Request) -> Ask[Event | Missing]:
    """An event."""
    call = reading.get.call(ask.workspace, ask.params["id"])
    return Ask(call, lambda found: problem.MISSING if isinstance(found, Missing) else reply.json(answers.event(found)))


def data(ask: Request) -> Ask[Event | Missing]:
    """The bytes of an event's inline data, as they were written."""

    def render(found: Event | Missing) -> Answer:
        if isinstance(found, Missing) or found.data is None:
            return problem.MISSING
        media = "application/json" if exact.check(found.data) is None else "application/octet-stream"
        return Reply(200, found.data, media)

    return Ask(reading.get.call(ask.workspace, ask.params["id"]), render)


def causes(ask: Request) -> Ask[Causes | Missing]:
    """What led to an event, nearest first."""

    def render(found: Causes | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.MISSING
        items = [answers.event(one) for one in found.events]
        return reply.json(wire.CausesReply(items=items, complete=not (found.more or found.lost), pruned=found.lost))

    return Ask(reading.causes.call(ask.workspace, ask.params["id"]), render)
