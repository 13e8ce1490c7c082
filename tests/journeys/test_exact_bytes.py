"""Bytes read are bytes written, whoever writes and whoever reads: the wire, both clients and the command line."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import os
import subprocess
import sys
from decimal import Decimal

import pytest

from steadhold import AsyncClient, Client
from tests.faults.servers import house, key, place, server  # noqa: F401 - fixtures

EXACT = {
    "2^53+1": (b"9007199254740993", 2**53 + 1),
    "a huge exponent": (b"1e400", Decimal("1e400")),
    "a tiny exponent": (b"-1E-400", Decimal("-1E-400")),
    "a trailing zero": (b"1.10", Decimal("1.10")),
    "minus zero": (b"-0", 0),
    "minus zero point zero": (b"-0.0", Decimal("-0.0")),
    "0.1 is not a double": (b"0.1", Decimal("0.1")),
    "many digits": (b"3." + b"14159" * 150, Decimal("3." + "14159" * 150)),
    "a long integer": (b"9" * 1_000, 10**1_000 - 1),
    "the order of keys": (b'{"b":1,"a":2,"\\u0063":3}', {"b": 1, "a": 2, "c": 3}),
    "whitespace": (b' \r\n\t{ "a" :\t[ 1 ,2 ] }\n ', {"a": [1, 2]}),
    "escapes": (b'"\\u00e9\\/\\ud83d\\ude00\\u0000"', "é/\U0001f600\x00"),
    "no escapes": ('"é/\U0001f600\u2028\x7f"'.encode(), "é/\U0001f600\u2028\x7f"),
    "no normal form": ('"e\u0301"'.encode(), "e\u0301"),
    "null": (b"null", None),
    "false": (b"false", False),
    "an empty key": (b'{"":[],"a":{}}', {"": [], "a": {}}),
    "depth": (b"[" * 128 + b"]" * 128, None),
    "a megabyte": (b'"' + b"x" * (2**20 - 2) + b'"', "x" * (2**20 - 2)),
}


@pytest.fixture(scope="module", params=["lockstep", "single"])
def running(request, house):  # noqa: F811
    with server(house.dsn, player=request.param) as made:
        yield made


class Wire:
    """Requests as they are."""

    def __init__(self, running, secret):
        self.http = running.client(secret)

    def write(self, name, raw, revision):
        condition = {"if-match": f'"{revision}"'} if revision else {"if-none-match": "*"}
        headers = {**condition, "content-type": "application/json"}
        self.http.put(f"/v1/state/{name}", content=raw, headers=headers).raise_for_status()

    def read(self, name, revision=None):
        got = self.http.get(f"/v1/state/{name}", params={} if revision is None else {"revision": revision})
        digest = base64.b64encode(hashlib.sha256(got.content).digest()).decode()
        assert got.headers["repr-digest"] == f"sha-256=:{digest}:"
        assert got.headers["etag"] == f'"{got.headers["revision"]}"'
        assert got.headers["content-type"] == "application/json"
        assert "content-encoding" not in got.headers
        assert got.headers["cache-control"] == "no-store, no-transform"
        return got.content, None

    def close(self):
        self.http.close()


class Sync:
    """The blocking client."""

    def __init__(self, running, secret):
        self.client = Client(running.url, secret)

    def write(self, name, raw, revision):
        if revision:
            self.client.state.put(name, raw=raw, if_revision=revision)
        else:
            self.client.state.create(name, raw=raw)

    def read(self, name, revision=None):
        found = self.client.state.get(name, revision=revision)
        return found.raw, found.value

    def close(self):
        self.client.close()


class Async:
    """The client of asyncio."""

    def __init__(self, running, secret):
        self.runner = asyncio.Runner()
        self.client = AsyncClient(running.url, secret)

    def write(self, name, raw, revision):
        if revision:
            self.runner.run(self.client.state.put(name, raw=raw, if_revision=revision))
        else:
            self.runner.run(self.client.state.create(name, raw=raw))

    def read(self, name, revision=None):
        found = self.runner.run(self.client.state.get(name, revision=revision))
        return found.raw, found.value

    def close(self):
        self.runner.run(self.client.close())
        self.runner.close()


class Cli:
    """`steadhold state`, in processes of its own."""

    def __init__(self, running, secret):
        self.environ = {**os.environ, "STEADHOLD_URL": running.url, "STEADHOLD_API_KEY": secret}

    def run(self, *words, data=b""):
        ran = subprocess.run(
            [sys.executable, "-m", "steadhold", "state", *words],
            input=data, capture_output=True, env=self.environ, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def write(self, name, raw, revision):
        self.run("put", name, "-", *(["--if-match", str(revision)] if revision else ["--create"]), data=raw)

    def read(self, name, revision=None):
        return self.run("get", name, *([] if revision is None else ["--revision", str(revision)])), None

    def close(self):
        """Nothing is open."""


@pytest.fixture
def doors(running, key):  # noqa: F811
    made = [door(running, key) for door in (Wire, Sync, Async)]
    yield made
    for door in made:
        door.close()


@pytest.mark.parametrize("name", EXACT)
def test_whoever_writes_and_whoever_reads(doors, name):
    raw, value = EXACT[name]
    for n, (writer, reader) in enumerate(itertools.product(doors, doors), 1):
        writer.write("a/b", raw, n - 1)
        got, read = reader.read("a/b")
        assert got == raw
        assert reader.read("a/b", n) == (got, read)
        if not isinstance(reader, Wire) and name != "depth":
            assert (read, type(read)) == (value, type(value))
            assert str(read) == str(value)


@pytest.mark.parametrize("running", ["lockstep"], indirect=True)
@pytest.mark.parametrize("name", EXACT)
def test_the_command_line(running, key, name):  # noqa: F811
    raw, _ = EXACT[name]
    wire, cli = Wire(running, key), Cli(running, key)
    cli.write("a/b", raw, 0)
    assert (wire.read("a/b")[0], cli.read("a/b")[0]) == (raw, raw)
    wire.close()


def test_a_batch_and_its_receipt_keep_bytes(running, key):  # noqa: F811
    small = {name: raw for name, (raw, _) in EXACT.items() if len(raw) < 5_000 and name != "depth"}
    with running.client(key) as http:
        put = b'{"op":"put","name":"%d","value":%b,"if_none_match":"*"}'
        puts = [put % (n, raw) for n, raw in enumerate(small.values())]
        gets = [b'{"op":"get","name":"%d"}' % n for n in range(len(small))]
        headers = {"idempotency-key": "k", "content-type": "application/json"}
        body = b'{"items":[' + b",".join(puts + gets) + b"]}"
        first = http.post("/v1/state:batch", content=body, headers=headers)
        assert [item["status"] for item in first.json()["outcomes"]] == [201] * len(small) + [200] * len(small)
        for n, raw in enumerate(small.values()):
            assert http.get(f"/v1/state/{n}").content == raw.strip(b" \r\n\t")
            assert b'"value":%b' % raw.strip(b" \r\n\t") in first.content
        again = http.post("/v1/state:batch", content=body, headers=headers)
        assert (again.content, again.headers["idempotent-replayed"]) == (first.content, "true")
        assert first.content in http.get("/v1/operations/k").content


def test_a_jobs_input_stages_and_result_keep_bytes(doors):
    _, sync, other = doors
    for name, (raw, value) in EXACT.items():
        if len(raw) > 250_000 or name == "depth":
            continue
        stripped = raw.strip(b" \r\n\t")
        job = sync.client.jobs.submit("exact", raw=raw)
        [held] = other.runner.run(other.client.jobs.claim("me", ["exact"]))
        assert held.job_id == job.job_id
        assert (bytes(held.input_raw), sync.client.jobs.input(job.job_id).raw) == (stripped, stripped), name
        other.runner.run(other.client.jobs.checkpoint(job.job_id, "s", held.fence, raw=raw))
        assert bytes(sync.client.jobs.checkpoint_of(job.job_id, "s").raw) == stripped, name
        other.runner.run(other.client.jobs.complete(job.job_id, held.fence, raw=raw))
        result = sync.client.jobs.result(job.job_id)
        assert (result.raw, result.value) == (stripped, value), name
