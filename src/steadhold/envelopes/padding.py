"""How large a message is, hidden within its seal: it is filled up to one of few sizes, and says how much counts."""

from __future__ import annotations

from typing import Final

from steadhold.envelopes.profile import EnvelopeRefused

PADDED: Final = "application/vnd.steadhold.padded"
"""The content type of an envelope whose content is padded; its own content type is within."""

LEAST: Final = 256
STEP: Final = 1 << 20
"""Sizes are the powers of two up to this, and its multiples beyond."""


def padded(data: bytes, content_type: str) -> bytes:
    """Put a content type and data together, and zeros behind them up to the next size.

    Two bytes say how long the content type is, eight how long the data are, both big-endian.
    """
    kind = content_type.encode()
    whole = b"".join([len(kind).to_bytes(2), kind, len(data).to_bytes(8), data])
    return whole.ljust(_size(len(whole)), b"\0")


def _size(count: int) -> int:
    if count > STEP:
        return -(-count // STEP) * STEP
    return max(LEAST, 1 << (count - 1).bit_length())


def unpadded(whole: bytes) -> tuple[bytes, str]:
    """What `padded` put together: the data, and their content type.

    Raises:
        EnvelopeRefused: nothing was put together so.
    """
    kind = 2 + int.from_bytes(whole[:2])
    first = kind + 8
    end = first + int.from_bytes(whole[kind:first])
    try:
        said = whole[2:kind].decode()
    except UnicodeDecodeError:
        said = ""
    if len(whole) < max(first, end) or whole[end:].strip(b"\0") or padded(whole[first:end], said) != whole:
        raise EnvelopeRefused("The envelope is refused. What is in it is not padded as it says.")
    return whole[first:end], said
