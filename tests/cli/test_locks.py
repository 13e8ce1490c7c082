"""`steadhold locks` and `steadhold lock run`: what is asked, what is printed, and how it ends."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.cli.conftest import problem, reply

GRANT = {
    "name": "a", "owner": "me", "fence": 3, "ttl_seconds": 30.0, "waited_seconds": 0.0,
    "expires_at": "2026-11-29T16:00:30Z", "server_time": "2026-11-29T16:00:00Z",
}  # fmt: skip


def granted(**more):
    return reply(200, msgspec.json.encode(GRANT | more))


def test_it_is_taken_renewed_and_released(steadhold, server):
    server.then(granted(), granted(), reply(204))
    told = msgspec.json.decode(steadhold("locks", "acquire", "a", "--owner", "me", "--ttl", 30, "--wait", 2).stdout)
    assert told == GRANT
    assert msgspec.json.decode(server.last.content) == {"owner": "me", "ttl_seconds": 30.0, "wait_seconds": 1.0}
    steadhold("locks", "renew", "a", 3, "--ttl", 60)
    assert msgspec.json.decode(server.last.content) == {"fence": 3, "ttl_seconds": 60.0}
    assert steadhold("locks", "release", "a", 3).stdout == ""
    assert server.asked == ["POST /v1/locks/a/acquire", "POST /v1/locks/a/renew", "POST /v1/locks/a/release"]


@pytest.mark.parametrize("verb", ["renew", "release"])
def test_a_fence_that_no_grant_has_is_not_asked_about(steadhold, server, verb):
    for fence in ("0", "1" * 16, "1_0", "+1"):
        assert "Invalid value for 'FENCE'" in steadhold("locks", verb, "a", fence, code=2).stderr
    assert server.requests == []


def test_what_is_held_is_a_conflict(steadhold, server):
    server.then(problem(409, "lock_held", next="wait", retry_after=12, holder="you"))
    assert "holder=you" in steadhold("locks", "acquire", "a", code=3).stderr


def held(holder):
    return problem(409, "lock_held", next="wait", holder=holder)


def asked(server):
    return [(r.headers["idempotency-key"], msgspec.json.decode(r.content).get("wait_seconds")) for r in server.requests]


def test_who_waits_is_told_what_for_and_who_has_it(steadhold, server):
    server.then(held("ci-7\x1b"), granted())
    result = steadhold("locks", "acquire", "a", "--wait", 9, "--idempotency-key", "k")
    assert result.stderr == "Waiting for the lock a: ci-7\ufffd holds it. Ctrl-C ends the waiting.\n"
    assert msgspec.json.decode(result.stdout) == GRANT
    assert asked(server) == [("k", 1.0), ("k", 5.0)]


@pytest.mark.parametrize("wait", [0, 0.5, 1])
def test_who_does_not_wait_for_longer_is_told_by_the_refusal_alone(steadhold, server, wait):
    server.then(held("ci-7"))
    assert "Waiting" not in steadhold("locks", "acquire", "a", "--wait", wait, code=3).stderr
    assert len(server.requests) == 1


def test_a_command_that_waits_for_its_lock_is_told_again_only_when_another_has_it(steadhold, server):
    server.then(held("one"), held("one"), held("two"), held("two"), held(None), granted(), reply(204))
    said = steadhold("lock", "run", "a", "--", "true").stderr
    assert said.splitlines() == [
        f"Waiting for the lock a: {who}. Ctrl-C ends the waiting."
        for who in ("one holds it", "two holds it", "it goes to whoever waits for it first")
    ]
    keys, waits = zip(*asked(server)[:-1], strict=True)
    assert (len(set(keys)), waits) == (1, (1.0, 5.0, 5.0, 5.0, 5.0, 5.0))


def test_reading(steadhold, server):
    item = {"name": "a", "held": False, "fence": 3, "revision": 6, "waiting": 0}
    server.then(reply(200, msgspec.json.encode({"items": [item], "next_cursor": None})))
    assert msgspec.json.decode(steadhold("locks", "ls", "a").stdout)["fence"] == 3
    server.answers.clear()
    server.then(reply(200, msgspec.json.encode(item)))
    assert msgspec.json.decode(steadhold("locks", "show", "a").stdout)["revision"] == 6
    assert server.asked == ["GET /v1/locks?prefix=a", "GET /v1/locks/a"]


@pytest.mark.parametrize(("says", "code"), [("raise SystemExit(7)", 7), ("", 0), ("os.kill(os.getpid(), 15)", 143)])
def test_a_command_runs_under_the_lock_and_its_exit_code_is_ours(steadhold, server, tmp_path, says, code):
    server.then(granted(), reply(204))
    told = tmp_path / "told"
    write = "os.environ['STEADHOLD_LOCK'] + os.environ['STEADHOLD_FENCE']"
    program = f"import os\nopen({str(told)!r}, 'w').write({write})\n{says}"
    steadhold("lock", "run", "a", "--", sys.executable, "-c", program, code=code)
    assert told.read_text() == "a3"
    assert server.asked == ["POST /v1/locks/a/acquire", "POST /v1/locks/a/release"]
    assert msgspec.json.decode(server.last.content) == {"fence": 3}


def test_a_command_that_is_not_there_gives_the_lock_back(steadhold, server):
    server.then(granted(), reply(204))
    assert "no-such-command" in steadhold("lock", "run", "a", "--", "no-such-command", code=1).stderr
    assert server.asked[-1] == "POST /v1/locks/a/release"


def test_nothing_runs_without_the_lock(steadhold, server, tmp_path):
    server.then(problem(409, "lock_held", next="wait", holder="you"))
    ran = tmp_path / "ran"
    steadhold("lock", "run", "a", "--wait", 0, "--", "touch", ran, code=3)
    assert not ran.exists()


def test_options_of_the_command_are_its_own(steadhold, server):
    server.then(granted(), reply(204))
    counts = "import sys; sys.exit(len(sys.argv))"
    steadhold("lock", "run", "a", "--", sys.executable, "-c", counts, "--wait", code=2)
    assert server.asked == ["POST /v1/locks/a/acquire", "POST /v1/locks/a/release"]


class Once:
    """An answer that is given once a file is there."""

    def __init__(self, path, answer):
        self.path, self.headers, self.content = path, answer.headers, answer.content
        self.status = answer.status_code

    @property
    def status_code(self):
        while not self.path.exists():
            pass
        return self.status


def ends(pid, seconds=10):
    """Whether a process that was told to end does."""
    until = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < until:
        pass
    return not runs(pid)


def runs(pid):
    """Whether a process is there, and is not only waiting to be buried."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("ignores", [False, True])
def test_a_command_is_stopped_when_the_lock_is_lost(steadhold, server, tmp_path, ignores):
    """The server says at the first renewal that it is lost; who ignores SIGTERM is killed, and so is what it began."""
    begun = tmp_path / "begun"
    server.then(granted(ttl_seconds=3.0), Once(begun, problem(409, "lock_lost")))
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if ignores else ""
    program = f"""
import os, signal
{ignore}
with open({str(tmp_path / "half")!r}, "w") as told:
    told.write(str(os.getpid()))
os.rename({str(tmp_path / "half")!r}, {str(begun)!r})
signal.sigwait([signal.SIGUSR1])
"""
    words = [
        "lock",
        "run",
        "a",
        "--ttl",
        3,
        "--grace",
        0.2,
        "--",
        "sh",
        "-c",
        f'{sys.executable} -c "$0"; true',
        program,
    ]
    assert "is lost" in steadhold(*words, code=10).stderr
    assert ends(int(begun.read_text()))
    assert server.asked == ["POST /v1/locks/a/acquire", "POST /v1/locks/a/renew"]
