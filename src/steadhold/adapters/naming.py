"""How frameworks' names become paths of context. Names are kept with what lies there: they do not change."""

from __future__ import annotations

import hashlib
from urllib.parse import quote


def segment(text: str, chars_max: int) -> str:
    """A text as one segment of a path, whatever is in it; its digest where it is longer than that."""
    quoted = quote(text, safe="")
    return f"-{quoted}" if len(quoted) <= chars_max else f"~{hashlib.sha256(text.encode()).hexdigest()}"
