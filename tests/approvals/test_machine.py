"""approvals against a plain dict: whatever the order of verbs and hours, the same answers by plans and by doors."""

from __future__ import annotations

import asyncio
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from steadhold import approvals
from steadhold.approvals import Moved
from steadhold.approvals.answers import refused
from steadhold.db.pool import Pool
from steadhold.play.single import Single
from tests import chance
from tests.approvals.house import House, named
from tests.approvals.people import AGENT, ONE, TWO, asked, person

LIFE, USABLE, STEP = 100, 50, 30  # no sum of steps comes near a bound
PEOPLE = {name: person(name) for name in ("anna", "bert", "carl")}
NAMES = st.sampled_from([*PEOPLE])
ARTIFACTS = st.sampled_from([ONE, ONE, ONE, TWO])
USES = st.sampled_from(["u", "v"])
SELDOM = st.integers(min_value=0, max_value=2).map(lambda n: n == 2)
PLACES = st.integers(min_value=0, max_value=1)


class Dict:
    """What an approval must be: four members, and the rules in a few lines."""

    def __init__(self, at, quorum):
        self.expires, self.quorum = at + LIFE, quorum
        self.state, self.grant, self.use_id, self.votes = "pending", None, None, {}

    def pass_time(self, at):
        if self.state == "pending" and at >= self.expires:
            self.state = "expired"
        if self.grant == "unused" and at >= self.usable:
            self.grant = "lapsed"

    def vote(self, name, decision, artifact, at):
        if name == "carl":
            return "not_approver"
        if self.votes.get(name) == decision and artifact is ONE:
            return None
        if self.state != "pending":
            return "approval_ended"
        if artifact is not ONE:
            return "artifact_mismatch"
        if name in self.votes:
            return "already_voted"
        self.votes[name] = decision
        if decision == "reject":
            self.state = "rejected"
        elif len(self.votes) == self.quorum:
            self.state, self.grant, self.usable = "approved", "unused", at + USABLE
        return None

    def withdraw(self):
        if self.state not in ("pending", "withdrawn"):
            return "approval_ended"
        self.state = "withdrawn"
        return None

    def use(self, artifact, use_id):
        verdict = self.verify(artifact, use_id)
        if verdict == (True, "unused"):
            self.grant, self.use_id = "used", use_id
        if verdict[0]:
            return None
        return {"artifact_mismatch": "artifact_mismatch", "used": "already_used"}.get(verdict[1], "not_usable")

    def verify(self, artifact, use_id):
        if artifact is not ONE:
            return False, "artifact_mismatch"
        if self.grant in (None, "revoked", "lapsed"):
            return False, self.grant or self.state
        if self.grant == "unused":
            return True, "unused"
        return (True, "same_use") if use_id == self.use_id else (False, "used")

    def revoke(self, name):
        if name == "carl":
            return "not_approver"
        if self.grant in ("unused", "revoked"):
            self.grant = "revoked"
            return None
        return "already_used" if self.grant == "used" else "not_usable"


class ByPlans:
    """The verbs on a connection; a refusal is its code."""

    def __init__(self, conn, workspace):
        self.conn, self.workspace = conn, workspace

    def _said(self, verb, *args, **kw):
        outcome = getattr(approvals, verb)(self.conn, self.workspace, *args, **kw)
        return None if isinstance(outcome, Moved) else refused(outcome).code

    def ask(self, quorum):
        question = asked(approvers=("anna", "bert"), quorum=quorum, expires_in_seconds=LIFE, usable_seconds=USABLE)
        assert self._said("request", question, by=AGENT) is None
        return question.id

    def vote(self, id, name, decision, artifact):
        return self._said("vote", id, decision, artifact.hash, by=PEOPLE[name])

    def withdraw(self, id):
        return self._said("withdraw", id, by=AGENT)

    def use(self, id, artifact, use_id):
        return self._said("use", id, artifact, use_id, by=AGENT)

    def revoke(self, id, name):
        return self._said("revoke", id, by=PEOPLE[name])

    def verify(self, id, artifact, use_id):
        verdict = approvals.verify(self.conn, self.workspace, id, artifact, use_id)
        return verdict.approved, verdict.reason

    def look(self, id):
        row = approvals.get(self.conn, self.workspace, id)
        return row.state, row.grant, row.revision, {vote.subject: vote.act for vote in row.votes}

    def sweep(self):
        approvals.pass_time(self.conn, self.workspace, 100)


