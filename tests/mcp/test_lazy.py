"""What the door of agents needs is loaded when it is first asked for, and not before."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("mcp", "pydantic", "jsonschema")


def loaded(program):
    """Which of the heavy packages a program has loaded at its end."""
    said = f"{program}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()


def test_a_server_loads_nothing_for_agents_before_one_comes():
    assert loaded("import steadhold.server.run\nimport steadhold.server.app") == []
    assert loaded("import steadhold.mcp.over_http") == list(HEAVY)
