"""The guarded finish, by a real server: done whole, or not at all, whatever happened meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest
import release

from steadhold import Client
from steadhold.sdk.errors import NotFound, Problem, StaleFence
from tests.examples.conftest import EXAMPLES
from tests.sdk.site import key, site  # noqa: F401 - fixtures

pytestmark = pytest.mark.journeys


@pytest.fixture
def client(request):
    with Client(request.getfixturevalue("site").url, request.getfixturevalue("key").key) as made:
        yield made


@pytest.fixture
def person(request, client):
    made = client.keys.create("berta", "person", ["approvals:*"])
    with Client(request.getfixturevalue("site").url, made.key) as berta:
        yield berta


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "build.tar"
    path.write_bytes(b"what was built")
    return path


@pytest.fixture
def approval(client, person, file):
    """A release that was asked for and approved."""
    artifact = release.artifact_of(file, "1.4")
    id = release.ask(client, artifact)
    person.approvals.approve(id, artifact)
    return id


def nothing_happened(client, approval):
    assert client.approvals.get(approval).grant.state == "unused"
    with pytest.raises(NotFound):
        client.state.get(release.CURRENT)


def test_it_is_released_once(client, approval, file):
    artifact = release.artifact_of(file, "1.4")
    assert release.release(client, artifact).revision == 1
    assert client.approvals.get(approval).grant.state == "used"
    assert client.state.get(release.CURRENT).value["hash"] == artifact.hash
    (job,) = client.jobs.list(type=release.TYPE)
    assert job.state == "completed"
    assert release.release(client, artifact) is None
    assert not client.locks.get(release.LOCK).held


def test_a_file_that_was_built_anew(client, approval, file):
    file.write_bytes(b"something else")
    refused = release.release(client, release.artifact_of(file, "1.4"))
    assert (refused.code, refused.extras["index"]) == ("artifact_mismatch", 0)
    nothing_happened(client, approval)
    (job,) = client.jobs.list(type=release.TYPE)
    assert job.state == "accepted"


def begun(client):
    grant = client.locks.acquire(release.LOCK, ttl=30)
    (job,) = client.jobs.claim("releaser", [release.TYPE])
    return job, grant


def test_a_lock_that_was_lost(client, approval, file):
    job, grant = begun(client)
    client.locks.release(release.LOCK, grant.fence)
    client.locks.acquire(release.LOCK, owner="another", ttl=30)
    with pytest.raises(StaleFence) as refused:
        release.finish(client, job, grant.grant, release.artifact_of(file, "1.4"))
    assert refused.value.extras["list"] == "require"
    nothing_happened(client, approval)
    assert client.jobs.get(job.job_id).state == "running"


def test_a_job_that_another_has(client, approval, file):
    job, grant = begun(client)
    client.jobs.release(job.job_id, job.fence)
    client.jobs.claim("another", [release.TYPE], wait_seconds=5)
    with pytest.raises(Problem) as refused:
        release.finish(client, job, grant.grant, release.artifact_of(file, "1.4"))
    assert refused.value.code == "stale_fence"
    nothing_happened(client, approval)


def test_another_release_came_first(client, approval, file, monkeypatch):
    job, grant = begun(client)
    client.state.create(release.CURRENT, {"version": "1.3"})
    monkeypatch.setattr(release, "revision_of", lambda *_: None)
    with pytest.raises(Problem) as refused:
        release.finish(client, job, grant.grant, release.artifact_of(file, "1.4"))
    assert refused.value.code == "condition_false"
    assert client.approvals.get(approval).grant.state == "unused"


def test_the_program(client, person, file, request):
    environment = {"STEADHOLD_URL": client.url, "STEADHOLD_API_KEY": request.getfixturevalue("key").key}

    def run(verb):
        words = [sys.executable, EXAMPLES / "guarded_finish" / "release.py", verb, file, "--version", "1.4"]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    approval = run("ask").stdout.strip()
    refused = run("finish")
    assert (refused.returncode, "not_usable" in refused.stderr) == (1, True), refused.stderr
    person.approvals.approve(approval, release.artifact_of(file, "1.4"))
    (job,) = client.jobs.list(type=release.TYPE)
    while "revision 1" not in run("finish").stdout:  # the job was handed back for a second
        pass
    assert client.jobs.get(job.job_id).state == "completed"
