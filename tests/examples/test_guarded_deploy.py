"""examples/guarded_deploy, run: one after the other, and nobody who was replaced."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from steadhold.sdk import Client
from steadhold.sdk.errors import LockHeld, LockLost, StaleFence
from tests.sdk.site import key, site  # noqa: F401 - fixtures

FOLDER = Path(__file__).parents[2] / "examples" / "guarded_deploy"
sys.path.append(str(FOLDER))
from deploy import STEPS, deploy  # noqa: E402 - it lies in the example's folder


@pytest.fixture
def client(site, key):  # noqa: F811
    with Client(site.url, key.key) as made:
        yield made


def test_it_runs_as_its_page_says(site, key):  # noqa: F811
    environ = {"STEADHOLD_URL": site.url, "STEADHOLD_API_KEY": key.key}
    ran = [
        subprocess.run([sys.executable, "deploy.py", "v42"], cwd=FOLDER, env=environ, capture_output=True, check=True)
        for _ in range(2)
    ]
    assert [each.stdout for each in ran] == [b"v42 is deployed, under fence %d.\n" % fence for fence in (1, 2)]


def test_two_deploy_one_after_the_other(client):
    trail, fences = [], []

    def run(version):
        fences.append(deploy(client, version, between=lambda step: trail.append((version, step))))

    threads = [threading.Thread(target=run, args=(f"v{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(fences) == [1, 2, 3]
    assert [step for _, step in trail] == [*STEPS] * 3
    assert len({version for version, _ in trail[:3]}) == len({version for version, _ in trail[3:6]}) == 1


def test_one_who_was_replaced_changes_nothing_more(client):
    """Half way its lock is ended by somebody else, who deploys in its stead."""

    def replaced(step):
        if step == "copied":
            client.locks.release("deploy", 1)
            deploy(client, "v2")

    with pytest.raises((StaleFence, LockLost)):
        deploy(client, "v1", between=replaced)
    assert client.state.get("deploy/current").value == {"version": "v2", "step": "switched", "fence": 2}


def test_who_waits_no_longer_is_told_by_whom(client):
    with client.locks.hold("deploy", owner="anna"), pytest.raises(LockHeld) as held:
        deploy(client, "v1", wait_seconds=0)
    assert held.value.holder == "anna"
