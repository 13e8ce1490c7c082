"""`steadhold dev`, as root and as a normal user: one command, and nothing is lost whatever ends it."""

from __future__ import annotations

import json
import os
import pty
import signal
import stat
import threading
from pathlib import Path

import httpx2
import pytest

from steadhold import Client
from steadhold.db import postmaster

EXACT = [b"9007199254740993", b"1e400", b"1.10", b"-0", b'{"b":1,"a":2}', b" [ 1,\n\t2 ]\r\n", b'"\xc3\xa9\\u0041"']


def postgres_of(program) -> Path:
    return Path(program.told["data_dir"]) / "postgres"


def test_it_starts_from_nothing_and_keeps_all_over_a_restart(dev, ask, user):
    first = dev(user)
    assert first.told.keys() == {"url", "dashboard", "api_key", "data_dir", "database_url", "pid"}
    assert first.told["pid"] == first.process.pid
    kept = Path(first.told["data_dir"]) / "api_key"
    assert kept.read_text().strip() == first.told["api_key"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    ask(first.told, "state", "put", "kept", '{"n": 1}', "--create")
    assert first.end(signal.SIGINT) == 0
    assert postmaster.orphans(postgres_of(first)) == []

    second = dev(user)
    assert second.told["api_key"] == first.told["api_key"]
    assert ask(second.told, "state", "get", "kept") == b'{"n": 1}'
    assert second.end(signal.SIGTERM) == 0
    assert second.process.stdout.read() == b""


def test_bytes_go_through_the_command_line_as_they_are(dev, ask, me):
    told = dev(me).told
    for n, raw in enumerate(EXACT):
        way = [raw.decode()] if n % 2 else ["-"]
        ask(told, "state", "put", f"exact/{n}", *way, "--create", input=raw)
        assert ask(told, "state", "get", f"exact/{n}") == raw
    with Client(told["url"], told["api_key"]) as client:
        assert [client.state.get(f"exact/{n}").raw for n in range(len(EXACT))] == EXACT


def test_a_second_process_on_the_folder_is_told_so(dev, start, me):
    first = dev(me)
    second = start("dev", "--data-dir", first.told["data_dir"], user=me)
    assert second.ended() == 1
    said = second.log.read_text()
    assert f"is in use by process {first.process.pid}" in said
    assert "Traceback" not in said


def test_nothing_is_lost_when_it_is_killed(dev, ask, user):
    first = dev(user)
    ask(first.told, "state", "put", "kept", "1", "--create")
    first.end(signal.SIGKILL)
    second = dev(user)
    assert second.told["api_key"] == first.told["api_key"]
    assert ask(second.told, "state", "get", "kept") == b"1"
    assert second.end() == 0


def test_it_goes_on_when_its_postgresql_is_killed(dev, user):
    server = dev(user)
    with Client(server.told["url"], server.told["api_key"]) as client:
        client.state.create("n", raw=b"1")
        os.kill(postmaster.read(postgres_of(server)).pid, signal.SIGKILL)
        assert client.state.update("n", lambda n: n + 1).value == 2
        assert client.state.get("n").revision == 2
    assert server.end() == 0
    assert postmaster.orphans(postgres_of(server)) == []


def test_it_stops_with_long_polls_open(dev, start, me):
    server = dev(me)
    asking = {"STEADHOLD_URL": server.told["url"], "STEADHOLD_API_KEY": server.told["api_key"]}
    with Client(server.told["url"], server.told["api_key"]) as client:
        client.state.create("n", raw=b"1")
        watching = start("state", "watch", "n", "--timeout", "1", user=me, environ=asking)
        assert watching.line()["value"] == 1
        client.state.put("n", raw=b"2", if_revision=1)
        assert watching.line()["value"] == 2  # so its next request waits, or is about to
    assert server.end() == 0
    assert watching.ended() == 6


def test_a_start_is_given_up_cleanly(folder, start, user):
    home = folder / "data"
    home.mkdir()
    user.own(home)
    program = start("dev", "--data-dir", home, "--port", "0", user=user)
    begun = threading.Event()
    while postmaster.read(home / "postgres") is None:
        assert program.process.poll() is None
        begun.wait(0.005)
    assert program.end(signal.SIGTERM) in {0, 128 + signal.SIGTERM}
    assert postmaster.orphans(home / "postgres") == []


@pytest.mark.parametrize("host, status", [("localhost", 200), ("evil.example", 421)])
def test_only_this_machine_is_served_by_name(dev, me, host, status):
    told = dev(me).told
    headers = {"host": host, "authorization": f"Bearer {told['api_key']}"}
    assert httpx2.get(f"{told['url']}/v1/state", headers=headers).status_code == status


def test_a_taken_port_is_told_so(dev, start, folder, me):
    port = dev(me).told["url"].rpartition(":")[2]
    second = start("dev", "--data-dir", folder / "other", "--port", port, user=me)
    assert second.ended() == 1
    assert f"Cannot listen on 127.0.0.1:{port}" in second.log.read_text()
    assert postmaster.orphans(folder / "other" / "postgres") == []


def test_a_revoked_key_is_told_so_and_made_anew(dev, ask, start, me):
    server = dev(me)
    (key,) = [json.loads(line) for line in ask(server.told, "keys", "ls").splitlines()]
    ask(server.told, "keys", "revoke", key["key_id"])
    assert server.end() == 0
    again = start("dev", "--data-dir", server.told["data_dir"], "--port", "0", user=me)
    assert again.ended() == 1
    assert "was revoked" in again.log.read_text()
    (Path(server.told["data_dir"]) / "api_key").unlink()
    third = dev(me)
    assert third.told["api_key"] != server.told["api_key"]
    assert ask(third.told, "state", "ls") == b""


def test_a_person_is_told_what_to_do_next(start, folder, me):
    controller, terminal = pty.openpty()
    program = start("dev", "--data-dir", folder / "data", "--port", "0", user=me, stdout=terminal)
    os.close(terminal)
    with os.fdopen(controller, encoding="utf-8") as seen:
        said = ""
        while "lists all commands" not in said:
            said += seen.readline()
    key = (folder / "data" / "api_key").read_text().strip()
    assert f"key       {key}" in said
    assert "export STEADHOLD_URL=http://127.0.0.1:" in said
    assert program.end() == 0
