"""Every interleaving of two calls under one key."""

from __future__ import annotations

import pytest

from steadhold import operations
from steadhold.events import Appended, aggregate
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.operations import NotCommitted, OperationAbandoned, OperationMismatch, Receipt, Replayed
from tests.operations.effects import make, under

pytestmark = pytest.mark.races


def nothing(stage):
    return None


def thing(scene, name="thing"):
    found = scene.play(aggregate.call(scene.workspace, name))
    return None if isinstance(found, Missing) else found


def test_twins_have_one_effect_and_equal_answers(explore):
    def once(scene):
        return under("k", make(scene.workspace))

    def one_effect(scene):
        first, second = sorted(scene.outcomes.values(), key=lambda o: isinstance(o, Replayed))
        assert isinstance(first, Appended)
        assert isinstance(second, Replayed)
        assert second.receipt.revision == first.revision == thing(scene).revision == 1

    seen = explore(setup=nothing, actors={"a": once, "b": once}, always=one_effect)
    assert seen.interleavings >= 8
    assert seen.waits


def test_another_request_under_the_key_has_no_effect(explore):
    def refused(scene):
        mine, theirs = scene.outcomes["mine"], scene.outcomes["theirs"]
        assert {type(mine), type(theirs)} == {Appended, OperationMismatch}
        assert (thing(scene) is None) == isinstance(mine, OperationMismatch)
        assert (thing(scene, "other") is None) == isinstance(theirs, OperationMismatch)

    seen = explore(
        setup=nothing,
        actors={
            "mine": lambda scene: under("k", make(scene.workspace)),
            "theirs": lambda scene: under("k", make(scene.workspace, "other"), b"g"),
        },
        always=refused,
    )
    assert seen.waits


def test_a_refusal_hands_the_key_to_whoever_waits_for_it(explore):
    def handed_on(scene):
        assert scene.outcomes["refused"] in (RevisionConflict(1), OperationMismatch("k"))
        assert isinstance(scene.outcomes["other"], Appended)
        assert scene.play(operations.look.call(scene.workspace, "k")).status == 201

    seen = explore(
        setup=lambda stage: stage.play(make(stage.workspace)),
        actors={
            "refused": lambda scene: under("k", make(scene.workspace)),
            "other": lambda scene: under("k", make(scene.workspace, "other"), b"g"),
        },
        always=handed_on,
    )
    assert seen.waits


def test_abandoned_or_committed_but_never_both(explore):
    def definite(scene):
        late, told = scene.outcomes["late"], scene.outcomes["abandon"]
        assert isinstance(told, Receipt)
        assert (late == OperationAbandoned("k")) == told.abandoned == (thing(scene) is None)

    def final(scene):
        found = scene.play(operations.look.call(scene.workspace, "k"))
        assert isinstance(found, NotCommitted) or found.abandoned == (thing(scene) is None)

    seen = explore(
        setup=nothing,
        actors={
            "late": lambda scene: under("k", make(scene.workspace)),
            "abandon": lambda scene: operations.abandon.call(scene.workspace, "k"),
        },
        always=definite,
        between=final,
    )
    assert seen.waits
    assert {outcome["abandon"].state for outcome in seen.outcomes} == {"abandoned", "committed"}
