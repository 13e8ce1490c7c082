"""effects on PostgreSQL: three states, each moved by what it is moved by, and everything kept."""

from __future__ import annotations

import pytest

from steadhold import access, jobs
from steadhold.effects import (
    AlreadyInitiated,
    EffectConflict,
    EvidenceConflict,
    MoveNotPermitted,
    NotNeeded,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from tests.effects.people import OTHER, VENUE, WORKER, intent

DAY = 86_400


def test_a_charge_from_plan_to_settlement(desk):
    id = desk.planned()
    assert desk.stands(id) == ("planned", "none", "not_needed")
    assert desk.begin(id).effect.answer_by is not None
    done = desk.say(id, "succeeded", venue_ref="pi_1", evidence_ref="mail 3").effect
    assert (done.venue_ref, done.evidence_ref, done.open) == ("pi_1", "mail 3", False)
    assert desk.pays(id, "pending").effect.open
    assert not desk.pays(id, "settled").effect.open
    assert desk.stands(id) == ("succeeded", "settled", "not_needed")
    assert desk.told(id) == ["planned", "initiated", "succeeded", "settlement_pending", "settled"]
    assert desk.lines(id) == [
        ("execution", None, "planned"),
        ("execution", "planned", "initiated"),
        ("execution", "initiated", "succeeded"),
        ("settlement", "none", "pending"),
        ("settlement", "pending", "settled"),
    ]
    assert [line.actor for line in desk.history(id, 0, 10)] == ["worker", "worker", *["venue"] * 3]
    assert [line.to_state for line in desk.history(id, 0, 10, "settlement")] == ["pending", "settled"]
    assert desk.head(id) == (5, "succeeded", False, None)


def test_what_is_planned_twice_is_one_effect(desk):
    wanted = intent()
    first = desk.plan(wanted, by=WORKER)
    again = desk.plan(wanted, by=VENUE)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.effect.revision == 1
    for other in ({"request_digest": OTHER}, {"amount": "12.5"}, {"target": "elsewhere"}, {"repeatable": True}):
        assert desk.plan(intent(id=wanted.id, **other), by=WORKER) == EffectConflict(wanted.id)
    desk.begin(wanted.id)
    assert desk.plan(wanted, by=WORKER).effect.execution == "initiated"


def test_one_of_two_begins(desk):
    id = desk.begun()
    assert desk.begin(id) == AlreadyInitiated(id, "initiated")
    desk.say(id, "succeeded")
    assert desk.begin(id) == AlreadyInitiated(id, "succeeded")


def test_what_needs_no_job_needs_no_fence_and_what_has_one_does(desk):
    job = desk.job()
    wanted = intent(job_id=job.id)
    stale = StaleFence(f"job:{job.id}")
    assert desk.plan(wanted, by=WORKER) == stale
    assert desk.plan(wanted, by=WORKER, job_fence=job.fence + 1) == stale
    assert desk.plan(wanted, by=WORKER, job_fence=job.fence).effect.root_job_id == job.id
    assert desk.plan(wanted, by=WORKER) == stale
    assert desk.begin(wanted.id) == stale
    assert desk.begin(wanted.id, job_fence=job.fence + 1) == stale
    grant = FenceRef(f"job:{job.id}", job.fence)
    assert desk.begin(wanted.id, fences_held=[grant]).effect.initiations == 1
    assert desk.plan(wanted, by=WORKER).repeated
    assert desk.head(wanted.id) == (2, "initiated", True, f"job:{job.id}")


def test_a_fact_needs_no_fence_and_no_job(desk):
    job = desk.job()
    wanted = intent(job_id=job.id)
    desk.plan(wanted, by=WORKER, job_fence=job.fence)
    desk.begin(wanted.id, job_fence=job.fence)
    desk.ends(job, jobs.Fail("boom", klass="permanent"))
    assert desk.say(wanted.id, "succeeded").effect.execution == "succeeded"


@pytest.mark.parametrize("end", ["complete", "fail", "cancel"])
def test_a_job_that_ends_changes_nothing_of_its_effect(desk, end):
    job = desk.job()
    wanted = intent(job_id=job.id)
    desk.plan(wanted, by=WORKER, job_fence=job.fence)
    desk.begin(wanted.id, job_fence=job.fence)
    before = desk.get(wanted.id).revision, desk.lines(wanted.id)
    jobs.cancel(desk.conn, desk.workspace, job.id, "olga")
    said = {"complete": jobs.Complete(), "fail": jobs.Fail("x", klass="permanent"), "cancel": jobs.ConfirmCancel()}
    assert desk.ends(job, said[end]).state in ("completed", "failed", "cancelled")
    jobs.retry(desk.conn, desk.workspace, job.id, jobs.Submission("x").id)
    assert (desk.get(wanted.id).revision, desk.lines(wanted.id)) == before


def test_a_retry_acts_for_the_effects_of_what_it_retries(desk):
    """It plans the same effect, and begins it under its own fence; a stranger's fence is none."""
    job = desk.job()
    wanted = intent(job_id=job.id)
    desk.plan(wanted, by=WORKER, job_fence=job.fence)
    desk.ends(job, jobs.Fail("boom", klass="permanent"))
    stranger = desk.job("other")
    jobs.retry(desk.conn, desk.workspace, job.id, jobs.Submission("pay").id)
    (again,) = jobs.claim(desk.conn, desk.workspace, "w", ["pay"], 1)
    mine = intent(id=wanted.id, job_id=again.id)
    theirs = intent(id=wanted.id, job_id=stranger.id)
    assert desk.plan(mine, by=WORKER, job_fence=again.fence).repeated
    assert desk.plan(theirs, by=WORKER, job_fence=stranger.fence) == EffectConflict(wanted.id)
    grants = {name: [FenceRef(f"job:{held.id}", held.fence)] for name, held in (("a", again), ("s", stranger))}
    assert desk.begin(wanted.id, fences_held=grants["s"]) == StaleFence(f"job:{job.id}")
    assert desk.begin(wanted.id, fences_held=grants["a"]).effect.execution == "initiated"


def test_what_is_unknown_is_looked_at_and_a_late_outcome_reconciles_it(desk):
    id = desk.begun()
    assert desk.say(id, "unknown").effect.reasons == ("unknown_outcome",)
    assert desk.stands(id) == ("unknown", "none", "needed")
    assert [found.id for found in desk.effects("needed", None, 10)] == [id]
    assert desk.begin(id) == AlreadyInitiated(id, "unknown")
    assert desk.say(id, "succeeded").effect.open is False
    assert desk.stands(id) == ("succeeded", "none", "reconciled")
    assert desk.effects("needed", None, 10) == []
    assert desk.told(id)[2:] == ["unknown", "reconciliation_needed", "succeeded", "reconciled"]


@pytest.mark.parametrize("verdict", ["succeeded", "failed"])
def test_somebody_who_looked_decides(desk, verdict):
    id = desk.ended("unknown")
    assert desk.finds(id, "abandoned") == MoveNotPermitted(id, "unknown", "abandoned")
    assert desk.finds(id, verdict).effect.reasons == ()
    assert desk.stands(id) == (verdict, "none", "reconciled")
    assert desk.finds(id, verdict) == NotNeeded(id, "reconciled")
    assert [row.kind for row in access.trail(desk.conn, desk.workspace, 9)] == ["effect.reconciled"]
    last = desk.history(id, 0, 20)[-1]
    assert (last.actor, last.key_id, last.evidence_ref, last.said) == ("olga", "key-o", "call 7", verdict)


def test_nothing_is_reconciled_that_needs_it_not(desk):
    id = desk.ended("succeeded")
    assert desk.finds(id, "failed") == NotNeeded(id, "not_needed")


@pytest.mark.parametrize(
    ("first", "second"), [("succeeded", "failed"), ("failed", "succeeded"), ("succeeded", "unknown")]
)
def test_what_contradicts_is_kept_and_flagged_and_changes_nothing_else(desk, first, second):
    """The second fact may be a doubt. Only somebody who looked turns one into the other."""
    id = desk.ended(first)
    assert desk.say(id, second, evidence_ref="mail 9", evidence_id="e1").effect.reasons == ("contradiction",)
    assert desk.stands(id) == (first, "none", "needed")
    kept = desk.history(id, 0, 20)[-1]
    assert (kept.machine, kept.said, kept.evidence_ref, kept.because) == (
        "reconciliation",
        second,
        "mail 9",
        "contradiction",
    )
    assert desk.say(id, second, evidence_ref="mail 10").effect.execution == first
    more = desk.history(id, 0, 20)[-1]
    assert (more.machine, more.said, more.evidence_ref, more.because) == (
        "evidence",
        second,
        "mail 10",
        "contradiction",
    )
    turned = "failed" if first == "succeeded" else "succeeded"
    assert desk.finds(id, turned).effect.execution == turned
    assert desk.told(id)[3:] == ["reconciliation_needed", "evidence_kept", turned, "reconciled"]


def test_two_references_of_the_outside_are_two_effects_there(desk):
    id = desk.ended("succeeded", venue_ref="pi_1")
    assert desk.say(id, "succeeded", venue_ref="pi_1").repeated
    assert desk.say(id, "succeeded", venue_ref="pi_2").effect.reasons == ("contradiction",)
    assert desk.get(id).venue_ref == "pi_1"


def test_a_fact_is_taken_once_under_its_identity(desk):
    """The first answer is given again, also after more has happened, and whatever the condition."""
    id = desk.begun()
    first = desk.say(id, "unknown", evidence_id="e1")
    desk.say(id, "succeeded", evidence_id="e2", venue_ref="pi_1")
    again = desk.say(id, "unknown", evidence_id="e1", revision=first.effect.revision - 2)
    assert (again.repeated, again.effect) == (True, first.effect)
    assert desk.say(id, "failed", evidence_id="e1") == EvidenceConflict("e1")
    assert desk.pays(id, "settled", evidence_id="e1") == EvidenceConflict("e1")
    paid = desk.pays(id, "settled", evidence_id="e3")
    assert desk.pays(id, "settled", evidence_id="e3").effect == paid.effect
    desk.say(id, "failed")
    found = desk.finds(id, "succeeded", evidence_id="e4")
    assert desk.finds(id, "succeeded", evidence_id="e4").effect == found.effect
    assert len([line for line in desk.history(id, 0, 99) if line.evidence_id == "e1"]) == 1


def test_a_refused_fact_leaves_its_identity_free(desk):
    id = desk.planned()
    assert desk.say(id, "succeeded", evidence_id="e1") == MoveNotPermitted(id, "planned", "succeeded")
    desk.begin(id)
    assert not desk.say(id, "succeeded", evidence_id="e1").repeated


def test_a_failure_without_effect_may_be_tried_again(desk):
    id = desk.ended("failed", no_effect=True)
    assert desk.begin(id).effect.initiations == 2
    desk.say(id, "failed")
    assert desk.begin(id) == AlreadyInitiated(id, "failed")
    assert desk.say(id, "failed", no_effect=True).effect.no_effect
    desk.say(id, "succeeded")
    assert desk.begin(id) == AlreadyInitiated(id, "failed")
    assert desk.finds(id, "failed").effect.no_effect is False


def test_a_repeatable_one_is_begun_again_and_its_outcome_reconciles(desk):
    id = desk.begun(repeatable=True)
    desk.say(id, "unknown")
    assert desk.begin(id).effect.execution == "initiated"
    assert desk.stands(id) == ("initiated", "none", "needed")
    desk.say(id, "succeeded")
    assert desk.stands(id) == ("succeeded", "none", "reconciled")


def test_what_was_not_begun_is_abandoned(desk):
    id = desk.planned()
    assert not desk.abandon(id, by=WORKER).repeated
    assert desk.abandon(id, by=WORKER).repeated
    assert desk.begin(id) == MoveNotPermitted(id, "abandoned", "initiated")
    assert desk.abandon(desk.begun(), by=WORKER).from_state == "initiated"
    assert desk.say(id, "succeeded").effect.reasons == ("contradiction",)
    assert desk.finds(id, "succeeded") == MoveNotPermitted(id, "abandoned", "succeeded")
    assert desk.finds(id, "abandoned").effect.reconciliation == "reconciled"


@pytest.mark.parametrize(
    ("path", "to"),
    [((), "reversed"), ((), "disputed"), (("settled",), "pending"), (("pending", "reversed"), "settled"),
     (("settled", "reversed"), "disputed"), (("pending", "disputed"), "pending")],
)  # fmt: skip
def test_a_settlement_off_the_graph_is_refused(desk, path, to):
    id = desk.ended("succeeded")
    for step in path:
        assert desk.pays(id, step).effect.settlement == step
    before = desk.get(id).settlement
    assert desk.pays(id, to) == MoveNotPermitted(id, before, to)


def test_money_that_moves_though_nothing_happened_is_looked_at(desk):
    id = desk.ended("failed")
    assert desk.pays(id, "settled").effect.reasons == ("contradiction",)
    assert desk.stands(id) == ("failed", "settled", "needed")
    assert desk.pays(desk.planned(), "settled").from_state == "planned"


def test_conditions_and_what_is_not_there(desk):
    id = desk.planned()
    assert desk.begin(id, revision=2) == RevisionConflict(1)
    assert desk.begin(id, revision=1).effect.revision == 2
    for refused in (desk.say(id, "failed", revision=1), desk.pays(id, "pending", revision=1),
                    desk.finds(id, "failed", revision=1), desk.abandon(id, by=WORKER, revision=1)):  # fmt: skip
        assert refused == RevisionConflict(2)
    for missing in (desk.get("x"), desk.begin("x"), desk.say("x", "failed"), desk.history("x", 0, 1)):
        assert missing == Missing()


@pytest.mark.parametrize(
    "kw",
    [{"amount": "1e2"}, {"amount": "01"}, {"amount": "1."}, {"amount": " 1"}, {"amount": "1\n"}, {"amount": None},
     {"currency": None}, {"currency": "eur"}, {"amount": "1.0000000000000000001"}, {"request_digest": "sha256:a"},
     {"expires_in_seconds": 0}, {"id": "a b"}, {"kind": ""}],
)  # fmt: skip
def test_what_is_no_action(desk, kw):
    with pytest.raises(ValueError, match=r"\w"):
        desk.plan(intent(**kw), by=WORKER)


def test_a_fence_of_no_job_is_no_fence(desk):
    with pytest.raises(ValueError, match="names none"):
        desk.plan(intent(), by=WORKER, job_fence=3)


@pytest.mark.parametrize("amount", ["0", "-12.50", "12345678901234567890.123456789012345678", "0.10"])
def test_amounts_are_kept_to_the_character(desk, amount):
    assert desk.get(desk.planned(amount=amount)).amount == amount
