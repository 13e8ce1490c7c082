"""Spans of OpenTelemetry, where the program has it set up. Nothing here loads it: who has not, pays a look-up.

A span is begun where something happens, for what it causes is named after it. It is ended by a thread: processors and
exporters act then, and however long they take, nobody who is served waits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from steadhold.kit.traces import HEADER, traceparent
from steadhold.telemetry.background import Background

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span as Recorded
    from opentelemetry.trace import SpanContext, Tracer, TracerProvider

Kind: TypeAlias = Literal["INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
Facts: TypeAlias = Mapping[str, "str | int | None"]

NAME: Final = "steadhold"
ENDING: Final = Background("steadhold-spans")
_tracers: dict[int, tuple[TracerProvider, Tracer]] = {}


class Span:
    """Something that goes on. `traceparent` is what it causes is to name as its cause."""

    __slots__ = ("_recorded", "traceparent")

    def __init__(self, recorded: Recorded, caused_by: str | None) -> None:
        self._recorded = recorded
        context = recorded.get_span_context()
        self.traceparent = _written(context) if context.is_valid else caused_by

    def end(self, *, name: str | None = None, failed: bool = False, **facts: str | int | None) -> None:
        """It is over now. Facts by their names with dots for `__`; what is None is left out."""
        if self._recorded.is_recording():
            ENDING.do(_end, self._recorded, time.time_ns(), name, failed, facts)

    @contextmanager
    def current(self) -> Generator[None]:
        """What runs in the block finds it as the current span."""
        with _otel().use_span(self._recorded, record_exception=False, set_status_on_exception=False):
            yield


def _end(recorded: Recorded, at: int, name: str | None, failed: bool, facts: Facts) -> None:  # noqa: FBT001 - as it is queued
    if name is not None:
        recorded.update_name(name)
    recorded.set_attributes(_said({word.replace("__", "."): fact for word, fact in facts.items()}))
    if failed:
        recorded.set_status(_otel().StatusCode.ERROR)
    recorded.end(at)


def wanted() -> bool:
    """Whether the program has set up OpenTelemetry."""
    return _set_up() is not None


def begin(name: str, kind: Kind, caused_by: str | None, facts: Facts, at: float | None = None) -> Span | None:
    """Begin a span now, or at a Unix time; None where the program has not set up OpenTelemetry.

    Its parent is what `caused_by` names, which may be no traceparent: then it has none. The current span is no parent
    unless it is named: loops inherit that of whoever began them, and would be part of it for ever.
    """
    if (otel := _set_up()) is None:
        return None
    given = traceparent(caused_by)
    since = None if at is None else int(min(at, time.time()) * 1e9)
    try:
        recorded = _tracer(otel).start_span(
            name, _context(otel, given), otel.SpanKind[kind], _said(facts), start_time=since
        )
    except Exception:  # noqa: BLE001 - what somebody else's sampler does is no reason not to serve
        return None
    return Span(recorded, given)


def current() -> str | None:
    """The traceparent of the current span of this program; None where there is none."""
    if (otel := _set_up()) is None:
        return None
    context = otel.get_current_span().get_span_context()
    return _written(context) if context.is_valid else None


def caused(fields: Mapping[str, str]) -> dict[str, str]:
    """Header fields, and that which names the current span as the cause, if there is one."""
    cause = current()
    return {**fields} if cause is None else {**fields, HEADER: cause}


@contextmanager
def doing(name: str, facts: Facts) -> Generator[None]:
    """The block is a span, under the current one, and current in it. What it raises is told by its class alone."""
    span = begin(name, "INTERNAL", current(), facts)
    if span is None:
        yield
        return
    try:
        with span.current():
            yield
    except BaseException as error:
        span.end(failed=True, error__type=type(error).__name__)
        raise
    span.end()


def _set_up() -> Any:
    """OpenTelemetry, where somebody has set it up: some library or other may have loaded it."""
    otel = sys.modules.get("opentelemetry.trace")
    return None if otel is None or isinstance(otel.get_tracer_provider(), otel.ProxyTracerProvider) else otel


def _otel() -> Any:
    return sys.modules["opentelemetry.trace"]


def _tracer(otel: Any) -> Tracer:
    provider = otel.get_tracer_provider()
    found = _tracers.get(id(provider))
    if found is None or found[0] is not provider:
        from steadhold import __version__

        _tracers.clear()
        found = _tracers[id(provider)] = provider, provider.get_tracer(NAME, __version__)
    return found[1]


def _context(otel: Any, given: str | None) -> Context:
    if given is None:
        return otel.set_span_in_context(otel.INVALID_SPAN)
    _, trace, parent, flags = given.split("-")
    context = otel.SpanContext(
        int(trace, 16), int(parent, 16), is_remote=True, trace_flags=otel.TraceFlags(int(flags, 16) & 1)
    )
    return otel.set_span_in_context(otel.NonRecordingSpan(context))


def _written(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"


def _said(facts: Facts) -> dict[str, str | int]:
    return {name: fact for name, fact in facts.items() if fact is not None}
