from __future__ import annotations

import time

import httpx2
import pytest
from click.testing import CliRunner

from steadhold.cli.program import program
from steadhold.sdk.client import Client
from steadhold.sdk.retry import Patience
from tests.sdk.conftest import sleeping

VARIABLES = (
    "STEADHOLD_URL",
    "STEADHOLD_API_KEY",
    "STEADHOLD_API_KEY_FILE",
    "STEADHOLD_DATABASE_URL",
    "STEADHOLD_CONFIG",
    "STEADHOLD_PREPARED_STATEMENTS",
)


def reply(status=200, body=b"", /, **headers):
    """An answer; headers are named with underscores."""
    said = {name.replace("_", "-"): str(value) for name, value in headers.items()}
    return httpx2.Response(status, content=body, headers=said)


def problem(status, code, /, *, next="stop", retry_after=None, **extras):
    headers = {"content-type": "application/problem+json"} | ({"retry-after": str(retry_after)} if retry_after else {})
    told = {"type": f"/docs/errors#{code}", "title": code, "status": status, "detail": "Why.", "code": code}
    return httpx2.Response(status, json={**told, "next": next, **extras}, headers=headers)


class Server:
    """Answers each request by the next of its answers; an exception is what happens to the connection."""

    def __init__(self):
        self.answers, self.requests, self.made = [], [], []
        self.now = 0.0

    def then(self, *answers):
        self.answers += answers
        return self

    def __call__(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return httpx2.Response(answer.status_code, headers=answer.headers, stream=httpx2.ByteStream(answer.content))

    def client(self, *args, **settings):
        """A client whose requests come here, and whose pauses take no time."""
        self.made.append((args, settings))
        patience = Patience(settings.pop("give_up_seconds"), clock=lambda: self.now, chance=lambda: 1.0)
        return Client(*args, **settings, patience=patience, transport=httpx2.MockTransport(self))

    def pause(self, seconds):
        self.now += seconds

    @property
    def asked(self):
        """Method and target of each request."""
        return [f"{r.method} {r.url.raw_path.decode()}" for r in self.requests]

    @property
    def last(self):
        return self.requests[-1]


@pytest.fixture
def server(monkeypatch):
    return stood(monkeypatch, Server())


def stood(monkeypatch, server):
    """The same server, which commands ask from now on."""
    monkeypatch.setattr("steadhold.sdk.client.Client", server.client)
    monkeypatch.setattr("steadhold.sdk.client.time", sleeping(time, server.pause))
    monkeypatch.setenv("STEADHOLD_API_KEY", "sh_key")
    return server


@pytest.fixture(autouse=True)
def _apart(monkeypatch):
    """No test sees how this machine is set up."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def steadhold():
    """The command, run in this process: `steadhold("state", "get", "a")` gives click's result."""
    runner = CliRunner()

    def run(*args, input=None, code=0, **env):
        result = runner.invoke(program, [str(arg) for arg in args], input=input, env=env, prog_name="steadhold")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.stderr
        return result

    return run
