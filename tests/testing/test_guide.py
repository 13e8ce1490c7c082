"""What the guide shows is run, as a user would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import steadhold.testing

pytestmark = pytest.mark.docs

GUIDE = Path(steadhold.testing.__file__).with_name("guide.md")
BLOCK = re.compile(r"^```python\n# (\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_guides_tests_pass(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nanyio_mode = auto\n")
    blocks = BLOCK.findall(GUIDE.read_text())
    for name, text in blocks:
        (tmp_path / name).write_text(text)
    of_their_own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)],
        cwd=tmp_path,
        env=of_their_own,
        capture_output=True,
        text=True,
        check=False,
    )
    tests = sum(text.count("def test_") for _, text in blocks)
    assert f"{tests} passed" in ran.stdout, ran.stdout + ran.stderr
    assert len(blocks) == GUIDE.read_text().count("```python"), "each block names its file, so that it is run"
