"""JSON texts that are exact and as odd as that allows: the same for the same seed."""

from __future__ import annotations

import json
import random

ODD = ('"', "\\", "/", "\u2028", "\x7f", "ä", "€", "\U0001f600", "\\u0041", "<", "\ufeff", "é", "é", "\ud7ff", " ")
NUMBERS = (
    "0",
    "-0",
    "-0.0",
    "1.10",
    "1e2",
    "1E+2",
    "100000000000000000000000.10",
    "0.1e-7",
    "-1e-400",
    "9007199254740993",
)
BLANKS = ("", " ", "\n", "\t\r\n  ")


def _text(draw):
    written = "".join(draw.choice(ODD) for _ in range(draw.randrange(6)))
    return json.dumps(written, ensure_ascii=draw.random() < 0.5)


def _value(draw, depth):
    kind = draw.randrange(6 if depth else 4)
    if kind < 2:
        return draw.choice((*NUMBERS, "true", "false", "null"))
    if kind < 4:
        return _text(draw)
    gap = draw.choice(BLANKS)
    parts = [_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind == 4:
        return f"[{gap}{f'{gap},'.join(parts)}{gap}]"
    members = (f"{gap}{json.dumps(f'k{n}')}{gap}:{gap}{part}" for n, part in enumerate(parts))
    return f"{{{','.join(members)}{gap}}}"


def texts(count, seed=7):
    """So many texts, as bytes."""
    draw = random.Random(seed)
    return [_value(draw, 4).encode() for _ in range(count)]
