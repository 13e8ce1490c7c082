"""Each import contract of pyproject.toml is broken by the breach it is there for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BREACHES = {
    "floors: call down, never up, never sideways": {"fences/breach.py": "import steadhold.state.model"},
    "inside a room: entrances, then plans, then model": {"state/model.py": "import steadhold.state.plans"},
    "plans, models and kit touch no outside": {"state/plans.py": "import time"},
    "the SDK is installed without the server": {"sdk/breach.py": "import steadhold.db.pool"},
    "the server cannot open an envelope: only clients seal and open": {
        "envelopes/seal.py": "",
        "server/breach.py": "import steadhold.envelopes.seal",
    },
    "routes and loops are mounted by the entrances only, but that commits speak through routes": {
        "sdk/mount.py": "import steadhold.state.routes"
    },
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Names of the contracts that a copy of the tree breaks, with every breach in it at once."""
    copy = tmp_path_factory.mktemp("floors")
    package = copy / "src" / "steadhold"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for files in BREACHES.values():
        for name, line in files.items():
            (package / name).parent.mkdir(exist_ok=True)
            (package / name).parent.joinpath("__init__.py").touch()
            with (package / name).open("a", encoding="utf-8") as file:
                file.write(f"\n{line}\n")
    ran = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": str(copy / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return [line.partition(" BROKEN")[0] for line in ran.stdout.splitlines() if " BROKEN" in line]


def test_every_contract_has_its_breach():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    assert [contract["name"] for contract in contracts] == list(BREACHES)


@pytest.mark.parametrize("contract", BREACHES)
def test_a_breach_is_found(contract, broken):
    assert contract in broken
