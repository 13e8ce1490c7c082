"""`steadhold serve` on a database of one's own: told ready, handed a socket, two at once, stopped in order."""

from __future__ import annotations

import json
import signal
import socket

import pytest

from steadhold import Client

HANDED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execv(sys.executable, [sys.executable, "-m", "steadhold", "serve"])
"""


def ready(program):
    """The log line that says requests are answered."""
    for line in program.errors:
        told = json.loads(line)
        if told["event"] == "ready":
            return told
    raise AssertionError(f"it ended with {program.ended()}")


@pytest.fixture
def serve(start, me):
    """Start a server on a database and wait until it is ready."""

    def started(dsn, *words, **popen):
        program = start("serve", *words, user=me, environ={"STEADHOLD_DATABASE_URL": dsn}, errors=True, **popen)
        program.told = ready(program)
        return program

    return started


@pytest.fixture
def key(fresh_database, ask):
    """A database with a workspace, and the key of it."""
    made = json.loads(ask(None, "workspaces", "create", "acme", "--database-url", fresh_database.dsn))
    return made["key"]


def test_two_servers_share_a_database_and_stop_in_order(serve, ask, fresh_database, key):
    one, two = (serve(fresh_database.dsn, "--port", "0") for _ in range(2))
    assert one.told["pid"] == one.process.pid
    ask({"url": one.told["url"], "api_key": key}, "state", "put", "n", "1", "--create")
    assert ask({"url": two.told["url"], "api_key": key}, "state", "get", "n") == b"1"
    assert (one.end(signal.SIGTERM), two.end(signal.SIGINT)) == (0, 0)
    assert json.loads(one.errors.read().splitlines()[-1])["event"] == "stopped"


def test_a_supervisor_is_told_and_its_socket_is_used(start, folder, fresh_database, key, me):
    listener = socket.create_server(("127.0.0.1", 0))
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(str(folder / "notify"))
    program = start(
        *("-c", HANDED, listener.fileno()), module=None, user=me, pass_fds=[listener.fileno()],
        environ={"STEADHOLD_DATABASE_URL": fresh_database.dsn, "NOTIFY_SOCKET": str(folder / "notify")},
    )  # fmt: skip
    told.settimeout(60)
    assert told.recv(100) == b"READY=1"
    host, port = listener.getsockname()
    listener.close()
    with Client(f"http://{host}:{port}", key) as client:
        assert client.state.create("n", raw=b"1").revision == 1
    assert program.end(signal.SIGTERM) == 0
    told.close()


def test_it_listens_on_a_unix_socket(serve, folder, fresh_database, key):
    program = serve(fresh_database.dsn, "--unix-socket", folder / "http")
    with Client(program.told["url"], key) as client:
        assert client.state.create("n", raw=b"1").revision == 1
    assert program.end() == 0
    assert not (folder / "http").exists()


def test_a_database_that_was_not_migrated_is_told_so(start, folder, dev, me):
    dsn = f"postgresql://steadhold@/template1?host={dev(me).told['data_dir']}/run&port=5432"
    program = start("serve", user=me, environ={"STEADHOLD_DATABASE_URL": dsn, "STEADHOLD_PORT": "0"})
    assert program.ended() == 1
    assert "Run: steadhold migrate" in program.log.read_text()


def test_operators_work_at_the_database_and_over_http(serve, ask, fresh_database):
    ops = json.loads(ask(None, "keys", "create", "ops", "--operator", "--database-url", fresh_database.dsn))
    told = {"url": serve(fresh_database.dsn, "--port", "0").told["url"], "api_key": ops["key"]}
    made = json.loads(ask(told, "workspaces", "create", "beta"))
    ask(told | {"api_key": made["key"]}, "state", "put", "n", "1", "--create")
    assert ask(told, "state", "get", "n", "--workspace", "beta") == b"1"
    names = [json.loads(line)["name"] for line in ask(told, "workspaces", "ls").splitlines()]
    at_database = ask(None, "workspaces", "ls", "--database-url", fresh_database.dsn).splitlines()
    assert "beta" in names
    assert [json.loads(line)["name"] for line in at_database] == names


def test_after_a_restore_no_number_is_issued_again(serve, ask, fresh_database, key):
    told = {"url": serve(fresh_database.dsn, "--port", "0").told["url"], "api_key": key}
    ask(told, "state", "put", "n", "1", "--create")
    begun = json.loads(ask(None, "restored", "--database-url", fresh_database.dsn))
    written = json.loads(ask(told, "state", "put", "n", "2", "--if-match", "1"))
    assert begun["incarnation"] == 1
    assert written["revision"] == (1 << 32) + 1
