"""Spans: none without OpenTelemetry, children of what is named as their cause, and ended where nobody waits."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry import trace

from steadhold import AsyncClient
from steadhold.telemetry import caused, current
from steadhold.telemetry.spans import ENDING, begin, doing
from tests.telemetry.conftest import Stalled

GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_span_is_a_child_of_what_is_named_as_its_cause(spans):
    span = begin("paint", "SERVER", GIVEN, {"a": "x", "b": None})
    span.end(name="painted", failed=True, error__type="Dry")
    (told,) = spans.all
    assert (told.name, dict(told.attributes)) == ("painted", {"a": "x", "error.type": "Dry"})
    assert told.parent.span_id == 0x00F067AA0BA902B7
    assert span.traceparent == f"00-4bf92f3577b34da6a3ce929d0e0e4736-{told.context.span_id:016x}-01"
    assert told.status.status_code is trace.StatusCode.ERROR


@pytest.mark.parametrize("cause", [None, "", "my-own-id", GIVEN.replace("4b", "4B"), "00-" + "0" * 32 + GIVEN[35:]])
def test_what_names_no_trace_begins_one_also_under_a_current_span(spans, cause):
    with trace.get_tracer("t").start_as_current_span("stranger"):
        begin("loop", "INTERNAL", cause, {}).end()
    (told,) = spans.named("loop")
    assert told.parent is None


def test_a_cause_that_is_not_sampled_stays_so(spans):
    span = begin("paint", "SERVER", GIVEN[:-2] + "00", {})
    span.end()
    assert (spans.all, span.traceparent[:36], span.traceparent[-2:]) == ((), GIVEN[:36], "00")


def test_with_the_interface_alone_the_cause_is_passed_on(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    span = begin("paint", "SERVER", GIVEN, {})
    span.end()
    assert span.traceparent == GIVEN
    assert begin("paint", "SERVER", None, {}).traceparent is None


def test_where_nobody_has_set_it_up_there_are_no_spans(monkeypatch):
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    assert begin("paint", "SERVER", GIVEN, {}) is None


def test_the_current_span_goes_with_a_request(spans):
    assert (current(), caused({"a": "b"})) == (None, {"a": "b"})
    with trace.get_tracer("t").start_as_current_span("order") as order:
        here = order.get_span_context()
        assert caused({"a": "b"}) == {"a": "b", "traceparent": f"00-{here.trace_id:032x}-{here.span_id:016x}-01"}


def test_what_a_block_raises_is_told_by_its_class_alone(spans):
    with pytest.raises(ValueError, match="canary"), doing("stage", {}):
        raise ValueError("canary")
    (told,) = spans.all
    assert dict(told.attributes) == {"error.type": "ValueError"}
    assert "canary" not in told.to_json()


def test_nothing_loads_opentelemetry():
    code = (
        "import sys; from steadhold.telemetry.spans import begin, current, doing;"
        f"assert current() is None and begin('x', 'SERVER', {GIVEN!r}, {{}}) is None\n"
        "with doing('x', {}): pass\n"
        "import steadhold.worker, steadhold.server.app\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_sampler_that_fails_costs_the_span_alone(monkeypatch, spans):
    monkeypatch.setattr(spans.provider, "get_tracer", lambda *_: 1 / 0)
    monkeypatch.setattr("steadhold.telemetry.spans._tracers", {})
    assert begin("paint", "SERVER", GIVEN, {}) is None


def test_a_collector_that_does_not_answer_keeps_nobody_waiting(provided):
    stalled = Stalled()
    provided(stalled)
    try:
        for _ in range(3):
            begin("paint", "SERVER", None, {}).end()
        assert stalled.asked.wait(30)
        assert not stalled.keeps_us
        assert not ENDING.flush(0.01)
    finally:
        stalled.free.set()
    assert ENDING.flush(30)


async def test_a_change_is_answered_while_no_collector_answers(provided, server):
    stalled = Stalled()
    provided(stalled)
    try:
        async with AsyncClient(**server.place) as client:
            await client.state.create("a", 1)
            assert await asyncio.to_thread(stalled.asked.wait, 30)
            assert (await client.state.get("a")).value == 1
        assert not stalled.keeps_us
    finally:
        stalled.free.set()
    assert ENDING.flush(30)
