"""A writer of plaintext and whoever makes its prefix private: never both."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import context, private, state
from steadhold.context import uploads
from steadhold.context.model import Upload
from steadhold.context.plans import put_upload, readable
from steadhold.kit.ids import new_id
from steadhold.private import PlaintextPresent, PlaintextRefused
from steadhold.state import Stored, plans
from tests.access.people import NOBODY

pytestmark = pytest.mark.races


def _race(explore, setup, write):
    def check(scene):
        made, found = scene.outcomes["make"], scene.play(state.get.call(scene.workspace, "secret/a"))
        assert isinstance(made, PlaintextPresent) is isinstance(found, Stored)
        assert isinstance(scene.outcomes["write"], PlaintextRefused) is not isinstance(made, PlaintextPresent)

    seen = explore(
        setup=setup,
        actors={
            "make": lambda scene: private.make.call(scene.workspace, "state", "secret", plans.readable, by=NOBODY),
            "write": write,
        },
        always=check,
    )
    assert seen.interleavings >= 4
    return seen.waits


def test_a_creation_racing_the_prefix(explore):
    assert _race(explore, lambda _: None, lambda scene: state.put.call(scene.workspace, "secret/a", b"1", None))


def test_a_creation_over_a_tombstone_racing_the_prefix(explore):
    def plant(stage):
        stage.play(state.put.call(stage.workspace, "secret/a", b"1", None))
        stage.play(state.delete.call(stage.workspace, "secret/a", 1))

    assert _race(explore, plant, lambda scene: state.put.call(scene.workspace, "secret/a", b"1", None))


def test_a_file_racing_the_prefix(explore):
    def check(scene):
        made, found = scene.outcomes["make"], scene.play(context.get.call(scene.workspace, "secret/a"))
        assert isinstance(made, PlaintextPresent) is isinstance(found, context.Stored)
        assert isinstance(scene.outcomes["write"], PlaintextRefused) is not isinstance(made, PlaintextPresent)

    seen = explore(
        setup=lambda _: None,
        actors={
            "make": lambda scene: private.make.call(scene.workspace, "context", "secret", readable, by=NOBODY),
            "write": lambda scene: context.put.call(scene.workspace, "secret/a", b"1", None),
        },
        always=check,
    )
    assert seen.interleavings >= 4
    assert seen.waits


def _never_both(explore, setup, write):
    """Whichever comes first: under a prefix that is private lies no file that can be read."""

    def check(scene):
        found = scene.play(context.get.call(scene.workspace, "secret/a"))
        assert isinstance(scene.outcomes["make"], PlaintextPresent) is isinstance(found, context.Stored)

    seen = explore(
        setup=setup,
        actors={
            "make": lambda scene: private.make.call(scene.workspace, "context", "secret", readable, by=NOBODY),
            "write": write,
        },
        always=check,
    )
    assert seen.interleavings >= 4
    return seen.waits


def _plant(stage):
    stage.play(context.put.call(stage.workspace, "open/a", b"1", None))


def test_a_move_racing_the_prefix(explore):
    assert _never_both(explore, _plant, lambda scene: context.move.call(scene.workspace, "open/a", "secret/a", 1))


def test_a_copy_by_reference_racing_the_prefix(explore):
    named = str(context.Reference("open/a", 1, hashlib.sha256(b"1").digest()))
    assert _never_both(
        explore, _plant, lambda scene: context.put_reference.call(scene.workspace, "secret/a", named, None)
    )


def test_an_upload_racing_the_prefix(explore):
    """Its pieces were kept before anybody thought of the prefix."""
    uploads_of = {}

    def plant(stage):
        fresh = new_id()
        stage.play(uploads.begin_upload.call(stage.workspace, "secret/a", None, 1, fresh, sealed=False))
        stage.play(uploads.keep.call(stage.workspace, fresh, 0, b"1"))
        uploads_of[stage.workspace] = fresh

    def write(scene):
        made = Upload(uploads_of[scene.workspace], 1, hashlib.sha256(b"1").digest(), None)
        return put_upload.call(scene.workspace, "secret/a", made, None)

    assert _never_both(explore, plant, write)
