"""The example of a venue that misbehaves: one payment is begun, whatever the venue does, and nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from steadhold import Client
from steadhold.sdk.errors import RevisionPruned
from tests.journeys.programs import SOURCES

pytestmark = pytest.mark.journeys

SCOPES = ("jobs:*", "context:*", "effects:*", "approvals:request", "approvals:use", "approvals:read")
EXAMPLE = Path(__file__).parents[2] / "examples" / "venue"


class Desk:
    """A development server, the venue, the worker, and a person at the command line."""

    def __init__(self, told, ask, venue):
        self.told, self.ask, self.venue = told, ask, venue
        self.client = Client(told["url"], told["api_key"])

    def says(self, *words):
        return [json.loads(line) for line in self.ask(self.told, *words).splitlines()]

    def ordered(self, price, topic="tea"):
        """Order a report, and approve it once it is asked about. Answers the job."""
        (job,) = self.says("jobs", "submit", "research", json.dumps({"topic": topic, "price": price}))
        self.approved(job["job_id"])
        return job["job_id"]

    def approved(self, job_id):
        """Approve what a job asks about, once it does."""
        next(found for found in self.client.jobs.watch(job_id) if found.state == "waiting")
        (question,) = self.says("approvals", "ls", "--state", "pending")
        approval = self.client.approvals.get(question["approval_id"])
        self.client.approvals.approve(approval.approval_id, approval.artifact)

    def ended(self, job_id):
        return self.client.jobs.wait(job_id, timeout_seconds=60)

    def effect(self, job_id):
        """The one effect of a job."""
        (mine,) = self.client.jobs.get(job_id).effects
        return self.client.effects.get(mine.effect_id)

    def receipt(self, job_id):
        """What came of it, by the reference that the job has."""
        return json.loads(self.client.context.resolve(self.client.jobs.get(job_id).result_ref))

    def refs(self, effect_id):
        return self.asks("GET", f"/charges/{effect_id}")["refs"]

    def asks(self, method, path):
        with urllib.request.urlopen(urllib.request.Request(self.venue + path, method=method)) as answer:
            return json.load(answer)


@pytest.fixture
def desk(dev, start, me, ask):
    told = dev(me).told

    def key(name, *scopes):
        words = [word for scope in scopes for word in ("--scope", scope)]
        made = json.loads(ask(told, "keys", "create", name, "--kind", "service", *words))
        return {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": made["key"]}

    venue = subprocess.Popen(
        [sys.executable, "venue.py", "0", "--late-seconds", "0"], cwd=EXAMPLE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **key("venue", "effects:write"), "PYTHONPATH": str(SOURCES)},
    )  # fmt: skip
    try:
        url = json.loads(venue.stdout.readline())["url"]
        desk = Desk(told, ask, url)
        desk.environ = {**key("researcher", *SCOPES), "VENUE_URL": url}
        desk.start = lambda: start("work", "research:worker", user=me, cwd=EXAMPLE, environ=desk.environ)
        with desk.client:
            desk.worker = desk.start()
            yield desk
    finally:
        venue.kill()
        venue.communicate()


@pytest.mark.parametrize("price", ["40.00", "40.01"])
def test_it_is_paid_once(desk, price):
    """Also when the connection broke before the answer: the hook asks the venue, and finds the charge."""
    job_id = desk.ordered(price)
    assert desk.ended(job_id).state == "completed"
    effect = desk.effect(job_id)
    (ref,) = desk.refs(effect.effect_id)
    assert (effect.execution, effect.venue_ref, effect.open) == ("succeeded", ref, False)
    receipt = desk.receipt(job_id)
    assert receipt["paid"] == ref
    assert desk.client.context.resolve(receipt["report"]) == b"# tea\n\nAll about tea.\n"


def test_another_report_under_the_same_name_is_not_what_was_approved(desk):
    """What was approved is read as it was, also once the file is another; what came of the job names it."""
    job_id = desk.ordered("40.00")
    assert desk.ended(job_id).state == "completed"
    for n in range(12):
        desk.client.context.edit("reports/tea.md", lambda had, n=n: b"%d" % n)
    report = desk.receipt(job_id)["report"]
    assert desk.client.context.resolve(report) == b"# tea\n\nAll about tea.\n"
    (approved,) = [found for found in desk.client.approvals.list() if found.state == "approved"]
    assert approved.artifact.reference == report
    with pytest.raises(RevisionPruned):
        desk.client.context.read("reports/tea.md", revision=1)


def test_a_venue_that_acts_late_and_calls_back_twice(desk):
    """The job waits, without lease or place; somebody could look; the callback counts once, and wakes it."""
    job_id = desk.ordered("40.02")
    next(job for job in desk.client.jobs.watch(job_id) if job.state == "waiting" and job.effects)
    (waiting,) = desk.says("effects", "ls", "--reconciliation", "needed")
    assert (waiting["execution"], waiting["needed_for"]) == ("unknown", ["unknown_outcome"])
    assert desk.refs(waiting["effect_id"]) == []
    assert desk.asks("POST", "/late") == {"acted": 1}
    assert desk.ended(job_id).state == "completed"
    effect = desk.effect(job_id)
    assert (effect.execution, effect.reconciliation, effect.open) == ("succeeded", "reconciled", False)
    assert desk.refs(effect.effect_id) == [effect.venue_ref]
    lines = desk.says("effects", "show", effect.effect_id, "--history")
    assert [line.get("to") for line in lines] == [
        "planned",
        "initiated",
        "unknown",
        "needed",
        "succeeded",
        "reconciled",
    ]


def test_a_venue_that_charges_twice_is_found_out(desk):
    """A completed job with an open effect shows both, until somebody has looked."""
    job_id = desk.ordered("40.03")
    assert desk.ended(job_id).state == "completed"
    id = desk.effect(job_id).effect_id
    next(effect for effect in desk.client.effects.watch(id) if effect.reconciliation == "needed")
    assert (desk.client.jobs.get(job_id).state, desk.client.jobs.get(job_id).effects[0].open) == ("completed", True)
    (shown,) = desk.says("effects", "show", id)
    assert (shown["execution"], shown["needed_for"], len(desk.refs(id))) == ("succeeded", ["contradiction"], 2)
    (done,) = desk.says("effects", "reconcile", id, "succeeded", "--evidence-ref", "they take the second back")
    assert (done["reconciliation"], done["open"]) == ("reconciled", False)
    again = desk.ask(desk.told, "effects", "reconcile", id, "succeeded", "--evidence-ref", "again", code=3)
    assert b"[not_needed" in again
    assert desk.says("effects", "ls", "--reconciliation", "needed") == []


def test_a_worker_killed_while_it_pays_is_replaced_and_nobody_pays_again(desk):
    """Killed once the payment is begun, before the venue is called: nobody calls it, and the job waits."""
    desk.worker.end(signal.SIGTERM)
    desk.environ["STEADHOLD_FAILPOINTS"] = "effect_initiated=kill"
    desk.client.jobs.put_type("research", {"lease_seconds": 3})
    killed = desk.start()
    job_id = desk.ordered("40.02")
    assert killed.process.wait(60) == -signal.SIGKILL
    del desk.environ["STEADHOLD_FAILPOINTS"]
    assert desk.effect(job_id).execution == "initiated"
    desk.start()
    found = next(effect for effect in desk.client.effects.watch(desk.effect(job_id).effect_id) if effect.revision > 2)
    assert (found.execution, found.initiations, desk.refs(found.effect_id)) == ("unknown", 1, [])


EARLY = ("between_checkpoints", "claimed_before_handler")
"""Moments before the question is decided; the others are while it pays, or has paid."""


@pytest.mark.parametrize("moment", [*EARLY, "effect_called", "effect_kept"])
def test_killed_at_any_moment_it_pays_once_for_the_report_that_was_approved(desk, moment):
    """The next one goes on where the first was, asks the venue what it has, and begins no payment twice."""
    desk.worker.end(signal.SIGTERM)
    desk.environ["STEADHOLD_FAILPOINTS"] = f"{moment}=kill"
    desk.client.jobs.put_type("research", {"lease_seconds": 3})
    killed = desk.start()
    (job,) = desk.says("jobs", "submit", "research", json.dumps({"topic": "tea", "price": "40.00"}))
    if moment not in EARLY:
        desk.approved(job["job_id"])
    assert killed.process.wait(60) == -signal.SIGKILL
    del desk.environ["STEADHOLD_FAILPOINTS"]
    desk.start()
    if moment in EARLY:
        desk.approved(job["job_id"])
    assert desk.ended(job["job_id"]).state == "completed"
    effect = desk.effect(job["job_id"])
    assert (effect.execution, effect.open, desk.refs(effect.effect_id)) == ("succeeded", False, [effect.venue_ref])
    receipt = desk.receipt(job["job_id"])
    (approval,) = desk.client.approvals.list()
    assert (receipt["paid"], receipt["report"]) == (effect.venue_ref, approval.artifact.reference)
