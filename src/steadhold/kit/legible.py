"""Texts of others, to be shown on a terminal or in a line for people."""

from __future__ import annotations


def legible(text: str, besides: str = "\n") -> str:
    """A text without what moves a cursor, or does worse: a mark stands for all but what is printed, and `besides`."""
    return "".join([char if char.isprintable() or char in besides else "\ufffd" for char in text])
