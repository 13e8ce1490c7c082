"""Patterns that read the same on every Python we support."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import steadhold

POSSESSIVE_GROUP = re.compile(r"\)[*+?]\+")
"""Pythons 3.11.0 to 3.11.4 misread a possessive repeat of a group (fixed by CPython's issue 106052)."""

FILES = sorted(Path(steadhold.__path__[0]).rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_no_pattern_repeats_a_group_possessively(file):
    """A possessive repeat of single characters is sound; of a group it is not, on Debian 12's Python."""
    assert not POSSESSIVE_GROUP.search(file.read_text(encoding="utf-8"))


def test_a_possessive_group_is_found():
    """The search would find one."""
    assert POSSESSIVE_GROUP.search(r"(?:a|b)*+c")
