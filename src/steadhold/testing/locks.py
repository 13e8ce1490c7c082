"""Who is in a test run: files under a lock that the kernel lets go of when their process ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SHARED: Final = fcntl.LOCK_SH
ALONE: Final = fcntl.LOCK_EX
AT_ONCE: Final = fcntl.LOCK_NB


def take(path: Path, how: int) -> int:
    """Lock a file, made if need be; answer its descriptor, whose closing lets go.

    With `AT_ONCE`, raises BlockingIOError if somebody else is in the way.
    """
    while True:
        path.parent.mkdir(mode=0o711, exist_ok=True)
        try:
            held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # the folder was taken down in between
            continue
        try:
            fcntl.flock(held, how)
        except BaseException:
            os.close(held)
            raise
        if _still(path, held):
            return held
        os.close(held)


@contextmanager
def taken(path: Path, how: int) -> Iterator[None]:
    """Hold a lock for a while."""
    held = take(path, how)
    try:
        yield
    finally:
        os.close(held)


def _still(path: Path, held: int) -> bool:
    """Tell whether the locked file is the one that stands there now: the last user may have removed it."""
    try:
        return os.fstat(held).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
