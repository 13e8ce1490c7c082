"""The example of an agent that asks a person: it publishes what was seen, once, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steadhold import Client
from steadhold.sdk.approvals import Artifact
from steadhold.sdk.errors import NotFound

pytestmark = pytest.mark.journeys

EXAMPLE = Path(__file__).parents[2] / "examples" / "ask_a_person"
SCOPES = ("jobs:*", "state:*", "approvals:request", "approvals:use", "approvals:read")
TEXT = '"Version 7 is out."'


class Desk:
    """A development server, the agent under its own key, and a person at the command line."""

    def __init__(self, told, ask):
        self.told, self.ask = told, ask
        self.client = Client(told["url"], told["api_key"])

    def says(self, *words, code=0):
        return self.ask(self.told, *words, code=code)

    def submitted(self):
        body = f'{{"name": "release-7", "text": {TEXT}}}'
        return json.loads(self.says("jobs", "submit", "publish", body))["job_id"]

    def asked(self, job_id):
        """The question, once the agent waits for its answer."""
        next(job for job in self.client.jobs.watch(job_id) if job.state == "waiting")
        (line,) = self.says("approvals", "ls", "--state", "pending").splitlines()
        return json.loads(line)["approval_id"]

    def published(self):
        try:
            return self.client.state.get("published/release-7").raw
        except NotFound:
            return None


@pytest.fixture
def desk(dev, start, me, ask):
    told = dev(me).told
    words = [word for scope in SCOPES for word in ("--scope", scope)]
    made = json.loads(ask(told, "keys", "create", "agent", "--kind", "service", *words))
    environ = {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": made["key"]}
    start("work", "agent:worker", user=me, cwd=EXAMPLE, environ=environ)
    desk = Desk(told, ask)
    with desk.client:
        yield desk


def test_what_a_person_has_seen_is_published(desk, folder):
    job_id = desk.submitted()
    id = desk.asked(job_id)
    assert desk.published() is None
    seen = folder / "seen"
    seen.write_bytes(desk.says("state", "get", "drafts/release-7"))
    desk.says("approvals", "approve", id, "--file", seen)
    assert desk.client.jobs.wait(job_id, timeout_seconds=60).state == "completed"
    assert desk.published() == TEXT.encode()
    shown = json.loads(desk.says("approvals", "show", id))
    assert (shown["requester"], shown["votes"][0]["subject"]) == ("agent", "dev")
    assert shown["grant"]["use_id"] == f"publish-{job_id}"
    artifact = Artifact.of("state:drafts/release-7", "1", TEXT.encode())
    assert desk.client.approvals.verify(id, artifact).reason == "used"


def test_a_draft_that_was_changed_is_not_published(desk):
    """Approved is what was asked about: swapped under the same name before the act, it is another thing."""
    job_id = desk.submitted()
    id = desk.asked(job_id)
    artifact = desk.client.approvals.get(id).artifact
    desk.client.state.put("drafts/release-7", "Version 7 is free.", if_revision=1)
    desk.client.approvals.approve(id, artifact)
    ended = desk.client.jobs.wait(job_id, timeout_seconds=60)
    assert (ended.state, ended.error_code) == ("failed", "changed_since_it_was_asked")
    assert desk.published() is None
    assert desk.client.approvals.get(id).grant.state == "unused"


def test_what_is_rejected_is_not_published(desk):
    job_id = desk.submitted()
    id = desk.asked(job_id)
    desk.says("approvals", "reject", id, "--hash", desk.client.approvals.get(id).artifact.hash)
    desk.says("jobs", "watch", job_id, "--for", "60", code=1)
    assert desk.client.jobs.get(job_id).error_code == "not_approved:rejected"
    assert desk.published() is None