class ByDoors:
    """The same through the doors; `run` plays what is awaited."""

    def __init__(self, run, house):
        self.run, self.house = run, house
        self.agent = run(house.agent())
        self.people = {name: run(house.enter(name)) for name in PEOPLE}

    def _said(self, answer):
        got = self.run(answer)
        return None if got.status in (200, 201) else got.json["code"]

    def ask(self, quorum):
        wanted = {"approvers": ["anna", "bert"], "quorum": quorum}
        return self.run(self.agent.asked(**wanted, expires_in_seconds=LIFE, usable_seconds=USABLE))

    def vote(self, id, name, decision, artifact):
        return self._said(self.people[name].votes(id, decision, artifact.hash))

    def withdraw(self, id):
        return self._said(self.agent.says("withdraw", id))

    def use(self, id, artifact, use_id):
        return self._said(self.agent.uses(id, artifact, use_id))

    def revoke(self, id, name):
        return self._said(self.people[name].says("revoke", id))

    def verify(self, id, artifact, use_id):
        told = self.run(self.agent.says("verify", id, {**named(artifact), "use_id": use_id})).json
        return told["approved"], told["reason"]

    def look(self, id):
        told = self.run(self.agent.reads(id)).json
        votes = {vote["subject"]: vote["decision"] for vote in told["votes"]}
        return told["state"], told.get("grant", {}).get("state"), told["revision"], votes

    def sweep(self):
        self.run(self.house.player.play(approvals.pass_time.call(self.house.workspace, 100)))


class Approvals(RuleBasedStateMachine):
    """Two approvals at a time, three people of whom two decide, and hours that pass."""

    open: ClassVar
    clock: ClassVar

    @initialize()
    def begin(self):
        self.door, self.at, self.asked, self.revisions = self.open(), 0, [], {}
        self.clock.reset()
        self.ask(1)
        self.ask(2)

    def ask(self, quorum):
        self.asked.append((self.door.ask(quorum), Dict(self.at, quorum)))

    def check(self, place, said, must):
        id, model = self.asked[place]
        assert said == must
        state, grant, revision, votes = self.door.look(id)
        assert (state, grant, votes) == (model.state, model.grant, model.votes)
        assert revision >= self.revisions.get(id, 1)
        self.revisions[id] = revision

    @rule(place=PLACES, name=NAMES, decision=st.sampled_from(["approve", "approve", "reject"]), artifact=ARTIFACTS)
    def vote(self, place, name, decision, artifact):
        id, model = self.asked[place]
        self.check(place, self.door.vote(id, name, decision, artifact), model.vote(name, decision, artifact, self.at))

    @rule(place=PLACES)
    def all_approve(self, place):
        """So that grants are common."""
        for name in ("anna", "bert"):
            self.vote(place, name, "approve", ONE)

    @rule(place=PLACES, now=SELDOM)
    def withdraw(self, place, now):
        if not now:
            return
        id, model = self.asked[place]
        self.check(place, self.door.withdraw(id), model.withdraw())

    @rule(place=PLACES, artifact=ARTIFACTS, use_id=USES)
    def use(self, place, artifact, use_id):
        id, model = self.asked[place]
        self.check(place, self.door.use(id, artifact, use_id), model.use(artifact, use_id))

    @rule(place=PLACES, artifact=ARTIFACTS, use_id=USES)
    def verify(self, place, artifact, use_id):
        id, model = self.asked[place]
        self.check(place, self.door.verify(id, artifact, use_id), model.verify(artifact, use_id))

    @rule(place=PLACES, name=NAMES)
    def revoke(self, place, name):
        id, model = self.asked[place]
        self.check(place, self.door.revoke(id, name), model.revoke(name))

    @rule(now=SELDOM)
    def hours(self, now):
        if not now:
            return
        self.clock.move(STEP)
        self.at += STEP
        for place, (_, model) in enumerate(self.asked):
            model.pass_time(self.at)
            self.check(place, None, None)

    @rule()
    def sweep(self):
        """What it writes down is what was so."""
        before = [self.door.look(id) for id, _ in self.asked]
        self.door.sweep()
        after = [self.door.look(id) for id, _ in self.asked]
        ended = [place for place, look in enumerate(before) if look[0] != "pending"]
        assert [after[place] for place in ended] == [before[place] for place in ended]
        for place in range(len(self.asked)):
            self.check(place, None, None)

    @rule(place=PLACES, quorum=st.sampled_from([1, 2]))
    def another(self, place, quorum):
        """A question that has its outcome makes room for the next."""
        if self.asked[place][1].state != "pending":
            self.asked[place] = (self.door.ask(quorum), Dict(self.at, quorum))


def play(clock, opens, examples):
    bound = {"open": staticmethod(opens), "clock": clock}
    machine = type("Bound", (Approvals,), bound)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=chance.of(examples), stateful_step_count=30, deadline=None)
    )


def test_the_plans_answer_what_a_dict_does(conn, database, clock):
    def opens():
        workspace = database.new_workspace()
        conn.execute("select set_config('steadhold.workspace', %s, false)", (workspace,))
        return ByPlans(conn, workspace)

    play(clock, opens, 60)
    assert clock.now() is not None


@pytest.mark.parametrize("tries", [20])
def test_the_doors_answer_what_a_dict_does(dsn, database, clock, tries):
    with asyncio.Runner() as runner:
        pool = runner.run(Pool(dsn, size=2).__aenter__())
        try:
            play(clock, lambda: ByDoors(runner.run, House(Single(pool), database.new_workspace())), tries)
        finally:
            runner.run(pool.__aexit__(None, None, None))
    assert clock.now() is not None
