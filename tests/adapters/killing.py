"""Programs of agent frameworks in processes of their own, to be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def say(line):
    """Tell the test, in a program of its."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def running(program, *words):
    """A process whose standard input stays open; it is killed in the end, if it is not before."""
    command = (sys.executable, "-m", f"tests.adapters.{program}", *words)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def whole(program, *words):
    """What a process says that runs to its end."""
    with running(program, *words) as process:
        said, complaint = process.communicate(timeout=60)
    assert process.returncode == 0, complaint
    return said.split("\n")[:-1]


def upto(process, line):
    """What a process says until it says this."""
    said = []
    for one in process.stdout:
        said.append(one.rstrip("\n"))
        if said[-1] == line:
            return said
    raise AssertionError(f"it ended before {line!r}: {said} {process.stderr.read()}")
