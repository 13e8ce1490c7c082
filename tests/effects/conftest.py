from __future__ import annotations

import pytest

from tests.effects.people import Desk


@pytest.fixture
def desk(conn, workspace):
    return Desk(conn, workspace)
