"""pytest fixtures: name this module in `pytest_plugins` of your top conftest.py."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio."""
    return "asyncio"
