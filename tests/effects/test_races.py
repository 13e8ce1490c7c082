"""effects under rivals: one begins, one charge, and one reconciliation in every interleaving, at every hour."""

from __future__ import annotations

import pytest

from steadhold import effects
from steadhold.effects import AlreadyInitiated, Entry, EntryConflict, Moved, MoveNotPermitted, NotNeeded
from steadhold.effects.moving import SQL
from steadhold.kit.plan import Call, rows
from tests.effects.people import OPERATOR, VENUE, WORKER, intent

pytestmark = pytest.mark.races


def plant(*steps, **kw):
    """An effect that has come so far."""

    def made(stage):
        wanted = intent(**kw)
        stage.play(effects.plan.call(stage.workspace, wanted, by=WORKER))
        for step in steps:
            stage.play(step(stage.workspace, wanted.id))
        return wanted.id

    return made


def begin(workspace, id):
    return effects.initiate.call(workspace, id, by=WORKER)


def unknown(workspace, id):
    return effects.outcome.call(workspace, id, "unknown", by=WORKER)


def says(execution, **kw):
    return lambda scene: effects.outcome.call(scene.workspace, scene.facts, execution, by=VENUE, **kw)


def finds(verdict, **kw):
    return lambda scene: effects.reconcile.call(scene.workspace, scene.facts, verdict, "x", by=OPERATOR, **kw)


def begins(scene):
    return begin(scene.workspace, scene.facts)


def time(scene):
    return effects.pass_time.call(scene.workspace, 10)


def holds(scene):
    """Somebody who has the row for a while, and changes nothing."""
    return Call(lambda: rows(SQL.hold, workspace=scene.workspace, id=scene.facts), scene.workspace, "holds")


def stands(scene, id=None):
    """The effect; its history and its events have no gap, and its head says the same."""
    id = id or scene.facts
    row = scene.play(effects.get.call(scene.workspace, id))
    told = scene.conn.execute(
        "select type, aggregate_revision from steadhold.events where workspace = %s and aggregate_id = %s"
        " order by aggregate_revision",
        [scene.workspace, f"effect:{id}"],
    ).fetchall()
    assert [revision for _, revision in told] == list(range(1, row.revision + 1))
    lines = scene.play(effects.history.call(scene.workspace, id, 0, 100))
    at = {"execution": None, "settlement": "none", "reconciliation": "not_needed"}
    for line in lines:
        if line.machine in at:
            assert line.from_state == at[line.machine]
            at[line.machine] = line.to_state
    assert at == {name: getattr(row, name) for name in at}
    head = scene.conn.execute(
        "select state, open, revision from steadhold.heads where workspace = %s and subject = %s",
        [scene.workspace, f"effect:{id}"],
    ).fetchone()
    assert head == (row.execution, row.open, row.revision)
    return row, [line.to_state for line in lines if line.machine == "execution"], lines


def test_one_of_two_begins(explore):
    def check(scene):
        row, moves, _ = stands(scene)
        assert sorted(type(outcome).__name__ for outcome in scene.outcomes.values()) == ["AlreadyInitiated", "Moved"]
        assert (moves, row.initiations) == (["planned", "initiated"], 1)

    seen = explore(setup=plant(), actors={"one": begins, "other": begins}, always=check)
    assert seen.interleavings >= 6
    assert seen.waits


def test_a_repeatable_one_is_begun_by_one_of_two(explore):
    def check(scene):
        row, _, _ = stands(scene)
        assert (row.initiations, row.execution) == (2, "initiated")
        assert sum(isinstance(outcome, AlreadyInitiated) for outcome in scene.outcomes.values()) == 1

    seen = explore(setup=plant(begin, unknown, repeatable=True), actors={"one": begins, "other": begins}, always=check)
    assert seen.waits


def test_begin_and_abandon_and_time(explore):
    """What is given up, or past its time, nobody begins, also if the clock moved while it waited for the row."""

    def check(scene):
        scene.play(effects.pass_time.call(scene.workspace, 10))
        row, moves, _ = stands(scene)
        begun = isinstance(scene.outcomes["begin"], Moved)
        assert moves == ["planned", "initiated" if begun else "abandoned"]
        assert begun or scene.outcomes["begin"] == MoveNotPermitted(scene.facts, "abandoned", "initiated")
        if begun:
            assert row.initiated_at < row.expires_at

    actors = {
        "begin": begins,
        "give up": lambda scene: effects.abandon.call(scene.workspace, scene.facts, by=OPERATOR),
    }
    seen = explore(setup=plant(expires_in_seconds=60.0), actors=actors, always=check, clock_moves={"past it": 61})
    assert (seen.interleavings >= 6, bool(seen.clock_moves)) == (True, True)
    seen = explore(
        setup=plant(expires_in_seconds=60.0), actors={"begin": begins, "hold": holds}, always=check,
        clock_moves={"past it": 61},
    )  # fmt: skip
    assert seen.waits


