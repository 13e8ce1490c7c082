"""A writer of plaintext and whoever makes its prefix private: never both."""

from __future__ import annotations

import pytest

from steadhold import context, private, state
from steadhold.context.plans import readable
from steadhold.private import PlaintextPresent, PlaintextRefused
from steadhold.state import Stored, plans

pytestmark = pytest.mark.races


def _race(explore, setup, write):
    def check(scene):
        made, found = scene.outcomes["make"], scene.play(state.get.call(scene.workspace, "secret/a"))
        assert isinstance(made, PlaintextPresent) is isinstance(found, Stored)
        assert isinstance(scene.outcomes["write"], PlaintextRefused) is not isinstance(made, PlaintextPresent)

    seen = explore(
        setup=setup,
        actors={
            "make": lambda scene: private.make.call(scene.workspace, "state", "secret", plans.readable),
            "write": write,
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def test_a_creation_racing_the_prefix(explore):
    _race(explore, lambda _: None, lambda scene: state.put.call(scene.workspace, "secret/a", b"1", None))


def test_a_creation_over_a_tombstone_racing_the_prefix(explore):
    def plant(stage):
        stage.play(state.put.call(stage.workspace, "secret/a", b"1", None))
        stage.play(state.delete.call(stage.workspace, "secret/a", 1))

    _race(explore, plant, lambda scene: state.put.call(scene.workspace, "secret/a", b"1", None))


def test_a_file_racing_the_prefix(explore):
    def check(scene):
        made, found = scene.outcomes["make"], scene.play(context.get.call(scene.workspace, "secret/a"))
        assert isinstance(made, PlaintextPresent) is isinstance(found, context.Stored)
        assert isinstance(scene.outcomes["write"], PlaintextRefused) is not isinstance(made, PlaintextPresent)

    seen = explore(
        setup=lambda _: None,
        actors={
            "make": lambda scene: private.make.call(scene.workspace, "context", "secret", readable),
            "write": lambda scene: context.put.call(scene.workspace, "secret/a", b"1", None),
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits
