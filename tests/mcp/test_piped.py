"""`steadhold mcp` with its requests piped in: the input has ended before they are answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number, name, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def started(site, key, **pipes):
    environ = {**os.environ, "STEADHOLD_URL": site.url, "STEADHOLD_API_KEY": key.key}
    return subprocess.Popen(
        [sys.executable, "-m", "steadhold", "mcp"], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **pipes
    )


def lines(*messages):
    return "\n".join(json.dumps(each) for each in messages).encode()


@pytest.mark.parametrize("end", [b"", b"\n", b"\nno message\n"])
def test_all_is_answered_before_it_ends(site, key, end):
    sent = lines(
        HELLO,
        READY,
        call(2, "whoami"),
        call(3, "state_list"),
        call(4, "operation_get", operation_id="x", wait_seconds=1),
    )
    program = started(site, key)
    out, _ = program.communicate(sent + end, timeout=50)
    told = {each["id"]: each for each in map(json.loads, out.splitlines())}
    assert program.returncode == 0
    assert told.keys() == {1, 2, 3, 4}
    assert key.workspace in json.dumps(told[2]["result"])
    assert told[4]["result"]["structuredContent"]["answer"]["code"] == "operation_not_committed"


def test_what_was_taken_back_is_not_waited_for(site, key):
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    wait = call(2, "job_claim", worker="w", types=["t"], wait_seconds=30)
    program = started(site, key)
    out, _ = program.communicate(lines(HELLO, READY, wait, cancelled), timeout=25)
    assert program.returncode == 0
    assert b'"id":1' in out


def test_a_client_that_reads_no_more_is_not_waited_for(site, key):
    program = started(site, key, stderr=subprocess.PIPE)
    program.stdin.write(lines(HELLO, READY, call(2, "job_claim", worker="w", types=["t"], wait_seconds=30)))
    program.stdin.close()
    assert b'"id":1' in program.stdout.readline()
    program.stdout.close()
    assert program.wait(timeout=25) == 0
    assert program.stderr.read() == b""
    program.stderr.close()
