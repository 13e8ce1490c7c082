"""Fixtures for the whole suite, which are the public ones, and what `make` chooses tests by."""

from __future__ import annotations

import gc
import itertools
import re
import signal
import sys
from pathlib import Path

import pytest

from tests.standing import standing

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what it runs beside itself
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["steadhold.testing.fixtures"]

TESTS = Path(__file__).parent
FOLDERS = {"journeys": "journeys", "faults": "journeys", "upgrade": "journeys", "docs": "docs"}
FILES = {"test_races.py": "races", "test_guide.py": "docs", "test_tidy.py": "tidy", "test_laws.py": "tidy"}
MARKS = ("races", "journeys", "docs", "tidy", "soak", "database")
PATIENCE_SECONDS = 600
"""How long a machine may go on, of which most take a tenth of that where nothing else runs."""


@pytest.fixture(autouse=True)
def lines_as_they_come(monkeypatch):
    """How log lines are written is the process's, and one test's choice is not the next one's."""
    if lines := sys.modules.get("steadhold.telemetry.lines"):
        monkeypatch.setattr(lines, "_formatted", False)


def pytest_collection_finish():
    """Ten thousand tests stay until the end: they need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def clock(clock, database):
    """The database's clock, which stands unless the test moves it."""
    with standing(database):
        yield clock


def pytest_ignore_collect(collection_path, config):
    """Leave a file unread of which no test can be chosen: to load them all takes longer than to run a tier."""
    if collection_path.match("test_*.py") and collection_path.is_relative_to(TESTS):
        text = collection_path.read_text(encoding="utf-8")
        return None if _may_be_chosen(config.option.markexpr, _tier(collection_path), text) else True
    return None


def pytest_pycollect_makemodule(module_path):
    """Properties are judged by their answers: on a busy machine an example may take its time."""
    if "hypothesis" in module_path.read_text(encoding="utf-8"):
        from hypothesis import HealthCheck, settings  # most tests need not wait for it

        settings.register_profile("patient", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
        settings.load_profile("patient")


def _may_be_chosen(chosen, tier, text):
    """Whether `-m` takes a test of a file of this tier that has some of the marks that the file names."""
    sure = {tier, *re.findall(r"^pytestmark = \[?pytest\.mark\.(\w+)\b", text, re.MULTILINE)}
    named = {"database", *re.findall(r"mark\.(\w+)", text)} & {*MARKS} - sure
    return any(
        _takes(chosen, dict.fromkeys(MARKS, False) | dict(zip(named, marks, strict=True)) | dict.fromkeys(sure, True))
        for marks in itertools.product((False, True), repeat=len(named))
    )


def _takes(chosen, marks):
    try:
        return not chosen or eval(chosen, {}, marks)  # marks, and what Python has for joining truths
    except (NameError, SyntaxError):
        return True


def _tier(file):
    path = file.relative_to(TESTS)
    return FOLDERS.get(path.parts[0]) or FILES.get(path.name)


def pytest_collection_modifyitems(items):
    """Mark each test with its tier and with whether it needs PostgreSQL, so that `make` can choose.

    Machines take their time.
    """
    for item in items:
        if tier := _tier(item.path):
            item.add_marker(tier)
        if "database" in item.fixturenames:
            item.add_marker("database")
        if "machine" in item.path.stem and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(PATIENCE_SECONDS))
