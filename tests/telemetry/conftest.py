"""A program that has OpenTelemetry set up, and a whole server with a database of its own."""

from __future__ import annotations

import base64
import threading
from contextlib import asynccontextmanager

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from steadhold.server.app import App
from steadhold.server.run import listen, serving, url_of
from steadhold.server.settings import Settings
from steadhold.telemetry.spans import ENDING
from tests.server.conftest import key_of

SEALING_KEY = base64.b64encode(bytes(32)).decode()


class Spans:
    """What was exported, once the thread has ended what was."""

    def __init__(self, provider, exporter):
        self.provider, self._exporter = provider, exporter

    @property
    def all(self):
        assert ENDING.flush(30)
        return self._exporter.get_finished_spans()

    def named(self, name):
        return [span for span in self.all if span.name == name]


class Stalled(SpanExporter):
    """A collector that does not answer."""

    def __init__(self):
        self.asked, self.free = threading.Event(), threading.Event()
        self.served, self.keeps_us = threading.get_ident(), False

    def export(self, spans):
        self.asked.set()
        if threading.get_ident() == self.served:
            self.keeps_us = True
        else:
            self.free.wait(60)
        return SpanExportResult.SUCCESS


@pytest.fixture
def provided(monkeypatch):
    """Let a provider be the program's for this test."""

    def provide(exporter):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
        return provider

    return provide


@pytest.fixture
def spans(provided):
    exporter = InMemorySpanExporter()
    return Spans(provided(exporter), exporter)


class Whole:
    """A server with its background work, over a database of its own, and a key of a workspace there."""

    def __init__(self, app, url, key, workspace):
        self.app, self.url, self.key, self.workspace = app, url, key, workspace

    @property
    def place(self):
        return {"url": self.url, "api_key": self.key}


@asynccontextmanager
async def whole(database, **settings):
    at = Settings(
        database_url=database.dsn, pool_size=6, port=0, sealing_key=SEALING_KEY,
        webhooks_allow=("http://127.0.0.0/8:*",), **settings,
    )  # fmt: skip
    app, listener = App(at), listen(at)
    workspace = database.new_workspace()
    try:
        async with serving(app, listener):
            yield Whole(app, url_of(at, listener), await key_of(app, workspace), workspace)
    finally:
        listener.close()


@pytest.fixture
async def server(fresh_database):
    async with whole(fresh_database) as made:
        yield made