@pytest.mark.parametrize(
    ("said", "found"), [("succeeded", "succeeded"), ("failed", "succeeded"), ("succeeded", "failed")]
)
def test_a_late_callback_and_an_operator_race(explore, said, found):
    """One of them reconciles it, once; whoever comes second agrees, is told so, or contradicts and is kept."""

    def check(scene):
        row, moves, lines = stands(scene)
        looked = [line.to_state for line in lines if line.machine == "reconciliation"]
        if isinstance(scene.outcomes["operator"], NotNeeded):
            assert (row.execution, looked) == (said, ["needed", "reconciled"])
        elif said == found:
            assert (row.execution, looked) == (said, ["needed", "reconciled"])
            assert lines[-1].said == said
        else:
            assert (row.execution, looked) == (found, ["needed", "reconciled", "needed"])
            assert (row.reasons, lines[-1].said) == (("contradiction",), said)
        assert len(moves) == 4
        assert isinstance(scene.outcomes["callback"], Moved)

    actors = {"callback": says(said, evidence_id="e1"), "operator": finds(found, evidence_id="e2")}
    seen = explore(setup=plant(begin, unknown), actors=actors, always=check)
    assert seen.interleavings >= 6
    assert seen.waits
    assert {type(end["operator"]) for end in seen.outcomes} == {Moved, NotNeeded}


def test_one_callback_that_comes_twice_at_once(explore):
    """A venue that duplicates: the fact is taken once, and both are told the same."""

    def check(scene):
        _, moves, lines = stands(scene)
        one, other = scene.outcomes["one"], scene.outcomes["other"]
        assert (one.effect, {one.repeated, other.repeated}) == (other.effect, {False, True})
        assert (moves, len(lines)) == (["planned", "initiated", "succeeded"], 3)

    same = says("succeeded", evidence_id="e1", venue_ref="pi_1")
    assert explore(setup=plant(begin), actors={"one": same, "other": same}, always=check).waits


def test_an_answer_and_the_end_of_waiting_for_it(explore):
    """Whether or not the bound passed first: the answer counts, and nobody has to look in the end."""

    def check(scene):
        scene.play(effects.pass_time.call(scene.workspace, 10))
        row, _, _ = stands(scene)
        assert (row.execution, row.open) == ("succeeded", False)

    actors = {"answer": says("succeeded"), "time": time}
    seen = explore(setup=plant(begin), actors=actors, always=check, clock_moves={"past the bound": 301})
    assert seen.clock_moves


def test_a_doubt_and_an_answer(explore):
    """The worker that goes on says unknown only of what it saw begun; the callback that came first stands."""

    def check(scene):
        row, _, _ = stands(scene)
        assert (row.execution, row.open) == ("succeeded", False)

    doubt = lambda scene: effects.outcome.call(scene.workspace, scene.facts, "unknown", by=WORKER, revision=2)  # noqa: E731
    seen = explore(setup=plant(begin), actors={"doubt": doubt, "callback": says("succeeded")}, always=check)
    assert seen.waits


@pytest.mark.parametrize("money", ["pending", "settled"])
def test_a_failure_and_money_that_moves(explore, money):
    """Whichever comes first, somebody looks, and nobody begins it again meanwhile."""

    def check(scene):
        again = scene.play(begins(scene))
        row, _, _ = stands(scene)
        assert (row.execution, row.settlement, row.reasons) == ("failed", money, ("contradiction",))
        assert again == AlreadyInitiated(scene.facts, "failed")

    settles = lambda scene: effects.settle.call(scene.workspace, scene.facts, money, by=VENUE)  # noqa: E731
    actors = {"money": settles, "answer": says("failed", no_effect=True)}
    assert explore(setup=plant(begin), actors=actors, always=check).waits


def test_two_plans_of_one_id_are_one_effect(explore):
    def check(scene):
        rows_, moves, _ = stands(scene, scene.facts.id)
        assert (rows_.revision, moves) == (1, ["planned"])
        assert {outcome.repeated for outcome in scene.outcomes.values()} == {False, True}

    plans = lambda scene: effects.plan.call(scene.workspace, scene.facts, by=WORKER)  # noqa: E731
    seen = explore(setup=lambda stage: intent(), actors={"one": plans, "other": plans}, always=check)
    assert seen.waits


@pytest.mark.parametrize("other", ["12.50", "12.51"])
def test_two_entries_of_one_id_are_one_charge(explore, other):
    def enters(amount):
        return lambda scene: effects.enter.call(scene.workspace, "sales", Entry("1", amount, "EUR"), by=WORKER)

    def check(scene):
        (kept,) = scene.play(effects.entries.call(scene.workspace, "sales", None, 10))
        ends = [scene.outcomes[name] for name in ("one", "other")]
        if other == "12.50":
            assert {end.repeated for end in ends} == {False, True}
        else:
            assert sorted(type(end).__name__ for end in ends) == ["EntryConflict", "Recorded"]
            assert EntryConflict("1") in ends
        assert kept.entry.amount in ("12.50", other)

    seen = explore(setup=lambda stage: None, actors={"one": enters("12.50"), "other": enters(other)}, always=check)
    assert seen.waits
