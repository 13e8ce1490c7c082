"""`make demo` on a small folder: its account is true, and however it is interrupted, the next run goes on."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "folder_report"
CODES = re.compile(r"^ +(checkpoint chunk-\d{4}|completion|report) +(\d+ \w+)$", re.MULTILINE)
ROW = re.compile(r"^ +(\d+)  \S+ +(\d+) +(\d+) +(\d+) +\d+ bytes?  (.+)$", re.MULTILINE)
WRITERS = re.compile(r"^ +(?:ada|grace) .*  (\d+)[ ,]", re.MULTILINE)
JOB = re.compile(r"job (\S+) (is accepted|was left)")
PROCESS = re.compile(r"process (\d+)")
INTERRUPTED = "Interrupted. Nothing is broken"


@pytest.fixture
def sources(folder):
    """A folder to report on: copies, a long line, a link that leads back, a name that is no text, a pipe."""
    made = folder / "a folder"
    (made / "deep" / "er").mkdir(parents=True)
    for n in range(6):
        (made / f"{n}.txt").write_text(f"file {n % 3}\n")
    (made / "deep" / "long.PY").write_text("short\n" + "x" * 500 + "\n")
    (made / "deep" / "er" / os.fsdecode(b"caf\xe9\x1b[2J.bin")).write_bytes(b"\0\1\2")
    (made / "deep" / "back").symlink_to(made)
    os.mkfifo(made / "pipe")
    return made


@pytest.fixture
def demo(folder, start):
    """Start the demo in a checkout of its own, so that its data lies there too."""
    shutil.copytree(EXAMPLE, folder / "examples" / "folder_report", ignore=shutil.ignore_patterns("__pycache__"))

    def started(sources, user):
        user.own(folder)
        script = folder / "examples" / "folder_report" / "demo.py"
        return start(script, sources, user=user, module=None, cwd=folder)

    return started


def account(program, code=0):
    text = program.process.stdout.read().decode()
    assert program.ended() == code, text + program.log.read_text()
    return text


def until(program, beginning):
    """What it wrote up to a line that begins so."""
    text = ""
    while beginning not in text:
        line = program.process.stdout.readline().decode()
        assert line, text + program.log.read_text()
        text += line
    return text


def wait_gone(pids):
    """Wait until these processes have ended, whoever reaps them."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([handle], [], [], 60)
        finally:
            os.close(handle)
        assert ready, pid


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_account_is_true(demo, dev, ask, sources, folder, user):
    text = account(demo(sources, user))
    assert "NO " not in text
    assert "Every promise held" in text
    assert "SIGKILL after" in text
    assert [code for _, code in CODES.findall(text)] == ["409 stale_fence"] * 3
    assert text.index("committed, revision") < text.index("its receipt: abandoned")
    assert sorted(WRITERS.findall(text)) == ["200", "412"]
    first, second = ROW.findall(text)
    assert (int(first[0]), int(second[0])) == (1, 2)
    assert int(first[2]) >= 1
    assert int(first[2]) + int(second[2]) == 8
    assert int(first[3]) + int(second[3]) == 8
    assert (first[4], second[4]) == ("-", "merge and store")
    assert "8 files, 552 bytes, 8 lines, 3 kinds" in text
    assert "3 files too many" in text
    assert "line 2 of deep/long.PY" in text
    assert "1 link, 1 pipe or socket" in text
    assert not any(map(alive, map(int, PROCESS.findall(text))))

    told = dev(user, ".steadhold/demo").told
    job_id = JOB.search(text)[1]
    job = json.loads(ask(told, "jobs", "show", job_id))
    assert (job["state"], job["fence"]) == ("completed", 2)
    assert job["coverage"] == {"state": "complete", "expected": 8, "covered": 8}
    report = json.loads(ask(told, "state", "get", "reports/a-folder"))
    assert (report["files"], report["bytes"], report["links"], report["special"]) == (8, 552, 1, 1)
    assert json.loads(ask(told, "jobs", "result", job_id)) == {"report": "reports/a-folder", "revision": 1}


def test_it_runs_again_with_a_job_of_its_own_also_on_nothing(demo, folder, me):
    (folder / "empty").mkdir()
    texts = [account(demo(folder / "empty", me)) for _ in range(2)]
    for text in texts:
        assert "Every promise held" in text
        assert "0 files, 0 bytes, 0 lines, 0 kinds" in text
    (first, how), (second, how_then) = [JOB.search(text).groups() for text in texts]
    assert first != second
    assert how == how_then == "is accepted"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_interrupted_half_way_it_goes_on_with_the_same_job(demo, sources, folder, me, number):
    program = demo(sources, me)
    before = until(program, "SIGKILL after")
    pids = [int((folder / ".steadhold" / "demo" / "lock").read_text()), *map(int, PROCESS.findall(before))]
    program.process.send_signal(number)
    rest = program.process.stdout.read().decode()
    assert program.ended() == (-number if number == signal.SIGKILL else 130)
    assert (INTERRUPTED in rest) == (number != signal.SIGKILL)
    wait_gone([*pids, *map(int, PROCESS.findall(rest))])
    again = account(demo(sources, me))
    assert JOB.search(again)[1] == JOB.search(before)[1]
    assert JOB.search(again)[2] == "was left"
    assert "Every promise held" in again
    assert [code for _, code in CODES.findall(again)] == ["409 stale_fence"] * 3


@pytest.mark.parametrize("moment", ["A durable job", "PostgreSQL and the server run", "worker 1 is process"])
def test_interrupted_early_it_leaves_nothing_running(demo, sources, folder, me, moment):
    program = demo(sources, me)
    text = until(program, moment)
    program.process.send_signal(signal.SIGINT)
    text += account(program, 130)
    assert INTERRUPTED in text
    assert not any(map(alive, map(int, PROCESS.findall(text))))
    lock = folder / ".steadhold" / "demo" / "lock"
    assert not lock.exists() or not alive(int(lock.read_text()))


def test_a_folder_in_use_is_told_in_a_sentence(demo, dev, sources, folder, me):
    (folder / ".steadhold").mkdir()
    pid = dev(me, ".steadhold/demo").told["pid"]
    text = account(demo(sources, me), 1)
    assert f"is in use by process {pid}" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    "name, why", [("nowhere", "no such file or directory"), ("a folder/0.txt", "not a directory")]
)  # fmt: skip
def test_what_is_no_folder_gets_one_sentence(demo, sources, folder, me, name, why):
    text = account(demo(folder / name, me), 2)
    assert text == f"There is no report on {folder / name}: {why}.\n"
