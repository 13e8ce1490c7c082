"""Fixtures for the whole suite, which are the public ones, and what `make` chooses tests by."""

from __future__ import annotations

import signal
from pathlib import Path

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what it runs beside itself
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["steadhold.testing.fixtures"]

TESTS = Path(__file__).parent
FOLDERS = {"journeys": "journeys", "faults": "journeys", "upgrade": "journeys", "docs": "docs"}
FILES = {"test_races.py": "races", "test_guide.py": "docs"}


def pytest_collection_modifyitems(items):
    """Mark each test with its tier and with whether it needs PostgreSQL, so that `make` can choose."""
    for item in items:
        path = item.path.relative_to(TESTS)
        tier = FOLDERS.get(path.parts[0]) or FILES.get(path.name)
        if tier:
            item.add_marker(tier)
        if "database" in item.fixturenames:
            item.add_marker("database")
