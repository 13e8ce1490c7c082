"""effects as pure decisions: every move is on the graph, by the verb that may, and nothing is lost on the way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.effects import answers, outcomes, verdicts
from steadhold.effects.model import AT_REST, MOVES, Effect, Execution, Fact, Reconciliation, Settled
from steadhold.effects.outcomes import AlreadyInitiated
from steadhold.effects.telling import EVENTS
from steadhold.effects.verdicts import Change
from steadhold.kit.plan import Refusal
from steadhold.web.codes import PROBLEMS

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
GRAPH = MOVES | AT_REST
ALONE = {("succeeded", "failed"), ("failed", "succeeded")}


def effect(execution="planned", settlement="none", reconciliation="not_needed", **kw):
    """An effect as a row could say it."""
    needs = reconciliation == "needed"
    row = {
        "id": "e", "revision": 7, "kind": "charge", "target": "venue", "request_digest": "sha256:0",
        "repeatable": False, "amount": None, "currency": None, "data_ref": None, "causation_id": None, "job_id": None,
        "root_job_id": None, "planned_by": "w", "planned_at": NOW, "expires_in_seconds": 60.0,
        "expires_at": NOW + timedelta(seconds=60), "execution": execution, "settlement": settlement,
        "reconciliation": reconciliation, "no_effect": False,
        "initiations": 0 if execution in ("planned", "abandoned") else 1, "initiated_at": None,
        "answer_by": NOW + timedelta(seconds=300) if execution == "initiated" else None,
        "settles_by": NOW + timedelta(days=30) if settlement in ("pending", "disputed") else None,
        "needed_for": "contradiction" if needs else "", "needed_since": NOW if needs else None,
        "announce_at": NOW + timedelta(days=1) if needs else None, "venue_ref": None, "evidence_ref": None,
        "now": NOW, "floor": 0,
    }  # fmt: skip
    return Effect(**{**row, **kw})


EXECUTIONS, SETTLEMENTS, LOOKS = get_args(Execution), get_args(Settled), get_args(Reconciliation)
ROWS = st.builds(
    effect,
    st.sampled_from(EXECUTIONS),
    st.sampled_from(SETTLEMENTS),
    st.sampled_from(LOOKS),
    repeatable=st.booleans(),
    now=st.sampled_from([NOW, NOW + timedelta(seconds=61), NOW + timedelta(days=31)]),
    venue_ref=st.sampled_from([None, "v1"]),
)
EVIDENCE = {"evidence_id": st.sampled_from([None, "x"]), "venue_ref": st.sampled_from([None, "v1", "v2"])}
OUTCOMES = st.builds(Fact, st.just("outcome"), st.sampled_from(["succeeded", "failed", "unknown"]), **EVIDENCE)
SETTLING = st.builds(Fact, st.just("settlement"), st.sampled_from(["pending", "settled", "reversed", "disputed"]))
VERDICTS = st.builds(Fact, st.just("reconcile"), st.sampled_from(["succeeded", "failed", "abandoned"]))
SAYS = st.one_of(
    OUTCOMES.map(lambda fact: ("outcome", lambda row: verdicts.told(row, fact))),
    SETTLING.map(lambda fact: ("settlement", lambda row: verdicts.settled(row, fact))),
    VERDICTS.map(lambda fact: ("reconcile", lambda row: verdicts.reconciled(row, fact))),
    st.just(("initiate", lambda row: verdicts.initiated(row, 300))),
    st.just(("abandon", verdicts.abandoned)),
    st.just(("time", verdicts.passed)),
)
MAY = {
    "execution": {"initiate", "outcome", "reconcile", "abandon", "time"},
    "settlement": {"settlement"},
    "reconciliation": {"outcome", "settlement", "reconcile", "time"},
    "evidence": {"outcome", "settlement"},
}


@given(ROWS, SAYS)
def test_every_move_is_on_the_graph_and_by_who_may(row, said):
    verb, decide = said
    change = decide(row)
    if not isinstance(change, Change):
        assert isinstance(change, Refusal)
        return
    at = {name: getattr(row, name) for name in ("execution", "settlement", "reconciliation")}
    for n, line in enumerate(change.lines, row.revision + 1):
        assert (line.revision, verb in MAY[line.machine]) == (n, True)
        assert (line.machine, line.to_state) in EVENTS
        if line.machine in at and not line.announced:
            assert line.from_state == at[line.machine]
            assert line.to_state in GRAPH[line.from_state]
            assert (line.from_state, line.to_state) not in ALONE or verb == "reconcile"
            at[line.machine] = line.to_state
    assert {name: getattr(change.now, name) for name in at} == at
    assert change.now.revision == row.revision + len(change.lines)
    assert (
        (change.now.reconciliation == "needed") == bool(change.now.needed_for) == (change.now.announce_at is not None)
    )
    assert (change.now.execution == "initiated") == (change.now.answer_by is not None)


@given(ROWS, OUTCOMES)
def test_an_outcome_is_never_lost(row, fact):
    """What was begun takes every fact: it moves, agrees, or is kept; if it contradicts, somebody looks."""
    change = verdicts.told(row, fact)
    if row.execution == "planned":
        assert isinstance(change, Refusal)
        return
    if row.execution not in ("initiated", "unknown", fact.says):
        assert change.now.execution == row.execution
        assert ("contradiction" in change.now.reasons, change.lines[-1].said) == (True, fact.says)
    if fact.evidence_id is not None or change.now != row:
        assert any(line.said == fact.says for line in change.lines)


@given(ROWS)
def test_time_decides_nothing_but_that_what_was_not_begun_will_not_be(row):
    now = verdicts.passed(row).now
    assert (now.execution, row.execution) in {
        *((state, state) for state in EXECUTIONS),
        ("abandoned", "planned"),
        ("unknown", "initiated"),
    }
    assert now.settlement == row.settlement
    assert now.reconciliation in (row.reconciliation, "needed")


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("repeatable", [False, True])
@pytest.mark.parametrize("no_effect", [False, True])
@pytest.mark.parametrize("look", LOOKS)
def test_who_may_begin(execution, repeatable, no_effect, look):
    """Never twice, but where the outside does nothing twice, or where it is sure that nothing happened."""
    row = effect(execution, "none", look, repeatable=repeatable, no_effect=no_effect)
    begun = isinstance(verdicts.initiated(row, 300), Change)
    sure = execution == "failed" and no_effect and look != "needed"
    assert begun == (execution == "planned" or (execution == "unknown" and repeatable) or sure)
    if not begun and execution != "abandoned":
        assert isinstance(verdicts.initiated(row, 300), AlreadyInitiated)


def test_every_state_has_its_place_in_one_graph():
    assert GRAPH.keys() == {*EXECUTIONS, *SETTLEMENTS, *LOOKS}
    assert {end for ends in GRAPH.values() for end in ends} <= GRAPH.keys()


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("settlement", SETTLEMENTS)
@pytest.mark.parametrize("look", LOOKS)
def test_what_is_open(execution, settlement, look):
    decided = execution in ("succeeded", "failed", "abandoned") and settlement in ("none", "settled", "reversed")
    assert effect(execution, settlement, look).open == (not decided or look == "needed")


def test_every_refusal_is_an_answer():
    mine = [kind for kind in vars(outcomes).values() if isinstance(kind, type) and issubclass(kind, Refusal)]
    for kind in set(mine) - {Refusal}:
        said = answers.refused(kind(*["x"] * len(kind.__match_args__)))
        assert said.code in PROBLEMS
