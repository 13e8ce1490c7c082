"""What a log line shows of what happened, and of a failure; how lines leave without keeping anybody waiting."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import redirect_stderr

import asyncpg
import pytest
import structlog

from steadhold.server import logs
from steadhold.telemetry import lines, plainly

CANARY = "c4n4ry"


@pytest.fixture
def configured():
    """Set logging up as a program does, writing to a text; undone afterwards."""
    root, before = logging.getLogger(), logging.getLogger("steadhold").level
    kept, level, uvicorn = root.handlers[:], root.level, logging.getLogger("uvicorn.error").level
    written = io.StringIO()

    def configure(*how):
        with redirect_stderr(written):
            logs.configure(*how)
        return written

    yield configure
    root.handlers[:] = kept
    root.setLevel(level)
    logging.getLogger("steadhold").setLevel(before)
    logging.getLogger("uvicorn.error").setLevel(uvicorn)
    structlog.reset_defaults()
    lines._formatted = False


def read(written):
    assert logs.WRITING.flush(30)
    return [json.loads(line) for line in written.getvalue().splitlines()]


def test_a_line_is_one_object_of_json(configured):
    written = configured("json", "info")
    lines.logger("steadhold.test").info("request", route="/v1/jobs", status=202)
    logging.getLogger("steadhold.worker").warning("The lease of %s is lost.", "j")
    ours, theirs = read(written)
    assert {ours.pop("timestamp")[10], theirs.pop("timestamp")[10]} == {"T"}
    assert ours == {"event": "request", "level": "info", "route": "/v1/jobs", "status": 202}
    assert theirs == {"event": "The lease of j is lost.", "level": "warning"}


def test_requests_are_not_logged_unless_asked_for(configured):
    written = configured("json")
    assert not logging.getLogger("steadhold.told").isEnabledFor(logging.INFO)
    lines.logger("steadhold.test").info("request")
    assert read(written) == []


def refused(data):
    error = asyncpg.CheckViolationError(f'new row violates check "c"\nDETAIL:  Failing row contains ({data}).')
    error.sqlstate, error.constraint_name = "23514", "c"
    raise error


def failing(data):
    try:
        refused(data)
    except asyncpg.CheckViolationError as error:
        raise LookupError("the row is gone") from error


def test_a_failure_is_told_with_its_place_and_without_what_the_database_quotes(configured):
    written = configured("json")
    try:
        failing(CANARY)
    except LookupError:
        lines.logger("steadhold.test").exception("unforeseen")
    (line,) = read(written)
    assert CANARY not in json.dumps(line)
    told = line["exception"]
    assert "CheckViolationError: sqlstate=23514 constraint_name=c" in told
    assert told.rstrip().endswith("LookupError: the row is gone")
    assert "in failing" in told


def test_why_is_one_line_and_shows_nothing_of_an_argument():
    said = asyncpg.DataError(f"invalid input for query argument $1: {CANARY!r} (expected bytes)")
    assert plainly.why(said).startswith("DataError")
    assert CANARY not in plainly.why(said)
    assert plainly.why(TimeoutError()) == "TimeoutError"


def test_a_mounted_server_hands_its_lines_to_the_hosts_logging(caplog):
    with caplog.at_level(logging.INFO, "steadhold"):
        try:
            failing(CANARY)
        except LookupError as error:
            lines.logger("steadhold.mounted").error("unforeseen", exc_info=error, route="/v1/jobs")
    (record,) = caplog.records
    assert record.getMessage().startswith("unforeseen route=/v1/jobs\n")
    assert record.steadhold == {"route": "/v1/jobs"}
    assert "LookupError: the row is gone" in record.getMessage()
    assert CANARY not in record.getMessage()


def test_whoever_does_not_read_the_lines_keeps_nobody_waiting():
    asked, free, ours, kept = threading.Event(), threading.Event(), threading.get_ident(), []

    def full(_line):
        asked.set()
        if threading.get_ident() == ours:
            kept.append(ours)
        else:
            free.wait(60)

    aside = logs.Aside(full)
    try:
        for _ in range(3):
            aside.handle(logging.makeLogRecord({"msg": "x"}))
        assert asked.wait(30)
        assert not kept
        assert not logs.WRITING.flush(0.01)
    finally:
        free.set()
    assert logs.WRITING.flush(30)


def test_a_line_for_people_moves_no_cursor_and_is_one(configured):
    written = configured("text")
    logging.getLogger("steadhold.worker").warning("Job %s\x1b[2J\nforged", "j")
    gone = LookupError("gone\x1b[2J")
    lines.logger("steadhold.test").error("unforeseen", exc_info=gone, type="a\x1b[2J\nforged")
    assert logs.WRITING.flush(30)
    shown = written.getvalue()
    assert "\x1b[2J" not in shown
    assert not [line for line in shown.splitlines() if line.startswith("forged")]
    assert "LookupError: gone" in shown


UNREAD = """
import select
from steadhold.server import logs
from steadhold.telemetry.background import Background
from steadhold.telemetry.lines import logger
Background.flush.__defaults__ = (0.0,)
logs.configure("json", "info")
for _ in range(3):
    logger("steadhold.test").info("request", route="x" * 100_000)
while select.select([], [2], [], 0)[1]:
    pass
"""


def test_a_process_ends_though_nobody_reads_its_lines():
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    process = subprocess.Popen([sys.executable, "-c", UNREAD], stderr=subprocess.PIPE, env=buffered)
    try:
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
