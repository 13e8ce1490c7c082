"""How two texts differ, line by line, as far as it is told in bounded time; and the beginning of large bytes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Final, Literal, TypeAlias

from steadhold.dashboard.facts import SHOWN_BYTES_MAX, Answered, Payload
from steadhold.dashboard.layout import plain
from steadhold.dashboard.page import Refused, View
from steadhold.kit import sealed

LINES_MAX: Final = 1_000
"""Lines of each text, beside those with which both begin or end."""

CONTEXT_LINES: Final = 3
Verdict: TypeAlias = Literal["same", "differs", "sealed", "no_text", "too_long"]


@dataclass(frozen=True, slots=True)
class Compared:
    """What came of a comparison. A line has a kind, "same", "add", "remove" or "where", and a text."""

    verdict: Verdict
    lines: tuple[tuple[str, str], ...] = ()


async def beginning(view: View, path: str, /, *segments: str, **query: Any) -> Payload:
    """What is shown of bytes that may be large: no more of them is read. Raises Refused, as `get`."""
    head = {"range": f"bytes=0-{SHOWN_BYTES_MAX}"}
    try:
        found = await view.send("GET", path, *segments, headers=head, query=query)
    except Refused as no:
        if no.status != 416:
            raise
        found = await view.get(path, *segments, **query)  # an empty file has no first byte
    return _shown(found)


def _shown(found: Answered) -> Payload:
    whole = found.headers.get("content-range", "").rpartition("/")[2]
    size = int(whole) if whole.isdecimal() else len(found.body)
    if size == len(found.body):
        return found.payload
    if found.headers.get("content-type") == sealed.MEDIA_TYPE:
        return Payload("sealed", b"", size)
    return replace(found.payload, size=size)


async def compare(before: Payload, after: Payload) -> Compared:
    """Compare what both show: text with text, never more than a page shows."""
    if "sealed" in {before.form, after.form}:
        return Compared("sealed")
    if not {before.form, after.form} <= {"text", "json"}:
        return Compared("no_text")
    if before.cut or after.cut:
        return Compared("too_long")
    if before.raw == after.raw:
        return Compared("same")
    return await asyncio.to_thread(_lines, before.raw.decode(), after.raw.decode())


def _lines(before: str, after: str) -> Compared:
    old, new = before.split("\n"), after.split("\n")
    first = _alike(old, new)
    last = _alike(old[: first - 1 if first else None : -1], new[: first - 1 if first else None : -1])
    begin, ends = max(first - CONTEXT_LINES, 0), max(last - CONTEXT_LINES, 0)
    old, new = old[begin : len(old) - ends], new[begin : len(new) - ends]
    if max(len(old), len(new)) > LINES_MAX:
        return Compared("too_long")
    lines: list[tuple[str, str]] = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(CONTEXT_LINES):
        lines.append(("where", f"line {begin + group[0][3] + 1}"))
        for tag, i, i_end, j, j_end in group:
            if tag == "equal":
                lines += [("same", line) for line in new[j:j_end]]
            else:
                lines += [("remove", line) for line in old[i:i_end]] + [("add", line) for line in new[j:j_end]]
    return Compared("differs", tuple((kind, plain(line)) for kind, line in lines))


def _alike(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
