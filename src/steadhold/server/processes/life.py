"""A process ends when its parent does, however that came, and whatever it is busy with."""

from __future__ import annotations

import os
import signal
import time
from typing import Final

ORPHAN_SECONDS_MAX: Final = 20.0
"""How long it may take to stop once the parent has ended; a loop that hangs is ended without its consent."""


def end_with_parent() -> None:
    """Wait for the end of standard input, which is the parent's; then stop in order, and if that hangs, at once.

    To be run in a thread of its own, which waits without holding anything up.
    """
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_SECONDS_MAX)
    os._exit(1)
