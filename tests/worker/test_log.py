"""What a worker logs holds nothing of others that a terminal would obey, whatever formats it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import steadhold.worker
from steadhold.worker.log import LOG

EVIL = "a\x1b[31mRED\x1b]0;title\x07\rb\u202e"
PLAIN = "a\ufffd[31mRED\ufffd]0;title\ufffd\ufffdb\ufffd"


@pytest.fixture
def formatted(caplog):
    """The lines so far, as a handler writes them that nobody has told anything."""
    return lambda: "\n".join(map(logging.Formatter("%(message)s").format, caplog.records))


def test_a_traceback_is_plain(formatted):
    error = RuntimeError(EVIL + "\tand\nmore")
    error.__cause__ = ValueError(EVIL)
    LOG.error("Job %s of type %s failed.", 7, "t", exc_info=error)
    said = formatted()
    assert said.startswith(f"Job 7 of type t failed.\nValueError: {PLAIN}\n")
    assert said.endswith(f"RuntimeError: {PLAIN}\tand\nmore")


def test_a_line_is_plain(formatted):
    LOG.warning("%s failed, and is said again: %s", "claim", ValueError(EVIL))
    LOG.warning("on(%r, …) raised after %d s.", EVIL, 3)
    assert formatted() == f"claim failed, and is said again: {PLAIN}\non({PLAIN!r}, …) raised after 3 s."


def test_a_worker_logs_by_one_door():
    files = Path(steadhold.worker.__file__).parent.glob("*.py")
    assert [file.name for file in files if "getLogger" in file.read_text(encoding="utf-8")] == ["log.py"]
