"""`steadhold serve --processes 2`: one address, two processes, one sum of what they count, and none left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.journeys.test_serve import ready


@pytest.fixture
def two(start, me, fresh_database):
    """A server of two processes, and its command."""
    words = ("serve", "--port", "0", "--processes", "2")
    program = start(*words, user=me, environ={"STEADHOLD_DATABASE_URL": fresh_database.dsn}, errors=True)
    program.told, program.dsn = ready(program), fresh_database.dsn
    return program


def processes(program) -> list[int]:
    """The ids of the processes that a command runs."""
    pid = program.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def said(program, event: str):
    """The next log line of this event."""
    for line in program.errors:
        if (told := json.loads(line))["event"] == event:
            return told
    raise AssertionError(f"it ended with {program.ended()}")


def asked(program, path: str) -> str:
    with urllib.request.urlopen(program.told["url"] + path, timeout=60) as answer:
        return answer.read().decode()


def refused(program, times: int) -> None:
    """So many requests, on a connection each, whose key is none."""
    for _ in range(times):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            asked(program, "/v1/state/n")


def metrics(program) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in asked(program, "/metrics").splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def problems(program) -> float:
    return sum(value for name, value in metrics(program).items() if name.startswith("steadhold_problems_total"))


@contextmanager
def halted(pid: int):
    """A process that does nothing meanwhile, so that the other one answers."""
    os.kill(pid, signal.SIGSTOP)
    yield
    os.kill(pid, signal.SIGCONT)


def gone(pidfds: list[int]) -> None:
    """Wait until these processes have ended."""
    for pidfd in pidfds:
        assert select.select([pidfd], [], [], 60)[0], "a process was left behind"
        os.close(pidfd)


def test_any_process_tells_what_all_counted_and_one_that_is_killed_is_started_again(two):
    one, other = processes(two)
    with halted(one):
        refused(two, 3)
        assert problems(two) == 3
    with halted(other):
        refused(two, 2)
        assert problems(two) == 5
    assert metrics(two)["steadhold_processes"] == 2
    os.kill(one, signal.SIGKILL)
    assert said(two, "a process ended and is started again")["pid"] == one
    assert problems(two) == 5
    again = said(two, "a process answers again")["pid"]
    assert set(processes(two)) == {other, again}
    with halted(other):
        refused(two, 1)
    assert problems(two) == 6
    assert metrics(two)["steadhold_process_restarts_total"] == 1
    assert json.loads(asked(two, "/readyz"))["ready"]


def test_a_signal_stops_all_in_order_though_each_gets_it(two):
    pids = processes(two)
    left = [os.pidfd_open(pid) for pid in pids]
    for pid in pids:
        os.kill(pid, signal.SIGTERM)
    assert two.end(signal.SIGTERM) == 0
    gone(left)
    assert json.loads(two.errors.read().splitlines()[-1])["event"] == "stopped"


def test_a_command_that_is_killed_leaves_no_process_behind(two):
    left = [os.pidfd_open(pid) for pid in processes(two)]
    os.kill(two.process.pid, signal.SIGKILL)
    two.ended()
    gone(left)
    with pytest.raises(urllib.error.URLError):
        asked(two, "/livez")


def test_an_address_that_is_taken_is_told_once(two, start, me, folder):
    port = two.told["url"].rpartition(":")[2]
    environ = {"STEADHOLD_DATABASE_URL": two.dsn, "STEADHOLD_PROCESSES": "2"}
    program = start("serve", "--port", port, user=me, environ=environ)
    assert program.ended() == 1
    assert program.log.read_text().count("Address already in use") == 1
