"""Globs of types and of aggregates: `*` stands for any characters, all else for itself. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache


def matches(globs: Sequence[str], text: str) -> bool:
    """Whether one of the globs is the text: `*` stands for any characters, also none; all else for itself."""
    return any(_fits(_parts(glob), text) for glob in globs)


@lru_cache(maxsize=4_096)
def _parts(glob: str) -> tuple[str, ...]:
    return tuple(re.split(r"\*+", glob))


def _fits(parts: tuple[str, ...], text: str) -> bool:
    """Each part is taken where it comes first, which leaves most to the next: no text makes this go back."""
    first, *middle = parts
    if not middle:
        return first == text
    last, at = middle.pop(), len(first)
    if not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        if (found := text.find(part, at)) < 0:
            return False
        at = found + len(part)
    return at <= len(text) - len(last)


def may_begin(glob: str, text: str) -> bool:
    """Whether something that the glob fits may begin so."""
    plain, star, _ = glob.partition("*")
    return plain.startswith(text) or (bool(star) and text.startswith(plain))
