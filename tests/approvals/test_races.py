"""approvals under rivals: one outcome and one use in every interleaving, wherever the clock moves past a bound."""

from __future__ import annotations

import pytest

from steadhold import approvals
from steadhold.approvals import AlreadyUsed, ApprovalEnded, Moved, NotUsable
from steadhold.approvals.moving import SQL
from steadhold.kit.plan import Call, rows
from tests.approvals.people import AGENT, ANNA, BERT, ONE, TWO, asked

pytestmark = pytest.mark.races

LIFE, USABLE = 60.0, 30.0
OUTCOMES = {"approved", "rejected", "expired", "withdrawn"}
PAST_EXPIRY, PAST_USABLE = {"past the expiry": LIFE + 1}, {"past its use": USABLE + 1}


def question(**kw):
    def plant(stage):
        wanted = asked(**{"expires_in_seconds": LIFE, "usable_seconds": USABLE, **kw})
        stage.play(approvals.request.call(stage.workspace, wanted, by=AGENT))
        return wanted.id

    return plant


def approved(stage):
    id = question()(stage)
    stage.play(approvals.vote.call(stage.workspace, id, "approve", ONE.hash, by=ANNA))
    return id


def votes(decision="approve", by=ANNA):
    return lambda scene: approvals.vote.call(scene.workspace, scene.facts, decision, ONE.hash, by=by)


def uses(use_id="u", artifact=ONE):
    return lambda scene: approvals.use.call(scene.workspace, scene.facts, artifact, use_id, by=AGENT)


def holds(scene):
    """Somebody who has the row for a while, and changes nothing."""
    return Call(lambda: rows(SQL.hold, workspace=scene.workspace, id=scene.facts), scene.workspace, "holds")


ACTS = {
    "approve": votes(),
    "reject": votes("reject", BERT),
    "withdraw": lambda scene: approvals.withdraw.call(scene.workspace, scene.facts, by=AGENT),
    "revoke": lambda scene: approvals.revoke.call(scene.workspace, scene.facts, by=ANNA),
    "time": lambda scene: approvals.pass_time.call(scene.workspace, 10),
    "use": uses(),
    "hold": holds,
}
MAKES = {"approve": "approved", "reject": "rejected", "withdraw": "withdrawn"}


def stands(scene):
    """The approval, once what time has done is written down; its history has no gap."""
    scene.play(approvals.pass_time.call(scene.workspace, 10))
    row = scene.play(approvals.get.call(scene.workspace, scene.facts))
    found = scene.conn.execute(
        "select type, aggregate_revision from steadhold.events where workspace = %s and aggregate_id = %s"
        " order by aggregate_revision",
        [scene.workspace, f"approval:{scene.facts}"],
    ).fetchall()
    assert [revision for _, revision in found] == list(range(1, row.revision + 1))
    told = [type.removeprefix("approval.") for type, _ in found]
    assert len(OUTCOMES & set(told)) == len([type for type in told if type in OUTCOMES]) == (row.state != "pending")
    head = scene.conn.execute(
        "select state, open from steadhold.heads where workspace = %s and subject = %s",
        [scene.workspace, f"approval:{scene.facts}"],
    ).fetchone()
    assert head == (row.state, row.state == "pending")
    return row


def overtaken(scene, who, move):
    """Whether the clock moved before this one had the row."""
    lines = [line for line in scene.trace if line.who == move or (line.who == who and line.step == "approvals.hold")]
    held = [line.who for line in lines if not line.answer.startswith("waits for")]
    return held[0] == move


@pytest.mark.parametrize(
    "pair",
    [("approve", "reject"), ("approve", "withdraw"), ("reject", "withdraw"), ("approve", "time"), ("reject", "time"),
     ("withdraw", "time")],
    ids="-".join,
)  # fmt: skip
def test_one_outcome(explore, pair):
    """Of two that would end it, and time, one does; every other is told which."""

    def check(scene):
        row = stands(scene)
        won = [name for name in pair if isinstance(scene.outcomes[name], Moved)]
        lost = [name for name in pair if name != "time" and name not in won]
        assert [MAKES[name] for name in won] == ([] if row.state in ("expired", "pending") else [row.state])
        assert [scene.outcomes[name] for name in lost] == [ApprovalEnded(scene.facts, row.state)] * len(lost)

    moves = PAST_EXPIRY if "time" in pair or pair == ("approve", "reject") else {}
    seen = explore(setup=question(), actors={name: ACTS[name] for name in pair}, always=check, clock_moves=moves)
    assert seen.interleavings >= 12
    assert bool(seen.clock_moves) == bool(moves)


