"""Become another program that ends with its parent: `tied.py PARENT SIGNAL COMMAND…`.

On Linux the kernel sends the signal once the parent is gone, however it went. Elsewhere only orderly ends reach it.
"""

from __future__ import annotations

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    parent, number, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() == parent:
        os.execv(command[0], command)  # noqa: S606 - this is its purpose
