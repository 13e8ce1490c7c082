"""How stored text is shown: JSON with room around its tokens, and characters that would mislead made visible."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_INDENT: Final = "  "


def laid_out(text: str) -> str:
    """JSON with line breaks and indents. Every token stands as it was written: no number is read, no string escaped."""
    out: list[str] = []
    depth = 0
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
    return "".join(one if one in "\n\t" or not _misleads(one) else _named(one) for one in text)


def _misleads(one: str) -> bool:
    return unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _named(one: str) -> str:
    code = ord(one)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