def test_a_vote_that_waited_for_the_row_past_the_expiry_is_refused(explore):
    """Whenever the clock moves while somebody has the row: a vote counts if it was decided before the expiry."""

    def check(scene):
        row = stands(scene)
        if overtaken(scene, "approve", *PAST_EXPIRY):
            assert scene.outcomes["approve"] == ApprovalEnded(scene.facts, "expired")
            assert row.state == "expired"
        else:
            assert scene.outcomes["approve"].approval.ended_at < row.expires_at
            assert row.state == "approved"

    seen = explore(
        setup=question(),
        actors={name: ACTS[name] for name in ("hold", "approve")},
        always=check,
        clock_moves=PAST_EXPIRY,
    )
    assert seen.waits
    assert {type(outcomes["approve"]) for outcomes in seen.outcomes} == {Moved, ApprovalEnded}


def test_a_use_that_waited_for_the_row_past_its_time_is_refused(explore):
    def check(scene):
        row = stands(scene)
        if overtaken(scene, "use", *PAST_USABLE):
            assert scene.outcomes["use"] == NotUsable(scene.facts, "lapsed")
            assert row.grant == "lapsed"
        else:
            assert scene.outcomes["use"].approval.grant_ended_at < row.usable_until
            assert row.grant == "used"

    seen = explore(
        setup=approved,
        actors={name: ACTS[name] for name in ("hold", "use")},
        always=check,
        clock_moves=PAST_USABLE,
    )
    assert seen.waits
    assert {type(outcomes["use"]) for outcomes in seen.outcomes} == {Moved, NotUsable}


@pytest.mark.parametrize("rival", ["revoke", "time"])
def test_a_use_and_what_ends_the_grant(explore, rival):
    def check(scene):
        row, outcome = stands(scene), scene.outcomes["use"]
        assert row.state == "approved"
        if isinstance(outcome, Moved):
            assert row.grant == "used"
            assert not isinstance(scene.outcomes[rival], Moved)
        else:
            assert outcome == NotUsable(scene.facts, row.grant)
            assert row.grant in ("revoked", "lapsed")

    seen = explore(
        setup=approved, actors={name: ACTS[name] for name in ("use", rival)}, always=check, clock_moves=PAST_USABLE
    )
    assert seen.interleavings >= 12
    assert {type(outcomes["use"]) for outcomes in seen.outcomes} == {Moved, NotUsable}


def test_one_use(explore):
    """Of two acts one is told that it may; the other is told that it may not."""

    def check(scene):
        row = stands(scene)
        told = {name: scene.outcomes[name] for name in ("one", "two")}
        assert told.pop(row.use_id).approval.grant == "used"
        assert list(told.values()) == [AlreadyUsed(scene.facts)]

    seen = explore(setup=approved, actors={"one": uses("one"), "two": uses("two")}, always=check)
    assert seen.waits


def test_one_use_said_twice_at_once_is_one(explore):
    def check(scene):
        assert sorted(outcome.repeated for outcome in scene.outcomes.values()) == [False, True]
        assert [deed.act for deed in stands(scene).deeds] == ["request", "approve", "use"]

    seen = explore(setup=approved, actors={"one": uses(), "two": uses()}, always=check)
    assert seen.waits


def test_a_swapped_artifact_never_wins_the_grant(explore):
    """Approved is version 1; whoever comes with version 2 gets nothing, however it races the right use."""

    def check(scene):
        assert scene.outcomes["right"].approval.grant == "used"
        assert scene.outcomes["swapped"] == approvals.ArtifactMismatch(ONE)

    explored = explore(setup=approved, actors={"right": uses(), "swapped": uses(artifact=TWO)}, always=check)
    assert explored.waits


def test_a_quorum_of_two_at_once(explore):
    """Both votes count, one of them brings the outcome, and there is one grant."""

    def check(scene):
        row = stands(scene)
        assert (row.state, row.grant, len(row.votes)) == ("approved", "unused", 2)
        assert sorted(outcome.approval.state for outcome in scene.outcomes.values()) == ["approved", "pending"]

    seen = explore(setup=question(quorum=2), actors={"anna": votes(), "bert": votes(by=BERT)}, always=check)
    assert seen.waits


def test_a_subject_at_two_keyboards_votes_once(explore):
    def check(scene):
        assert sorted(outcome.repeated for outcome in scene.outcomes.values()) == [False, True]
        assert len(stands(scene).votes) == 1

    seen = explore(setup=question(quorum=2), actors={"here": votes(), "there": votes()}, always=check)
    assert seen.waits


def test_two_sweeps_write_a_thing_down_once(explore):
    def plant(stage):
        id = question(expires_in_seconds=0.000001)(stage)
        assert stage.play(approvals.get.call(stage.workspace, id)).state == "expired"
        return id

    def check(scene):
        assert sorted(scene.outcomes.values()) == [0, 1]
        assert stands(scene).state == "expired"

    seen = explore(setup=plant, actors=dict.fromkeys(("one", "two"), ACTS["time"]), always=check)
    assert seen.interleavings >= 4
