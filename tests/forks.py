"""Python processes that begin at once: forks of a process that has loaded already what they import.

A process that is started anew spends nearly a second on imports, and hundreds of tests start some. `begin(words,
load=…)` stands in for `subprocess.Popen([sys.executable, *words])`: what it answers is a process like any other,
a child of this one, with the environment, the files and the signals of a new one. Off Linux it is a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import types
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
ABOVE_ALL = 512
MESSAGE_BYTES_MAX = 200_000
ROOT = Path(__file__).parents[1]
TURN = threading.Lock()


class Begun:
    """As much of `subprocess.Popen` as tests ask for."""

    def __init__(self, pid, words, stdout):
        self.pid, self.args, self.stdout, self.returncode = pid, words, stdout, None
        self._turn = threading.Lock()

    def poll(self):
        with self._turn:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
            return self.returncode

    def wait(self, timeout=None):
        if self.poll() is None:
            ended = os.pidfd_open(self.pid)
            try:
                select.select([ended], [], [], timeout)
            finally:
                os.close(ended)
        if self.poll() is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.stdout:
            self.stdout.close()
        self.wait()


def begin(words, *, load, env=None, cwd=None, stdout=None, stderr=None, pass_fds=()):
    """Start `python words…`, which reads nothing; `load` names what it imports and no test changes first.

    `stdout`: a file, or `subprocess.PIPE` to read text from.
    """
    words = [*map(str, words)]
    if sys.platform != "linux":
        return subprocess.Popen(
            [sys.executable, *words], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
            pass_fds=pass_fds, text=True,
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        nothing = stack.enter_context(Path(os.devnull).open("rb"))
        reading, out = None, stdout or 1
        if stdout == subprocess.PIPE:
            read, write = os.pipe()
            reading, out = os.fdopen(read, encoding="utf-8"), stack.enter_context(os.fdopen(write, "wb"))
        places = {0: nothing.fileno(), 1: _number(out), 2: _number(stderr or 2)}
        places |= {number: number for number in pass_fds}
        asked = {"words": words, "env": dict(env or os.environ), "cwd": str(cwd or Path.cwd()), "places": [*places]}
        return Begun(_parent(tuple(load)).child(asked, [*places.values()]), words, reading)


def _number(file):
    return file if isinstance(file, int) else file.fileno()


@functools.cache
def _parent(load):
    return Parent(load)


class Parent:
    """A process that has loaded these modules, and forks when it is told."""

    def __init__(self, load):
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *load],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environ, cwd=ROOT,
            )  # fmt: skip
        atexit.register(self.end)

    def child(self, asked, files):
        """Have a child made; its process id. It has lost its parent by then, and is this process's."""
        with TURN, _adopting():
            socket.send_fds(self._line, [json.dumps(asked).encode()], files)
            return int(self._line.recv(64) or sys.exit("the parent of the tests' processes has ended"))

    def end(self):
        self._line.close()
        self._process.wait()


@contextlib.contextmanager
def _adopting():
    """Grandchildren that lose their parent become children of this process."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def served(line):
    """Answer requests; returns in each child, with what it is to run. Ends when nobody asks any more."""
    while True:
        message, files, _, _ = socket.recv_fds(line, MESSAGE_BYTES_MAX, 16)
        if not message:
            sys.exit()
        asked = json.loads(message)
        (read, write), (hold, go) = os.pipe(), os.pipe()
        if not (between := os.fork()):
            if child := os.fork():
                os.write(write, str(child).encode())
                os._exit(0)
            os.close(go)
            os.read(hold, 1)  # until it is adopted
            for number in (hold, read, write):
                os.close(number)
            line.close()
            _settle(asked, files)
            return asked["words"]
        os.waitpid(between, 0)
        line.send(os.read(read, 64))
        for number in (read, write, hold, go, *files):
            os.close(number)


def _settle(asked, files):
    """Become what a new process would be."""
    above = [fcntl.fcntl(number, fcntl.F_DUPFD, ABOVE_ALL) for number in files]
    for number in files:
        os.close(number)
    for number, place in zip(above, asked["places"], strict=True):
        os.dup2(number, place, inheritable=True)
        os.close(number)
    sys.stdin, sys.stdout = open(0, encoding="utf-8", closefd=False), open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.path[1:1] = [place for place in asked["env"].get("PYTHONPATH", "").split(os.pathsep) if place]
    if "steadhold.kit.failpoints" in sys.modules:
        failpoints = sys.modules["steadhold.kit.failpoints"]
        failpoints.arm(os.environ.get(failpoints.VARIABLE, ""))


def run(words):
    """Run `-c text`, `-m module` or a file, as Python would."""
    how, *rest = words
    if how == "-c":
        sys.argv, sys.path[0] = ["-c", *rest[1:]], ""
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif how == "-m":
        sys.argv, sys.path[0] = rest, str(Path.cwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = words, str(Path(how).resolve().parent)
        runpy.run_path(how, run_name="__main__")


def main(number, *load):
    """Load, then fork as often as is asked."""
    import gc
    import importlib

    for name in load:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(number)) as line:
        run(served(line))


if __name__ == "__main__":
    main(*sys.argv[1:])
