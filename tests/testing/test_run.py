"""A test run's PostgreSQL is shared by its processes and gone after the last, however that one ended."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from steadhold.testing.binaries import chosen
from steadhold.testing.run import Run, joined

pytestmark = pytest.mark.journeys

MEMBER = """
import dataclasses, json, sys
from steadhold.testing.run import joined
from steadhold.testing.database import copied
with joined(sys.argv[1]) as run, copied(run, sys.argv[2]) as database:
    print(json.dumps([dataclasses.asdict(run), database.dsn]), flush=True)
    sys.stdin.read()
"""


class Member:
    """A process that is in a run until told to leave."""

    def __init__(self, run_id: str, worker: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", MEMBER, run_id, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        run, self.dsn = json.loads(self.process.stdout.readline())
        self.run, self.name = Run(**run), urlsplit(self.dsn).path.removeprefix("/")
        self.keeper = os.pidfd_open(self.run.keeper)

    def leave(self) -> None:
        self.process.communicate("")

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def wait_for_the_keeper(self) -> None:
        ended, _, _ = select.select([self.keeper], [], [], 60)
        os.close(self.keeper)
        assert ended, "the keeper stays though nobody is in"


@pytest.fixture
def run_id(monkeypatch):
    monkeypatch.delenv("STEADHOLD_TEST_DSN", raising=False)
    return uuid.uuid4().hex


def home(run_id: str) -> Path:
    return Path(tempfile.gettempdir()) / f"steadhold-test-{run_id}"


def databases(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as conn:
        return {name for (name,) in conn.execute("select datname from pg_database")}


def test_processes_share_one_server_which_ends_with_the_last(run_id):
    first, second = Member(run_id, "gw0"), Member(run_id, "gw1")
    assert first.run == second.run
    assert databases(first.dsn) >= {first.run.template, first.name, second.name}
    first.leave()
    assert databases(second.dsn), "it stands while somebody is in"
    second.leave()
    for member in (first, second):
        member.wait_for_the_keeper()
    assert not home(run_id).exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(first.run.dsn)


def test_a_killed_process_counts_as_gone(run_id):
    member = Member(run_id, "gw0")
    member.kill()
    member.wait_for_the_keeper()
    assert not home(run_id).exists()


def test_a_server_that_is_not_ours_is_left_as_it_was_found(run_id, dsn, monkeypatch):
    monkeypatch.setenv("STEADHOLD_TEST_DSN", dsn)
    before = databases(dsn)
    member = Member(run_id, "gw0")
    mine = {name for name in databases(dsn) - before if name.startswith(member.run.prefix)}
    assert mine == {member.run.template, member.name}
    member.leave()
    member.wait_for_the_keeper()
    assert not mine & databases(dsn)


def test_no_server_is_said_with_its_reason(run_id, monkeypatch):
    monkeypatch.setenv("STEADHOLD_TEST_PG", "/nowhere")
    with pytest.raises(RuntimeError, match="There is no postgres and initdb in /nowhere"), joined(run_id):
        pass
    assert not home(run_id).exists()


def test_programs_are_chosen_by_version_or_folder():
    usual = chosen(None)
    assert chosen(str(usual.major)).major == usual.major
    assert chosen(str(usual.folder)) == usual
    with pytest.raises(RuntimeError, match="known are"):
        chosen("9")
