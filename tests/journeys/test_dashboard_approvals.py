"""A person decides in the browser, about a file and its changes, and while an agent waits that then acts once."""

from __future__ import annotations

import asyncio
import hashlib
import queue
from concurrent.futures import ThreadPoolExecutor

import pytest

from steadhold.sdk.approvals import Artifact
from tests.mcp.agents import agent


def asked(client, text, revision=None, title="Publish the plan?"):
    """A question about a file of context."""
    file = client.context.write("plans/may.md", text, if_revision=revision, content_type="text/markdown")
    artifact = Artifact.of(file.reference, str(file.revision), text.encode())
    return client.approvals.request(artifact, action="publish", title=title, expires_in_seconds=3600), artifact


@pytest.mark.parametrize("decision", ["Approve", "Reject"])
def test_a_person_decides_about_what_changed(person, decision):
    first_text = "# May\n\n- buy 10\n- sell 20\n- hold the rest\n"
    with person.site.client() as client:
        first, artifact = asked(client, first_text)
        with person.site.client() as other:
            other.approvals.approve(first.approval_id, artifact.hash)
        second, _ = asked(client, first_text.replace("buy 10", "buy 1000"), 1, "Publish the second plan?")
        person.log_in(to="/ui/approvals")
        person.looks_well("approvals")
        person.page.get_by_role("link", name="Publish the second plan?").click()
        person.page.locator("ins").get_by_text("buy 1000").wait_for()
        person.page.locator("del").get_by_text("buy 10").wait_for()
        person.looks_well("approvals-one")
        person.fill("Comment", "I have read it.")
        person.press(decision)
        person.reads("Your vote is kept.")
        assert (
            client.approvals.get(second.approval_id).state
            == f"{decision.lower()}{'d' if decision == 'Approve' else 'ed'}"
        )
    person.looks_well("approvals-decided")


PLAN, OTHER = (
    {"reference": "plan", "version": "1", "hash": "sha256:" + hashlib.sha256(text).hexdigest()}
    for text in (b"pay 10 to Anna", b"pay 10,000 to Mallory")
)
SCOPES = ("approvals:request", "approvals:read", "approvals:use", "jobs:submit", "jobs:read")


async def acts(url, key, told):
    """An agent: it asks, waits for a person, and acts; what each try came to."""
    async with agent("http", url, key) as one:
        question = {"artifact": PLAN, "action": "pay", "title": "Pay Anna?", "expires_in_seconds": 240}
        id = (await one.do("approval_request", **question)).data["approval_id"]
        told.put(id)
        state = "pending"
        while state == "pending":
            state = (await one.do("approval_wait", approval_id=id, wait_seconds=30)).data["state"]
        tries = (("swapped", OTHER, "u-1"), ("first", PLAN, "u-1"), ("again", PLAN, "u-1"), ("other", PLAN, "u-2"))
        return state, {name: await _pay(one, id, artifact, use) for name, artifact, use in tries}


async def _pay(one, approval, artifact, use_id):
    used = await one.ask("approval_use", approval_id=approval, use_id=use_id, **artifact)
    if used.error:
        return used.facts["code"]
    await one.do("job_submit", type="pay", input=artifact, operation_id=f"pay-{use_id}")
    return "paid"


@pytest.mark.parametrize("decision", ["Approve", "Reject"])
def test_an_agent_waits_while_a_person_decides_and_acts_once_on_exactly_that(person, decision):
    told = queue.Queue()
    key = person.site.key(*SCOPES, kind="service")
    with ThreadPoolExecutor(1) as pool, person.site.client() as client:
        life = pool.submit(lambda: asyncio.run(acts(person.site.url, key, told)))
        id = told.get(timeout=60)
        person.log_in(to=f"/ui/approvals/{id}")
        person.reads(PLAN["hash"])
        person.press(decision)
        person.reads("Your vote is kept.")
        state, came = life.result(120)
        paid = [client.jobs.input(job.job_id).value for job in client.jobs.list(type="pay")]
        if decision == "Approve":
            assert (state, paid) == ("approved", [PLAN])
            assert came == {"swapped": "artifact_mismatch", "first": "paid", "again": "paid", "other": "already_used"}
            person.go(f"/approvals/{id}")
            person.reads("u-1")
        else:
            assert (state, paid) == ("rejected", [])
            assert came == {
                "swapped": "artifact_mismatch",
                "first": "not_usable",
                "again": "not_usable",
                "other": "not_usable",
            }
    person.looks_well()
