"""Memory that large bodies have used is there for the next ones."""

from __future__ import annotations

import platform
import subprocess
import sys

BODIES = """
import ctypes, sys
from steadhold.server import memory
if sys.argv[1] == "kept":
    memory.keep_what_is_freed()
end = ctypes.CDLL(None).sbrk
end.restype, end.argtypes = ctypes.c_void_p, [ctypes.c_ssize_t]

for _ in range(3):
    bodies = [b"x" * n for n in [1_048_576] * 16]
    there = end(0)
    del bodies
print(there - end(0))
"""


def given_back(how):
    """How much of the heap the kernel has again once 16 MiB of bodies are gone."""
    return int(subprocess.run([sys.executable, "-c", BODIES, how], check=True, capture_output=True).stdout)


def test_what_was_freed_is_kept_for_the_next_bodies():
    """As it comes only glibc gives so much back, and only glibc can be told."""
    assert given_back("kept") == 0
    assert (given_back("as it comes") > 8_000_000) is (platform.libc_ver()[0] == "glibc")
