"""The pages that a reader types off in one workspace make nothing twice."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("start", "sdk", "cli")
MAKES = (
    re.compile(r'\b(state|schedules|aggregates|subscriptions|context)\.(?:create|put|append|write)\(\s*"([^"]+)"'),
    re.compile(r'\.(inboxes)\["([^"]+)"\]'),
    re.compile(r"steadhold (state|schedules|events|inbox|subscriptions|context) \w+ (\S+) .*--create"),
)
BLOCK = re.compile(r"^```(?:python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CALLED = {"events": "aggregates", "inbox": "inboxes"}


def made(page):
    """What a page's programs and commands make, or change as those that made it."""
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    found = [one for block in blocks for pattern in MAKES for one in pattern.findall(block)]
    return {(CALLED.get(room, room), name) for room, name in found}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_makes_is_seen(page):
    assert len(made(page)) > 2


@pytest.mark.parametrize("two", [*combinations(PAGES, 2)], ids="-".join)
def test_no_two_pages_make_the_same(two):
    one, other = map(made, two)
    assert one & other == set()
