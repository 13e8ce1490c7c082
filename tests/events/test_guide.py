"""The guide says what is so."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import get_type_hints

import pytest

from steadhold import events
from steadhold.events.model import OURS

pytestmark = pytest.mark.docs

GUIDE = files("steadhold.events").joinpath("guide.md").read_text()


def test_its_program_runs(conn, workspace):
    program = re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1]
    told = {"conn": conn}
    exec(program.replace('"acme"', repr(workspace)), told)
    assert told["paid"].revision == 2


def test_every_outcome_of_an_append_stands_there():
    told = re.findall(r"^\| `(\w+)` \|", GUIDE, re.MULTILINE)
    outcomes = get_type_hints(events.append.plan)["return"]
    assert {name for name in told if name != "outcome"} == {
        outcome.__name__ for outcome in outcomes.__args__[2].__args__
    }


def test_every_prefix_that_is_ours_stands_there():
    assert all(f"`{prefix}`" in GUIDE for prefix in OURS)
