from __future__ import annotations

from tests.faults.servers import house, key, place  # noqa: F401 - fixtures
