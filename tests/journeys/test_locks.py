"""A deploy in a shell, guarded by a lock: real server, real commands."""

from __future__ import annotations

import json
import os
import signal

import pytest

SAYS = 'printf "%s %s\\n" "$STEADHOLD_LOCK" "$STEADHOLD_FENCE"; '
READS = SAYS + 'read -r line; echo "$line"'
WAITS = SAYS + 'read -r line < "$GATE"'


@pytest.fixture
def running(dev, me):
    return dev(me).told


@pytest.fixture
def gate(folder):
    """What the commands wait at."""
    os.mkfifo(folder / "gate")
    return folder / "gate"


@pytest.fixture
def holding(running, start, me, gate):
    """Start a command under the lock, which waits at the gate; it is there once it has said its fence."""

    def begun(*options):
        environ = {"STEADHOLD_URL": running["url"], "STEADHOLD_API_KEY": running["api_key"], "GATE": str(gate)}
        words = ["lock", "run", "deploy", *options, "--", "sh", "-c", WAITS]
        return start(*words, user=me, environ=environ)

    return begun


def test_one_after_the_other(running, ask, me):
    said = [ask(running, "lock", "run", "deploy", "--", "sh", "-c", READS, input=b"done\n") for _ in range(2)]
    assert said == [b"deploy 1\ndone\n", b"deploy 2\ndone\n"]
    assert json.loads(ask(running, "locks", "show", "deploy"))["held"] is False


def test_while_it_is_held_others_stand_in_line_or_go(running, holding, ask, gate):
    first = holding()
    assert first.process.stdout.readline() == b"deploy 1\n"
    told = json.loads(ask(running, "locks", "show", "deploy"))
    assert (told["held"], told["fence"]) == (True, 1)
    assert b"lock_held" in ask(running, "lock", "run", "deploy", "--wait", 0, "--", "true", code=3)
    second = holding()
    while json.loads(ask(running, "locks", "show", "deploy"))["waiting"] == 0:
        pass
    gate.write_text("go on\n")
    assert first.ended() == 0
    assert second.process.stdout.readline() == b"deploy 2\n"
    assert second.end(signal.SIGTERM) == 128 + signal.SIGTERM
    assert json.loads(ask(running, "locks", "show", "deploy"))["held"] is False


def test_who_loses_it_is_stopped(running, holding, ask):
    held = holding("--ttl", 2, "--grace", 1)
    assert held.process.stdout.readline() == b"deploy 1\n"
    ask(running, "locks", "release", "deploy", 1)
    assert held.ended() == 10
    assert json.loads(ask(running, "locks", "acquire", "deploy"))["fence"] == 2
