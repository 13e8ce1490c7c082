"""The files of tests/typing are checked, as users' own code is: they assert types, and what must be an error."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "typing"
FILES = sorted(path.name for path in FOLDER.glob("*.py"))
WRONG = """
from __future__ import annotations
from typing import assert_type
from steadhold import Client
from steadhold.sdk.state import State

def f(client: Client) -> None:
    assert_type(client.state.put("a", 1, if_revision=1), State)
    client.state.put("a", 1)
"""


def checked(*paths: Path) -> list[tuple[str, str]]:
    """What basedpyright finds wrong: the name of the file and the rule."""
    ran = subprocess.run(
        [Path(sys.executable).with_name("basedpyright"), "--outputjson", *paths],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = json.loads(ran.stdout)["generalDiagnostics"]
    return [(Path(each["file"]).name, each.get("rule", each["message"])) for each in found]


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    """What is wrong in all files, found in one run; one of them is planted."""
    wrong = tmp_path_factory.mktemp("typing") / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")
    return checked(*(FOLDER / name for name in FILES), wrong)


@pytest.mark.parametrize("name", FILES)
def test_a_type_checker_sees_what_is_promised(name, faults):
    assert [fault for fault in faults if fault[0] == name] == []


def test_a_broken_promise_is_seen(faults):
    assert sorted(rule for name, rule in faults if name == "wrong.py") == ["reportAssertTypeFailure", "reportCallIssue"]
