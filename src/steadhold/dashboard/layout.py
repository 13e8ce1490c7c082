"""How stored text is shown: JSON with room around its tokens, and characters that would mislead made visible."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_INDENT: Final = "  "
_LONGER_MAX: Final = 6
_SHORT: Final = 16 * 1024
"""What is laid out has so many characters at most, or so many times those that were written."""


def laid_out(text: str) -> str:
    """JSON with line breaks and indents. Every token stands as it was written: no number is read, no string escaped.

    What nests so deep that indents would be most of it, and what is no JSON at all, costs no more than it is long.
    """
    out: list[str] = []
    depth, left = 0, max(_LONGER_MAX * len(text), _SHORT)
    for piece in _TOKEN.findall(text):
        if piece in "{[":
            depth += 1
            out.append(piece + "\n" + _INDENT * depth)
        elif piece in "}]":
            depth -= 1
            out.append("\n" + _INDENT * depth + piece)
        elif piece == ",":
            out.append(",\n" + _INDENT * depth)
        else:
            out.append(": " if piece == ":" else piece)
        left -= len(out[-1])
        if left < 0:
            return text
    return _closed(out)


def _closed(out: list[str]) -> str:
    """Empty containers on one line; strings, which may hold brackets, are left alone."""
    joined: list[str] = []
    for piece in out:
        if joined and piece.strip() in {"}", "]"} and joined[-1].rstrip() in {"{", "["}:
            joined[-1] = joined[-1].rstrip() + piece.strip()
        else:
            joined.append(piece)
    return "".join(joined)


def plain(text: str) -> str:
    """Text with control and direction characters written out: what is read is what is there."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in "\n\t" or not misleads(one) else _named(one) for one in text)


def misleads(one: str) -> bool:
    """Whether a character hides, or turns the direction of text."""
    return unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _named(one: str) -> str:
    code = ord(one)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
