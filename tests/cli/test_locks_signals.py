"""What `steadhold lock run` makes of signals: the command has each of them once, and never outlives it unguarded."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

GUARDS = """
import fcntl, os, signal, sys, termios
from steadhold.cli.locks_run import Guarded

if sys.stdin.isatty():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)

class Held:
    name = "a"

    @property
    def fence(self):
        for number in map(int, os.environ.get("EARLY", "").split()):
            os.kill(os.getpid(), number)
        return 3

sys.exit(Guarded(sys.argv[1:], 1.0).run(Held()))
"""
COUNTS = """
import os, signal, sys

had = []

def count(number, _):
    had.append(number)
    os.write(1, b"%d\\n" % number)

for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
    signal.signal(number, count)
signal.signal(signal.SIGTERM, lambda number, _: sys.exit(len(had)))
signal.alarm(30)  # nobody is left over where the test fails
os.write(1, b"begun\\n")
while True:
    signal.pause()
"""


@pytest.fixture
def guarded():
    """Start a command that tells each signal that it has, and ends at SIGTERM with their number."""
    started = []

    def start(stdin=subprocess.DEVNULL, command=(sys.executable, "-c", COUNTS), early=""):
        words = [sys.executable, "-c", GUARDS, *command]
        process = subprocess.Popen(
            words, stdin=stdin, stdout=subprocess.PIPE, start_new_session=True, env={**os.environ, "EARLY": early}
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_what_would_end_it_is_for_the_command(guarded, number):
    process = guarded()
    assert process.stdout.readline() == b"begun\n"
    process.send_signal(number)
    assert process.stdout.readline() == b"%d\n" % number
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1


@pytest.mark.parametrize(("typed", "number"), [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT)])
def test_what_is_typed_comes_once(guarded, typed, number):
    """Ctrl-C reaches all that run in front of the terminal; many a program takes a second one for "at once"."""
    ours, theirs = pty.openpty()
    process = guarded(stdin=theirs)
    os.close(theirs)
    assert process.stdout.readline() == b"begun\n"
    os.write(ours, typed)
    assert process.stdout.readline() == b"%d\n" % number
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1
    os.close(ours)


def test_what_comes_before_the_command_is_there_is_kept_for_it(guarded):
    process = guarded(command=("sleep", "60"), early=str(int(signal.SIGTERM)))
    assert process.wait(30) == 128 + signal.SIGTERM
