"""The one subscriber: what is answered, passed on and delivered becomes counts, spans and log lines.

It is told ids, routes, states and times. It is never shown a body, a name in a path, a key, or an address.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar

from steadhold.events.flow import Answer, Append, Publication, Taken, Taker
from steadhold.events.model import Event
from steadhold.events.publishing import Play
from steadhold.kit.plan import Call, Plan
from steadhold.kit.traces import trace_id, traceparent
from steadhold.telemetry import lines, spans
from steadhold.telemetry.spans import Facts, Span
from steadhold.web.above import Seen
from steadhold.webhooks.dispatch import Done
from steadhold.webhooks.model import Result, Sending

T = TypeVar("T")

LOG: Final = lines.logger("steadhold.told")
_LEVEL: Final = logging.getLogger("steadhold.told")

IDS: Final = frozenset({"approval", "delivery", "effect", "job", "replay", "schedule", "webhook"})
"""Kinds of things whose ids a line shows; of others the id is a path or a name that users chose."""

METHODS: Final = frozenset({"CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"})
"""What is told by its name. Other ASGI servers let any word pass, and each would be a series of its own for ever."""


class Subscriber:
    """Told of what happens, after it has."""

    def __init__(self, count: Callable[[Seen], None]) -> None:
        self._count = count
        self._noted: list[Callable[[], None]] = []

    def begin(self, given: str | None) -> tuple[str | None, Span | None]:
        """A request has come: what it causes is to name the one as its cause; the other is its span."""
        cause = None if given is None else traceparent(given)
        if not spans.wanted():
            return cause, None
        span = spans.begin("request", "SERVER", spans.current() or cause, {})
        return (cause, None) if span is None else (span.traceparent, span)

    def served(self, seen: Seen) -> None:
        """A request was answered."""
        if seen.method not in METHODS:
            seen = replace(seen, method="_OTHER")
        self._count(seen)
        turn = seen.of
        if turn.span is not None:
            turn.span.end(
                name=f"{seen.method} {seen.route}".rstrip(),
                failed=seen.status >= 500,
                http__request__method=seen.method,
                http__route=seen.route or None,
                http__response__status_code=seen.status,
                steadhold__workspace=turn.workspace or None,
                steadhold__operation__id=turn.operation,
                steadhold__problem=seen.code,
                **{f"steadhold__{kind}__id": id for kind, id in _about(seen.about)},
            )
        if _LEVEL.isEnabledFor(logging.INFO):
            _line(
                "request", turn.cause, workspace=turn.workspace or None, route=seen.route, method=seen.method,
                status=seen.status, code=seen.code, duration_ms=round(seen.seconds * 1e3, 3),
                operation_id=turn.operation, **{f"{kind}_id": id for kind, id in _about(seen.about)},
            )  # fmt: skip

    def playing(self, play: Play) -> Play:
        """A player of the relay's calls. What they pass on is told once it is committed, however often they began."""

        async def played(call: Call[T]) -> T:
            noted: list[Callable[[], None]] = []
            answer = await play(replace(call, begin=partial(self._noting, call, noted)))
            for tell in noted:
                tell()
            return answer

        return played

    def _noting(self, call: Call[T], noted: list[Callable[[], None]]) -> Plan[T]:
        """The call's plan, which begins to note anew with it; other plans go on between its steps."""
        noted.clear()
        plan = call.begin()
        hands: Any = None
        try:
            while True:
                self._noted = noted
                try:
                    step = plan.send(hands)
                except StopIteration as end:
                    return end.value
                hands = yield step
        finally:
            plan.close()

    def taking(self, take: Taker) -> Taker:
        """A taker of what the relay matched, of which is told what it was given."""

        def taken(workspace: str, happened: Sequence[Event]) -> Plan[None]:
            yield from take(workspace, happened)
            self._noted += [partial(self._passed_on, workspace, event, "event", None) for event in happened]

        return taken

    def appending(self, append: Append) -> Append:
        """A target that the relay publishes to, of which is told what it took."""

        def appended(workspace: str, name: str, batch: Sequence[Publication]) -> Plan[list[Answer]]:
            answers = yield from append(workspace, name, batch)
            for one, answer in zip(batch, answers, strict=True):
                if isinstance(answer, Taken):
                    self._noted.append(partial(self._passed_on, workspace, one.event, "publish", one.target))
            return answers

        return appended

    def _passed_on(self, workspace: str, event: Event, what: str, target: str | None) -> None:
        if traceparent(event.trace) is not None:
            facts: Facts = {**_event(workspace, event), "steadhold.target": target}
            span = spans.begin(f"{what} {event.type}", "PRODUCER", event.trace, facts, event.occurred_at.timestamp())
            if span is not None:
                span.end()
        if _LEVEL.isEnabledFor(logging.INFO):
            job = event.aggregate_id.removeprefix("job:") if event.aggregate_id.startswith("job:") else None
            _line(what, event.trace, workspace=workspace, event_id=event.event_id, type=event.type, job_id=job,
                  target=target)  # fmt: skip

    def attempted(self, workspace: str, webhook: str, sending: Sending) -> tuple[Sending, Done]:
        """An attempt of a webhook begins: as it is to be made, and who is told what it came to."""
        began, span = time.perf_counter(), None
        if traceparent(sending.trace) is not None:
            facts: Facts = {
                "steadhold.workspace": workspace, "steadhold.webhook.id": webhook, "steadhold.attempt": sending.n,
                "steadhold.delivery.id": sending.delivery, "steadhold.event.id": sending.event_id,
            }  # fmt: skip
            span = spans.begin("deliver", "CLIENT", sending.trace, facts)
            sending = sending if span is None else replace(sending, trace=span.traceparent)

        def done(result: Result) -> None:
            if span is not None:
                span.end(
                    failed=result.state != "delivered",
                    http__response__status_code=result.status,
                    steadhold__attempt__state=result.state,
                )
            if _LEVEL.isEnabledFor(logging.INFO):
                _line(
                    "deliver", sending.trace, workspace=workspace, webhook_id=webhook, event_id=sending.event_id,
                    delivery_id=sending.delivery, attempt=sending.n, state=result.state, status=result.status,
                    duration_ms=round((time.perf_counter() - began) * 1e3, 3),
                )  # fmt: skip

        return sending, done


def _about(about: str | None) -> list[tuple[str, str]]:
    kind, _, id = (about or "").partition(":")
    return [(kind, id)] if kind in IDS else []


def _event(workspace: str, event: Event) -> dict[str, str]:
    return {
        "steadhold.workspace": workspace,
        "steadhold.event.id": event.event_id,
        "steadhold.event.type": event.type,
        "messaging.system": "steadhold",
        "messaging.message.id": event.event_id,
    }


def _line(what: str, trace: str | None, **facts: Any) -> None:
    told = {name: fact for name, fact in facts.items() if fact is not None}
    LOG.info(what, **told, **({} if (named := trace_id(trace)) is None else {"trace_id": named}))
