"""A part of what a reading gives (RFC 9110 §14): one range of bytes, of a revision."""

from __future__ import annotations

import re
from typing import Final

from steadhold.web.ask import Headers, Problem, Request, Stop

_RANGE: Final = re.compile(r"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))[ \t]*", re.IGNORECASE)


def asked(ask: Request, length: int, revision: int) -> tuple[int, int] | None:
    """The first byte that is asked for and the one behind the last, or None: all of them.

    A field that is malformed, has several ranges or another unit says nothing (§14.2), nor does one whose `If-Range`
    is not this revision. Raises Stop (416) where the range holds no byte.
    """
    field = ask.headers.get("range")
    if field is None or ask.method != "GET" or ask.headers.get("if-range", f'"{revision}"') != f'"{revision}"':
        return None
    found = _RANGE.fullmatch(field)
    if found is None or (found[2] and int(found[2]) < int(found[1])):
        return None
    if found[3]:
        first, end = max(length - int(found[3]), 0), length
    else:
        first, end = int(found[1]), min(int(found[2]) + 1, length) if found[2] else length
    if first >= end:
        detail = f"It has {length} bytes, and none of them lies in the range."
        raise Stop(
            Problem("range_not_satisfiable", detail, {"length": length}, (("content-range", f"bytes */{length}"),))
        )
    return first, end


def fields(first: int, end: int, length: int) -> Headers:
    """What a 206 says of the part that it is."""
    return (("content-range", f"bytes {first}-{end - 1}/{length}"),)
