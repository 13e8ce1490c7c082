"""What is freed is kept for the next large body, where the C library can be told."""

from __future__ import annotations

import ctypes
import sys
from typing import Final

KEPT_BYTES: Final = 64 * 1024 * 1024
LARGE_BYTES: Final = 32 * 1024 * 1024
"""glibc's own most: what is larger comes from the kernel, and goes back to it."""

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def keep_what_is_freed() -> None:
    """Let this process keep up to 64 MiB that it freed. Elsewhere than on glibc nothing happens.

    As it comes, glibc gives a freed body back and asks for it again, page by page: two thirds of what it costs to read
    a file of 1 MiB. See mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, LARGE_BYTES)
