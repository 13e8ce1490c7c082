"""The first five minutes, as README.md prints them: each block is done in its order, and none is passed over.

Four things differ: the port is a free one, the job sleeps for a moment where the page says 20 seconds, the page's
`insert into orders …` is given a row, and nothing is installed, but what is to be is looked up.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
from contextlib import suppress
from importlib.metadata import metadata
from pathlib import Path

import psycopg
import pytest

from steadhold import Client
from steadhold.server import agents
from tests.journeys.programs import BASE

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OTHER = "$ make "  # tests/journeys/test_demo.py runs the demo, and `make test` all of this
SHORTER = {'ctx.sleep("cool-down", 20)': 'ctx.sleep("cool-down", 0.1)'}
WHOLE = {"insert into orders …": "insert into orders values (41)"}


class Undone(Exception):
    """Why a transaction is rolled back."""


class Reader:
    """Somebody who does what the page says, block by block."""

    def __init__(self, folder, dev, start, user, setenv):
        self.folder, self.dev, self.start, self.user, self.setenv = folder, dev, start, user, setenv
        self.environ = {}

    def do(self, language, block):
        match language, re.match(r"# (\w+\.py)\n", block):
            case "console", _:
                self.type(block)
            case "python", None if "dsn" in block:
                self.transact(replaced(block, WHOLE))
            case "python", None:
                run(block)
            case "python", named:
                (self.folder / named[1]).write_text(replaced(block, SHORTER))
            case _:
                raise AssertionError(f"nobody tries this: {block}")

    def type(self, block):
        before, *steps = re.split(r"^\$ ", block, flags=re.MULTILINE)
        assert before == ""
        for step in steps:
            command, _, printed = step.partition("\n")
            self.command(shlex.split(command, comments=True), printed)

    def command(self, words, printed):
        match words:
            case ["pip", "install", _]:
                assert printed == ""
            case ["steadhold", "dev"]:
                self.told = self.dev(self.user).told
                self.export("STEADHOLD_URL", self.told["url"])
            case ["export", setting]:
                name, _, value = setting.partition("=")
                assert self.told["api_key"].startswith(value.removesuffix("…"))
                self.export(name, self.told["api_key"])
            case ["steadhold", *rest, "&"]:
                self.start(*rest, user=self.user, cwd=self.folder, environ=self.environ)
            case ["steadhold", *rest]:
                assert printed in {"", self.on_a_terminal(rest)}
            case _:
                raise AssertionError(f"nobody tries this: {words}")

    def export(self, name, value):
        self.environ[name] = value
        self.setenv(name, value)

    def on_a_terminal(self, words):
        """What a person sees of a command that succeeds."""
        controller, terminal = pty.openpty()
        program = [self.user.python, "-m", "steadhold", *words]
        environ = {**BASE, **self.user.environ, **self.environ}
        said = b""
        with os.fdopen(controller, "rb", buffering=0) as seen:
            with os.fdopen(terminal, "wb"):
                subprocess.run(program, stdout=terminal, check=True, cwd=self.folder, env=environ, timeout=60)
            with suppress(OSError):  # how Linux ends what nobody writes to any more
                while some := seen.read(4096):
                    said += some
        return said.decode().replace("\r\n", "\n")

    def transact(self, code):
        """Once undone, and once not."""
        dsn = self.told["database_url"]
        with psycopg.connect(dsn) as conn:
            conn.execute("create table orders (n int)")
        with pytest.raises(Undone):
            run(f"{code}\n    raise Undone\n", dsn=dsn, Undone=Undone)
        run(code, dsn=dsn)


def run(code, **names):
    exec(compile(code, "README.md", "exec"), names)


def extras(text):
    return {name for named in re.findall(r"steadhold\[(.*?)\]", text) for name in named.split(",")}


def replaced(text, other):
    for old, new in other.items():
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


@pytest.fixture
def reader(folder, dev, start, me, monkeypatch):
    return Reader(folder, dev, start, me, monkeypatch.setenv)


def test_the_first_five_minutes(reader, capfd):
    before, _, rest = README.partition("\n## Five minutes\n")
    section, _, after = rest.partition("\n## ")
    assert README.count("```") == 2 * len(BLOCK.findall(README))
    for language, block in BLOCK.findall(before) + BLOCK.findall(after):
        if language == "json":
            assert json.loads(block)["mcpServers"]["steadhold"]["url"].endswith(agents.PATH)
        else:
            assert all(line.startswith(OTHER) for line in block.splitlines())
    assert extras(section) <= set(metadata("steadhold").get_all("Provides-Extra"))
    for language, block in BLOCK.findall(section):
        reader.do(language, block)

    assert capfd.readouterr().out == "completed\n"
    with Client() as client, psycopg.connect(reader.told["database_url"]) as conn:
        assert client.state.get("limits").raw == b'{"daily":2.20}'
        reports = list(client.jobs.list(type="report"))
        assert [client.jobs.result(job.job_id).raw for job in reports] == [b'{"rows":3}'] * 2
        (invoice,) = client.jobs.list(type="invoice")
        assert client.jobs.input(invoice.job_id).raw == b'{"order": 41}'
        assert conn.execute("select n from orders").fetchall() == [(41,)]
