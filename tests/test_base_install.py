"""`pip install steadhold` alone gives the SDK and the CLI: both import with nothing of the server's extras."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PACKAGE = Path(__file__).parents[1] / "src" / "steadhold"
WALLED = """
import sys
from importlib.abc import MetaPathFinder

class Wall(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"{name} is not in the base install")

sys.meta_path.insert(0, Wall())
__import__(sys.argv[1])
"""


def base() -> set[str]:
    """Distributions that `pip install steadhold` brings, without extras."""
    found: set[str] = set()
    ahead = ["steadhold"]
    while ahead:
        name = ahead.pop()
        if name not in found and _installed(name):
            found.add(name)
            ahead += [
                r.name.lower().replace("_", "-") for r in map(Requirement, metadata.requires(name) or ()) if _needed(r)
            ]
    return found


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _needed(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def imported(module: str) -> subprocess.CompletedProcess[str]:
    """Import a module in a Python that can see the base install only."""
    ours = base()
    apart = [
        top
        for top, owners in metadata.packages_distributions().items()
        if not ours & {owner.lower().replace("_", "-") for owner in owners}
    ]
    return subprocess.run([sys.executable, "-c", WALLED, module, *apart], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "module", ["steadhold", *(f"steadhold.{n}" for n in ("kit", "sdk", "cli", "inboxes") if (PACKAGE / n).exists())]
)
def test_it_imports_in_the_base_install(module):
    ran = imported(module)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_wall_stands():
    assert "asyncpg is not in the base install" in imported("asyncpg").stderr
