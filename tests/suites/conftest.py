"""Where the outside suites lie, and what is wrong when they do not.

They are no part of the repository: the folder is named by STEADHOLD_SUITES, or lies beside the
checkout. Without it CI fails and a developer's run skips; a suite that is there and has shrunk
fails everywhere.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def suite_root(environ=os.environ, beside=BESIDE):
    """The folder of all suites; fails in CI and skips elsewhere when it is missing."""
    root = Path(environ.get("STEADHOLD_SUITES") or beside)
    if not root.is_dir():
        missing = f"no outside suites at {root}: set STEADHOLD_SUITES to their folder"
        (pytest.fail if environ.get("CI") else pytest.skip)(missing)
    return root


def suite_files(root, pattern, at_least):
    """The files of a suite in order; fails when there are fewer than its SOURCE.txt says."""
    found = sorted(root.glob(pattern))
    if len(found) < at_least:
        pytest.fail(f"{root} holds {len(found)} of at least {at_least} {pattern}")
    return found


@pytest.fixture(scope="session")
def suites():
    return suite_root()
