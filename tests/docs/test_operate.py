"""docs/operate.md says how long rows are kept as the settings have it."""

from __future__ import annotations

import re

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.server.settings import Retention
from tests.docs.blocks import PAGES

KEPT = PAGES["operate"].partition("\n## Retention\n")[2].partition("\n## ")[0]
WINDOWS = msgspec.structs.asdict(Retention())


@pytest.mark.parametrize("window", WINDOWS)
def test_each_window_is_told_with_its_days(window):
    (days,) = re.findall(rf"`{window}`, (\d+) days", KEPT)
    assert int(days) * 86_400 == WINDOWS[window]


def test_how_many_revisions_are_kept_is_told():
    assert f"the last {limits.REVISIONS_KEPT_DEFAULT} of a name" in KEPT
