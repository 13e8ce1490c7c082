"""effects against a plain dict: whatever the order of verbs and hours, the same answers and the same three states."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from steadhold.effects import Moved
from steadhold.effects.answers import refused
from tests import chance
from tests.effects.people import WORKER, Desk, intent

PLANNED, ANSWER, SETTLES, STEP = 250, 100, 150, 40  # no sum of steps comes near a bound
DAY = 86_400
PLACES = st.integers(min_value=0, max_value=1)
EVIDENCE = st.sampled_from([None, None, "e1", "e2"])
VENUES = st.sampled_from([None, None, "v1", "v2"])
SETTLING = {"none": {"pending", "settled"}, "pending": {"settled", "reversed", "disputed"},
            "settled": {"reversed", "disputed"}, "disputed": {"settled", "reversed"}, "reversed": set()}  # fmt: skip


class Dict:
    """What an effect must be, in a few lines that share nothing with the code."""

    def __init__(self, at, repeatable):
        self.repeatable, self.expires = repeatable, at + PLANNED
        self.execution, self.settlement, self.looked = "planned", "none", "not_needed"
        self.why, self.facts, self.venue, self.no_effect = set(), {}, None, False
        self.answer_by = self.settles_by = None

    def look(self, why):
        self.why.add(why)
        self.looked = "needed"

    def fact(self, id, content, apply):
        """A fact under an identity is taken once; the answer to it is remembered."""
        if id in self.facts:
            known, seen = self.facts[id]
            return (None, seen) if known == content else ("evidence_conflict", None)
        code = apply()
        if code is None and id is not None:
            self.facts[id] = content, self.states()
        return code, self.states()

    def states(self):
        return self.execution, self.settlement, self.looked

    def initiate(self, at):
        if self.execution == "planned" and at >= self.expires:
            return "transition_not_permitted"
        if self.execution == "abandoned":
            return "transition_not_permitted"
        sure = self.execution == "failed" and self.no_effect and self.looked != "needed"
        if self.execution != "planned" and not (self.execution == "unknown" and self.repeatable) and not sure:
            return "already_initiated"
        if self.no_effect:
            self.venue = None
        self.execution, self.answer_by, self.no_effect = "initiated", at + ANSWER, False
        return None

    def abandon(self):
        if self.execution not in ("planned", "abandoned"):
            return "transition_not_permitted"
        self.execution = "abandoned"
        return None

    def outcome(self, says, venue, no_effect):
        if self.execution == "planned":
            return "transition_not_permitted"
        moved = self.settlement in ("pending", "settled", "disputed")
        twice = bool(venue and self.venue and venue != self.venue)
        if self.execution == says:
            if twice or (no_effect and moved):
                self.look("contradiction")
            else:
                self.venue, self.no_effect = venue or self.venue, no_effect or self.no_effect
        elif self.execution not in ("initiated", "unknown"):
            self.look("contradiction")
        else:
            self.execution, self.answer_by = says, None
            self.venue, self.no_effect = self.venue or venue, no_effect
            if twice or (says == "failed" and moved):
                self.look("contradiction")
            if says == "unknown":
                self.look("unknown_outcome")
            elif "unknown_outcome" in self.why:
                self.why.discard("unknown_outcome")
                self.looked = "needed" if self.why else "reconciled"
        return None

    def settle(self, to, at):
        if self.execution == "planned" or (to != self.settlement and to not in SETTLING[self.settlement]):
            return "transition_not_permitted"
        self.settles_by = at + SETTLES if to in ("pending", "disputed") else None
        if to != self.settlement:
            self.settlement = to
            if self.execution in ("failed", "abandoned") and to in ("pending", "settled"):
                self.look("contradiction")
        return None

    def reconcile(self, verdict, at):
        if self.looked != "needed":
            return "not_needed"
        begun = self.execution not in ("planned", "abandoned")
        if verdict != self.execution and not (begun and verdict in ("succeeded", "failed")):
            return "transition_not_permitted"
        self.execution, self.looked, self.no_effect = verdict, "reconciled", False
        self.answer_by = None
        if self.settlement in ("pending", "disputed") and self.settles_by is None:
            self.settles_by = at + 30 * DAY
        self.why.clear()
        return None

    def sweep(self, at):
        if self.execution == "planned" and at >= self.expires:
            self.execution = "abandoned"
        if self.answer_by is not None and at >= self.answer_by:
            self.execution, self.answer_by = "unknown", None
            self.look("unknown_outcome")
        if self.settles_by is not None and at >= self.settles_by:
            self.settles_by = None
            self.look("settlement_overdue")


class Effects(RuleBasedStateMachine):
    """Two effects at a time, one of them repeatable, and hours that pass."""

    open: ClassVar
    clock: ClassVar

    @initialize()
    def begin(self):
        self.clock.reset()
        self.desk, self.at, self.made, self.revisions = self.open(), 0, [], {}
        for repeatable in (False, True):
            wanted = intent(repeatable=repeatable, expires_in_seconds=PLANNED)
            assert not self.desk.plan(wanted, by=WORKER).repeated
            self.made.append((wanted.id, Dict(self.at, repeatable)))

    def check(self, place, outcome, code, states=None):
        id, model = self.made[place]
        assert (None if isinstance(outcome, Moved) else refused(outcome).code) == code
        if code is None and states is not None:
            found = outcome.effect
            assert (found.execution, found.settlement, found.reconciliation) == states
        row = self.desk.get(id)
        assert (row.execution, row.settlement, row.reconciliation) == model.states()
        assert (set(row.reasons), row.venue_ref, row.no_effect) == (model.why, model.venue, model.no_effect)
        assert row.revision >= self.revisions.get(id, 1)
        self.revisions[id] = row.revision

    @rule(place=PLACES)
    def initiate(self, place):
        id, model = self.made[place]
        outcome = self.desk.begin(id, answer_within_seconds=ANSWER)
        self.check(place, outcome, model.initiate(self.at))

    @rule(place=PLACES, now=st.integers(0, 5))
    def abandon(self, place, now):
        if not now:
            id, model = self.made[place]
            self.check(place, self.desk.abandon(id, by=WORKER), model.abandon())

    @rule(place=PLACES, says=st.sampled_from(["succeeded", "failed", "unknown"]), e=EVIDENCE, venue=VENUES,
          no_effect=st.booleans())  # fmt: skip
    def outcome(self, place, says, e, venue, no_effect):
        id, model = self.made[place]
        no_effect = no_effect and says == "failed"
        outcome = self.desk.say(id, says, evidence_id=e, venue_ref=venue, no_effect=no_effect)
        content = ("outcome", says, venue, no_effect)
        self.check(place, outcome, *model.fact(e, content, lambda: model.outcome(says, venue, no_effect)))

    @rule(place=PLACES, to=st.sampled_from(["pending", "settled", "reversed", "disputed"]), e=EVIDENCE)
    def settle(self, place, to, e):
        id, model = self.made[place]
        outcome = self.desk.pays(id, to, evidence_id=e, settles_within_seconds=SETTLES)
        self.check(place, outcome, *model.fact(e, ("settlement", to), lambda: model.settle(to, self.at)))

    @rule(place=PLACES, verdict=st.sampled_from(["succeeded", "failed", "abandoned"]), e=EVIDENCE)
    def reconcile(self, place, verdict, e):
        id, model = self.made[place]
        outcome = self.desk.finds(id, verdict, evidence_id=e)
        self.check(place, outcome, *model.fact(e, ("reconcile", verdict), lambda: model.reconcile(verdict, self.at)))

    @rule()
    def hours(self):
        self.clock.move(STEP)
        self.at += STEP

    @rule()
    def sweep(self):
        self.desk.sweep()
        for place, (id, model) in enumerate(self.made):
            model.sweep(self.at)
            self.check(place, Moved(self.desk.get(id)), None)

    def teardown(self):
        """The history tells how each came to be what it is, without a gap."""
        for id, model in getattr(self, "made", ()):
            self.desk.told(id)
            at = {"execution": None, "settlement": "none", "reconciliation": "not_needed"}
            for line in self.desk.history(id, 0, 1000):
                if line.machine in at:
                    assert line.from_state == at[line.machine]
                    at[line.machine] = line.to_state
            assert tuple(at.values()) == model.states()


def test_effects_answer_what_a_dict_does(conn, database, clock):
    def opens():
        workspace = database.new_workspace()
        conn.execute("select set_config('steadhold.workspace', %s, false)", (workspace,))
        return Desk(conn, workspace)

    bound = {"open": staticmethod(opens), "clock": clock}
    machine = type("Bound", (Effects,), bound)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=chance.of(60), stateful_step_count=30, deadline=None)
    )
    assert clock.now() is not None
