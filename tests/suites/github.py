"""GitHub's own examples of its webhooks, out of an npm package: fetched once, and kept with what tests remember."""

from __future__ import annotations

import json
import os
import shutil
import subprocess

import pytest

PACKAGE = "@octokit/webhooks-examples@7.6.1"
EVENTS_MIN = 300


def absent(what):
    """Without them CI fails, and a developer's run skips."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


def payloads(home):
    """Each example as (event, body), as it is sent."""
    found = home / "node_modules" / "@octokit" / "webhooks-examples" / "api.github.com" / "index.json"
    if not found.is_file():
        npm = shutil.which("npm") or absent("no npm: it fetches GitHub's examples")
        words = (npm, "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", home, PACKAGE)
        if subprocess.run(words, capture_output=True, timeout=100, check=False).returncode:
            absent(f"npm cannot fetch {PACKAGE}")
    kinds = json.loads(found.read_bytes())
    made = [(kind["name"], written(example, n)) for kind in kinds for n, example in enumerate(kind["examples"])]
    if len(made) < EVENTS_MIN:
        pytest.fail(f"{PACKAGE} has {len(made)} examples of at least {EVENTS_MIN}")
    return made


def written(example, n):
    """As GitHub writes it: without white space; every tenth over several lines, as others do."""
    spaced = {"indent": 2} if n % 10 == 9 else {"separators": (",", ":")}
    return json.dumps(example, ensure_ascii=False, **spaced).encode()
