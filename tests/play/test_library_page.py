"""What docs/library.md shows is run: together, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steadhold import jobs, locks, state

pytestmark = pytest.mark.docs

PAGE = (Path(__file__).parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
PROGRAM, MISUSE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("taken", [False, True])
def test_the_program_runs(dsn, workspace, committed, taken):
    if taken:
        with committed.transaction():
            locks.acquire(committed, workspace, "warehouse", "somebody", 30)
    names = {"dsn": dsn}
    exec(PROGRAM.replace('"acme"', repr(workspace)), names)
    assert isinstance(names["sent"], jobs.Submitted)
    assert isinstance(names["told"], state.Written)
    with committed.transaction():
        there = isinstance(state.get(committed, workspace, "orders/41"), state.Stored)
    assert there is not taken


def test_what_is_misused_says_so(dsn, workspace):
    names = {"dsn": dsn}
    exec(PROGRAM.partition("with ")[0] + MISUSE.replace('"acme"', repr(workspace)), names)
    assert names["told"] in MISUSE.partition("# ")[2]
