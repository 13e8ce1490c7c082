"""What cannot both be so has somebody look, in whichever order it was said; and nothing that waits is forgotten."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.effects import AlreadyInitiated
from tests.effects.people import WORKER, intent

DAY = 86_400


@pytest.mark.parametrize("money", ["pending", "settled", "disputed"])
@pytest.mark.parametrize("no_effect", [False, True])
def test_a_failure_whose_money_moved_is_looked_at_and_not_begun_again(desk, money, no_effect):
    """Whichever was said first: nobody charges twice on the word that nothing happened."""
    id = desk.begun()
    for to in ("pending", money) if money == "disputed" else (money,):
        desk.pays(id, to)
    assert desk.say(id, "failed", no_effect=no_effect).effect.reasons == ("contradiction",)
    assert desk.stands(id) == ("failed", money, "needed")
    assert desk.begin(id) == AlreadyInitiated(id, "failed")


@pytest.mark.parametrize("order", [("settled", "failed"), ("failed", "settled")])
def test_the_order_of_facts_does_not_matter(desk, order):
    id = desk.begun()
    for fact in order:
        desk.pays(id, fact) if fact == "settled" else desk.say(id, fact)
    assert (desk.stands(id), desk.get(id).reasons) == (("failed", "settled", "needed"), ("contradiction",))


def test_what_was_unknown_and_failed_though_money_moved_is_still_looked_at(desk):
    id = desk.ended("unknown")
    desk.pays(id, "settled")
    assert desk.say(id, "failed").effect.reasons == ("contradiction",)
    assert desk.lines(id)[-1] == ("evidence", None, None)


def test_that_nothing_happened_is_not_believed_where_money_moved(desk):
    id = desk.ended("failed")
    desk.pays(id, "settled")
    desk.finds(id, "failed")
    said = desk.say(id, "failed", no_effect=True).effect
    assert (said.no_effect, said.reasons) == (False, ("contradiction",))
    desk.finds(id, "failed")
    desk.pays(id, "reversed")
    assert desk.say(id, "failed", no_effect=True).effect.no_effect
    assert desk.begin(id).effect.initiations == 2


@pytest.mark.parametrize("again", [False, True])
def test_two_references_of_what_was_unknown_are_two_actions(desk, again):
    """Also where it was begun again because the outside was to do nothing twice."""
    id = desk.begun(repeatable=True)
    desk.say(id, "unknown", venue_ref="pi_1")
    if again:
        desk.begin(id)
    said = desk.say(id, "succeeded", venue_ref="pi_2").effect
    assert (said.execution, said.reasons, said.venue_ref) == ("succeeded", ("contradiction",), "pi_1")
    assert desk.history(id, 0, 99)[-1].venue_ref == "pi_2"


def test_a_try_without_effect_leaves_no_reference(desk):
    id = desk.ended("failed", no_effect=True, venue_ref="declined-1", evidence_ref="mail 1")
    begun = desk.begin(id).effect
    assert (begun.venue_ref, begun.evidence_ref) == (None, None)
    said = desk.say(id, "succeeded", venue_ref="pi_2").effect
    assert (said.venue_ref, said.open) == ("pi_2", False)


def test_money_that_somebody_looked_at_in_vain_is_waited_for_again(desk, clock):
    """No settlement that is not decided is without a bound."""
    id = desk.ended("succeeded")
    desk.pays(id, "pending", settles_within_seconds=60)
    clock.move(61)
    assert desk.sweep() == 1
    found = desk.finds(id, "succeeded").effect
    assert (found.reconciliation, found.open, found.settles_by is not None) == ("reconciled", True, True)
    clock.move(30 * DAY - 1)
    assert desk.sweep() == 0
    clock.move(2)
    assert (desk.sweep(), desk.get(id).reasons) == (1, ("settlement_overdue",))


def test_money_that_takes_longer_is_given_longer(desk, clock):
    """The same settlement again is news where it says how long, or on what it is known."""
    id = desk.ended("succeeded")
    desk.pays(id, "pending", settles_within_seconds=60)
    clock.move(59)
    assert not desk.pays(id, "pending", settles_within_seconds=60, evidence_ref="mail 2").repeated
    assert desk.history(id, 0, 99)[-1].evidence_ref == "mail 2"
    assert desk.pays(id, "pending", evidence_ref="mail 2").repeated
    clock.move(59)
    assert desk.sweep() == 0
    clock.move(2)
    assert (desk.sweep(), desk.get(id).reasons) == (1, ("settlement_overdue",))


def test_the_database_keeps_no_open_settlement_without_a_bound(desk):
    id = desk.ended("succeeded")
    desk.pays(id, "pending")
    with pytest.raises(Exception, match="violates check constraint"):
        desk.conn.execute("update steadhold.effects set settles_by = null where id = %s", [id])


def test_what_was_planned_is_known_again_when_its_job_is_gone(desk, clock):
    job = desk.job()
    wanted = intent(job_id=job.id)
    desk.plan(wanted, by=WORKER, job_fence=job.fence)
    desk.begin(wanted.id, job_fence=job.fence)
    desk.say(wanted.id, "succeeded")
    desk.ends(job, jobs.Complete())
    clock.move(400 * DAY)
    assert jobs.forget(desk.conn, desk.workspace, 10) == 1
    assert desk.plan(wanted, by=WORKER).repeated
    assert type(desk.plan(intent(id=wanted.id), by=WORKER)).__name__ == "EffectConflict"
    other = desk.planned()
    desk.begin(other)
    assert type(desk.plan(intent(id=other, job_id=job.id), by=WORKER)).__name__ == "EffectConflict"
