"""GitHub's own examples of its webhooks, out of an npm package."""

from __future__ import annotations

import json

import pytest

from tests.suites import npm

PACKAGE = "@octokit/webhooks-examples@7.6.1"
EVENTS_MIN = 300


def payloads(config):
    """Each example as (event, body), as it is sent."""
    found = npm.modules(config, "webhooks-examples", PACKAGE) / "@octokit/webhooks-examples/api.github.com/index.json"
    kinds = json.loads(found.read_bytes())
    made = [(kind["name"], written(example, n)) for kind in kinds for n, example in enumerate(kind["examples"])]
    if len(made) < EVENTS_MIN:
        pytest.fail(f"{PACKAGE} has {len(made)} examples of at least {EVENTS_MIN}")
    return made


def written(example, n):
    """As GitHub writes it: without white space; every tenth over several lines, as others do."""
    spaced = {"indent": 2} if n % 10 == 9 else {"separators": (",", ":")}
    return json.dumps(example, ensure_ascii=False, **spaced).encode()
