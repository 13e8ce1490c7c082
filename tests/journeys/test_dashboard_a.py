"""A person before jobs, effects, state and context: each page's main action, with scripts and without."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from steadhold.sdk.approvals import Artifact
from tests.dashboard.hostile import HOSTILE

DIGEST = "sha256:" + hashlib.sha256(b"request").hexdigest()
PAGE = b"<!doctype html><script>alert(1)</script><svg xmlns='http://www.w3.org/2000/svg' onload='alert(2)'/>"


def claimed(client, type, worker="worker-1"):
    (job,) = client.jobs.claim(worker, [type])
    return job


def chosen(person, label, value):
    person.page.get_by_label(label, exact=True).locator("visible=true").select_option(value)


def downloaded(person, press):
    """The bytes of a file that a press makes the browser keep, and its name."""
    with person.page.expect_download() as told:
        press()
    return Path(told.value.path()).read_bytes(), told.value.suggested_filename


# --- jobs


def rich(client):
    """A job that was handed back, has a stage and an effect, and waits."""
    id = client.jobs.submit(
        "report", {"month": "2026-05", "limit": 10}, tags=["finance"], correlation_id="order-7"
    ).job_id
    client.jobs.release(id, claimed(client, "report").fence)
    fence = claimed(client, "report", "worker-2").fence
    client.jobs.checkpoint(id, "fetch", fence, {"rows": 1200})
    client.effects.plan(
        "charge:1", kind="charge", target="venue", request_digest=DIGEST, amount="12.50", currency="EUR", job_id=id,
        job_fence=fence,
    )  # fmt: skip
    client.jobs.wait_for(id, fence, "nod", {"signal": "go"}, until=datetime.now(UTC) + timedelta(hours=1))
    return id


def test_a_job_is_looked_at_and_cancelled(person):
    with person.site.client() as client:
        id = rich(client)
        person.log_in(to="/ui/jobs")
        person.looks_well("jobs")
        person.page.locator(f"a.id[href$='{id}']").click()
        person.reads("waits for signal")
        person.reads("handed back")
        person.looks_well("jobs-one")
        person.press("Cancel…")
        person.fill("Reason", "not wanted")
        person.press("Cancel the job")
        person.reads("The job was asked to stop.")
        assert client.jobs.get(id).state == "cancelled"
    person.looks_well("jobs-cancelled")


def test_a_page_of_a_job_follows_it(scripted):
    with scripted.site.client() as client:
        id = client.jobs.submit("report", {}).job_id
        scripted.log_in(to=f"/ui/jobs/{id}")
        scripted.reads("accepted")
        client.jobs.complete(id, claimed(client, "report", "somebody-new").fence, {"done": True})
        scripted.reads("somebody-new")
        assert client.jobs.get(id).state == "completed"
    scripted.unharmed()


def test_an_ended_job_is_retried(person):
    with person.site.client() as client:
        id = client.jobs.submit("report", {}).job_id
        client.jobs.fail(id, claimed(client, "report").fence, "no_disk", "The disk is gone", klass="permanent")
        person.log_in(to=f"/ui/jobs/{id}")
        person.reads("The disk is gone")
        person.looks_well("jobs-failed")
        person.press("Retry…")
        person.page.locator("form.card button").locator("visible=true").click()
        person.reads("this is the new one")
        person.looks_well()
        assert len(list(client.jobs.list(state="accepted"))) == 1


def test_many_jobs_are_counted_and_then_cancelled(person):
    with person.site.client() as client:
        ids = [client.jobs.submit("mail", {"n": n}).job_id for n in range(3)]
        other = client.jobs.submit("report", {}).job_id
        person.log_in(to="/ui/jobs")
        person.fill("Queue (type)", "mail")
        chosen(person, "State", "accepted")
        person.press("Filter")
        person.press("Cancel all of these…")
        person.reads("3 jobs")
        person.looks_well("jobs-count")
        assert {client.jobs.get(id).state for id in ids} == {"accepted"}
        person.press("Cancel 3 jobs")
        person.reads("3 of 3 jobs were asked to stop")
        person.looks_well("jobs-done")
        assert {client.jobs.get(id).state for id in ids} == {"cancelled"}
        assert client.jobs.get(other).state == "accepted"


def test_jobs_that_are_picked_are_counted_and_then_cancelled(person):
    with person.site.client() as client:
        first, second = (client.jobs.submit("mail", {"n": n}).job_id for n in range(2))
        person.log_in(to="/ui/jobs")
        person.page.get_by_label(f"Pick job {first}").check()
        person.press("Cancel picked…")
        person.reads("1 job")
        person.looks_well("jobs-picked")
        person.press("Cancel 1 job")
        person.reads("1 of 1 job")
        assert [client.jobs.get(id).state for id in (first, second)] == ["cancelled", "accepted"]


# --- effects


def test_what_nobody_knows_is_reconciled(person):
    with person.site.client() as client:
        for id, execution in (("charge:order-7", "unknown"), ("charge:order-8", "succeeded")):
            client.effects.plan(
                id, kind="charge", target="venue", request_digest=DIGEST, amount="12.50", currency="EUR"
            )
            client.effects.initiate(id)
            client.effects.outcome(id, execution, venue_ref=f"pi_{id[-1]}")
        client.effects.settlement("charge:order-8", "pending")
        person.log_in(to="/ui/effects")
        person.looks_well("effects")
        person.page.locator("a.id", has_text="charge:order-7").first.click()
        person.reads("Somebody has to look")
        person.looks_well("effects-one")
        chosen(person, "It", "succeeded")
        person.fill("Evidence", "their statement of May, line 12")
        person.press("Keep what I found")
        person.reads("What you found is kept.")
        assert client.effects.get("charge:order-7").reconciliation == "reconciled"
    person.looks_well("effects-reconciled")


# --- state and context


EXACT = b'{"limit": 1.10, "ids": [9007199254740993, 1e400], "note": "<b>no markup</b>"}'


def test_names_are_walked_and_their_bytes_kept(person):
    with person.site.client() as client:
        client.state.create("orders/limits", raw=EXACT)
        client.state.create("orders/eu/vat", 19)
        client.state.create("flags", True)
    person.log_in(to="/ui/state")
    person.looks_well("state")
    person.page.get_by_role("link", name="orders/").click()
    person.looks_well("state-prefix")
    person.page.get_by_role("link", name="limits").click()
    person.reads("9007199254740993")
    person.looks_well("state-one")
    body, name = downloaded(person, lambda: person.press("Download"))
    assert (body, name) == (EXACT, "limits.json")


def test_files_are_walked_and_what_is_in_them_never_runs(person):
    with person.site.client() as client:
        client.context.write("reports/may.html", PAGE, if_revision=None, content_type="text/html")
        client.context.write("reports/may.html", PAGE + b"<p>2", if_revision=1, content_type="text/html")
        client.context.write("logo.svg", PAGE, if_revision=None, content_type="image/svg+xml")
    person.log_in(to="/ui/context")
    person.looks_well("context")
    person.page.get_by_role("link", name="reports/").click()
    person.page.get_by_role("link", name="may.html").click()
    person.reads("<script>alert(1)</script>")
    person.looks_well("context-one")
    body, name = downloaded(person, lambda: person.press("Download"))
    assert (body, name) == (PAGE + b"<p>2", "may.html")
    person.page.get_by_role("link", name="1", exact=True).click()
    person.reads("which was replaced")
    assert downloaded(person, lambda: person.press("Download")) == (PAGE, "may.html")
    person.unharmed()


def test_nothing_that_is_stored_runs(scripted):
    """Every text field of these rooms, with what would run if it were anything but text."""
    with scripted.site.client() as client:
        lost = client.jobs.submit("hostile", {"text": HOSTILE}).job_id
        fence = claimed(client, "hostile").fence
        client.jobs.heartbeat(lost, fence, progress={"text": HOSTILE})
        client.jobs.checkpoint(lost, "one", fence, {"text": HOSTILE})
        client.jobs.fail(lost, fence, "e", HOSTILE, klass="permanent")
        by_reference = client.jobs.submit("hostile", input_ref=HOSTILE).job_id
        artifact = Artifact(HOSTILE, HOSTILE[:100], DIGEST)
        texts = {"action": HOSTILE, "title": HOSTILE, "note": HOSTILE}
        question = client.approvals.request(artifact, **texts, expires_in_seconds=600)
        client.effects.plan("e:1", kind="charge", target=HOSTILE, request_digest=DIGEST, data_ref=HOSTILE)
        client.effects.initiate("e:1")
        client.effects.outcome("e:1", "unknown", evidence_ref=HOSTILE, venue_ref=HOSTILE)
        name = HOSTILE.replace("/", "")
        client.state.create(name, HOSTILE)
        client.context.write(name, HOSTILE, if_revision=None, content_type="text/html")
    scripted.log_in(to="/ui/jobs")
    at = scripted.page.evaluate("name => encodeURIComponent(name)", name)
    for path in (
        "/jobs", f"/jobs/{lost}", f"/jobs/{by_reference}", "/approvals", f"/approvals/{question.approval_id}",
        "/effects", "/effects/e:1", "/state", f"/state/{at}", "/context", f"/context/{at}",
    ):  # fmt: skip
        assert scripted.go(path).status == 200, path
        assert "alert(2)" in scripted.page.content() or path == "/jobs", path
        scripted.looks_well()
