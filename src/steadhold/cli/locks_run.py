"""`steadhold lock run`: a command that runs while a lock is held, and is stopped when it is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from steadhold.cli.amounts import Measure
from steadhold.cli.connect import asks
from steadhold.cli.exits import LOST, Said
from steadhold.cli.naming import an_id
from steadhold.cli.standing import teller

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.locks_shapes import Lock

LOOK_SECONDS = 0.02
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
TYPED = (signal.SIGINT, signal.SIGQUIT)
"""What a terminal sends to all that run in front of it."""


@click.group()
def lock() -> None:
    """Run a command while holding a lock."""


@lock.command()
@click.argument("name", type=an_id)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--owner", metavar="ID", help="In whose name. [default: this machine and process]")
@click.option(
    "--ttl", type=Measure(min=1), default=30.0, show_default=True, metavar="SECONDS",
    help="For how long the lock is held when nobody renews it any more.",
)  # fmt: skip
@click.option("--wait", type=Measure(min=0), metavar="SECONDS", help="Stand in line so long. [default: for ever]")
@click.option(
    "--grace", type=Measure(min=0), default=5.0, show_default=True, metavar="SECONDS",
    help="Between SIGTERM and SIGKILL, once the lock is lost.",
)  # fmt: skip
@asks
def run(
    client: Client, name: str, command: Sequence[str], owner: str | None, ttl: float, wait: float | None, grace: float
) -> None:
    """Run COMMAND while holding NAME, and release it afterwards.

    STEADHOLD_FENCE tells COMMAND the fence, STEADHOLD_LOCK the name. If the lock is lost COMMAND gets SIGTERM, and
    SIGKILL after the grace: exit code 10. Otherwise the exit code is COMMAND's, or 128 + the signal that ended it.
    """
    from steadhold.sdk.errors import LockLost

    guarded = Guarded(command, grace)
    try:
        with client.locks.hold(
            name, owner=owner, ttl=ttl, wait_seconds=wait, on_lost=guarded.stop, on_wait=teller(name)
        ) as held:
            code = guarded.run(held)
    except LockLost as lost:
        raise Said(
            lost.detail,
            LOST,
            next="Somebody else may hold it now. See what the command left behind, then run it again.",
        ) from lost
    sys.exit(code)


class Guarded:
    """One command, in a process group of its own, so that what it began is stopped with it."""

    def __init__(self, command: Sequence[str], grace: float) -> None:
        self._command, self._grace = command, grace
        self._begun = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._group = 0 if not sys.stdin.isatty() else None  # at a terminal it stays where Ctrl-C and reading work

    def run(self, held: Lock) -> int:
        """Run it to its end, and answer its exit code."""
        with self._passing():
            told = {**os.environ, "STEADHOLD_FENCE": str(held.fence), "STEADHOLD_LOCK": held.name}
            try:
                with subprocess.Popen(self._command, env=told, process_group=self._group) as self._process:
                    self._begun.set()
                    for number in self._early:
                        self._send(number)
                    code = self._process.wait()
            finally:
                self._begun.set()
        return code if code >= 0 else 128 - code

    def stop(self) -> None:
        """Stop it and what it began, for the lock is lost: politely, and what is left then for good."""
        self._begun.wait()
        self._send(signal.SIGTERM)
        until = time.monotonic() + self._grace
        while self._send(0) and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        self._send(signal.SIGKILL)

    @contextmanager
    def _passing(self) -> Iterator[None]:
        """Pass on what would end us, and wait for what the command makes of it."""
        before = {number: signal.signal(number, self._pass) for number in FORWARDED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass(self, number: int, _frame: object) -> None:
        if self._group is None and number in TYPED:
            return  # the command has it already, and would take a second one for impatience
        if self._process is None:
            self._early.append(number)
        else:
            self._send(number)

    def _send(self, number: int) -> bool:
        """Send a signal (0 only looks), and tell whether anybody was there."""
        if self._process is None:
            return False
        try:
            if self._group is not None:
                os.killpg(self._process.pid, number)
            elif self._process.poll() is None:
                os.kill(self._process.pid, number)
            else:
                return False
        except ProcessLookupError:
            return False
        return True
