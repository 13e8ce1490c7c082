"""Which trace something belongs to, as W3C Trace Context writes it: `00-<trace id>-<parent id>-<flags>`."""

from __future__ import annotations

import re
from typing import Final

HEADER: Final = "traceparent"
_WRITTEN: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NOBODY: Final = re.compile(r"0+")


def traceparent(text: str | None) -> str | None:
    """A traceparent as this version writes it; None where it is none, which W3C has read as if nothing was said."""
    found = _WRITTEN.fullmatch(text) if text else None
    if found is None:
        return None
    version, trace, parent, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or _NOBODY.fullmatch(trace) or _NOBODY.fullmatch(parent):
        return None
    return f"00-{trace}-{parent}-{flags}"


def trace_id(of: str | None) -> str | None:
    """The id of the trace that a traceparent names."""
    named = traceparent(of)
    return None if named is None else named[3:35]
