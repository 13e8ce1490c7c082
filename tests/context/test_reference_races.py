"""context: one owner that comes to rely on bytes, and lets go of them, in two places at once."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import context
from steadhold.context.model import Reference

pytestmark = pytest.mark.races

NAMED = str(Reference("n", 1, hashlib.sha256(b"1").digest()))


def put(path, body, expected=None):
    return lambda scene: context.put.call(scene.workspace, path, body, expected)


def test_an_owner_lets_go_of_one_of_two_references_to_the_same_bytes(explore):
    """While it comes to rely on the other: that one is pinned, and nothing is left of the first."""
    other = str(Reference("m", 1, hashlib.sha256(b"1").digest()))

    def plant(stage):
        for path in ("n", "m"):
            stage.play(put(path, b"1")(stage))
        stage.play(context.pin.call(stage.workspace, "order:1", [NAMED]))

    def check(scene):
        asked = "select count(*) from steadhold.pins where workspace = %s and owner like 'reference:%%'"
        assert scene.conn.execute(asked, [scene.workspace]).fetchone() == (1,)
        assert scene.play(context.unpin.call(scene.workspace, "order:1")) == 1
        assert scene.conn.execute(asked, [scene.workspace]).fetchone() == (0,)

    explore(
        setup=plant,
        actors={
            "pin": lambda scene: context.pin.call(scene.workspace, "order:1", [other]),
            "unpin": lambda scene: context.unpin.call(scene.workspace, "order:1", NAMED),
        },
        always=check,
    )


def test_an_owner_relies_on_a_reference_anew_while_it_is_let_go(explore):
    def check(scene):
        pinned = "select count(*) from steadhold.pins where workspace = %s and owner like 'reference:%%'"
        noted = "select count(*) from steadhold.context_pins where workspace = %s"
        assert (
            scene.conn.execute(pinned, [scene.workspace]).fetchone()
            == scene.conn.execute(noted, [scene.workspace]).fetchone()
        )

    def plant(stage):
        stage.play(put("n", b"1")(stage))
        stage.play(context.pin.call(stage.workspace, "order:1", [NAMED]))

    seen = explore(
        setup=plant,
        actors={
            "pin": lambda scene: context.pin.call(scene.workspace, "order:1", [NAMED]),
            "unpin": lambda scene: context.unpin.call(scene.workspace, "order:1", NAMED),
        },
        always=check,
    )
    assert seen.waits
