"""state under rivals: every interleaving of two writers, of a purge and a creation, of a fence and its end."""

from __future__ import annotations

import pytest

from steadhold import state
from steadhold.state import plans
from steadhold.state.model import Missing, RevisionConflict, Written

pytestmark = pytest.mark.races


def written(scene):
    return [outcome for outcome in scene.outcomes.values() if isinstance(outcome, Written)]


def test_two_creators_have_one_winner(explore):
    """Of two who create one name, one does, and the other learns the revision it lost to."""

    def check(scene):
        assert len(written(scene)) == 1
        assert [o for o in scene.outcomes.values() if o not in written(scene)] == [RevisionConflict(1)]
        assert scene.play(state.get.call(scene.workspace, "n")).revision == 1

    seen = explore(
        setup=lambda _: None,
        actors={
            "one": lambda scene: state.put.call(scene.workspace, "n", b"1", None),
            "two": lambda scene: state.put.call(scene.workspace, "n", b"2", None),
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def test_a_writer_and_a_deleter_have_one_winner(explore):
    """Replacing and deleting one revision: one wins, and nothing of the other is left."""

    def check(scene):
        (won,) = written(scene)
        assert won.revision == 2
        found = scene.play(state.get.call(scene.workspace, "n"))
        if scene.outcomes["put"] == won:
            assert found.body == b"2"
            assert scene.outcomes["delete"] == RevisionConflict(2)
        else:
            assert found == Missing(2)
            assert scene.outcomes["put"] == Missing(2)

    seen = explore(
        setup=lambda stage: stage.play(state.put.call(stage.workspace, "n", b"1", None)),
        actors={
            "put": lambda scene: state.put.call(scene.workspace, "n", b"2", 1),
            "delete": lambda scene: state.delete.call(scene.workspace, "n", 1),
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def test_a_purge_racing_a_creation_repeats_no_number(explore):
    """A tombstone that goes while its name is made again leaves its number behind."""

    def plant(stage):
        stage.play(state.put.call(stage.workspace, "n", b"1", None))
        stage.play(state.put.call(stage.workspace, "n", b"2", 1))
        stage.play(state.delete.call(stage.workspace, "n", 2))

    def check(scene):
        made = scene.outcomes["create"]
        assert isinstance(made, Written)
        assert made.revision >= 4
        assert scene.play(state.get.call(scene.workspace, "n")).revision == made.revision

    seen = explore(
        setup=plant,
        actors={
            "purge": lambda scene: plans.bury.call(scene.workspace, 0.0, 10),
            "create": lambda scene: state.put.call(scene.workspace, "n", b"3", None),
        },
        always=check,
    )
    assert seen.interleavings >= 6
    assert seen.waits


def test_a_held_condition_is_true_until_the_commit(explore):
    """While somebody requires a revision, nobody moves the name on."""

    def check(scene):
        assert scene.outcomes["require"] in (None, RevisionConflict(2))
        if scene.outcomes["require"] is None:
            trace = [line.who for line in scene.trace if line.step.lower() == "commit"]
            assert trace.index("require") < trace.index("write")

    seen = explore(
        setup=lambda stage: stage.play(state.put.call(stage.workspace, "n", b"1", None)),
        actors={
            "require": lambda scene: state.require.call(scene.workspace, "n", 1),
            "write": lambda scene: state.put.call(scene.workspace, "n", b"2", 1),
        },
        always=check,
    )
    assert seen.waits


def test_a_held_absence_is_true_until_the_commit(explore):
    """While somebody requires that a name holds nothing, nobody creates it; and nothing shows that it was required."""

    def check(scene):
        assert scene.outcomes["create"].revision == 1
        assert scene.outcomes["require"] in (None, RevisionConflict(1))
        if scene.outcomes["require"] is None:
            trace = [line.who for line in scene.trace if line.step.lower() == "commit"]
            assert trace.index("require") < trace.index("create")
        assert scene.play(state.revisions.call(scene.workspace, "n", 99, 9))[0].revision == 1

    seen = explore(
        setup=lambda _: None,
        actors={
            "require": lambda scene: state.require.call(scene.workspace, "n", None),
            "create": lambda scene: state.put.call(scene.workspace, "n", b"1", None),
        },
        always=check,
    )
    assert seen.waits
    assert {None, RevisionConflict(1)} <= {outcomes["require"] for outcomes in seen.outcomes}
