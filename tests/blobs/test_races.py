"""Every interleaving of those who pin, unpin and prune the same bytes."""

from __future__ import annotations

import pytest

from steadhold import blobs
from steadhold.blobs import NoBytes, digest_of
from tests.blobs.verbs import adopt, keep, pin, put, unpin

pytestmark = pytest.mark.races

DIGEST = digest_of(b"x")


def useless(stage):
    stage.play(put.call(stage.workspace, "old", [b"x"]))
    stage.play(unpin.call(stage.workspace, "old"))


def shared(stage):
    stage.play(put.call(stage.workspace, "old", [b"x"]))
    stage.play(pin.call(stage.workspace, "new", [DIGEST]))
    stage.play(unpin.call(stage.workspace, "old"))


def prune(scene):
    return blobs.prune.call(scene.workspace, 10)


def there(scene):
    return scene.play(blobs.read.call(scene.workspace, DIGEST)) == b"x"


def test_a_pin_and_a_prune_cannot_miss_each_other(explore):
    def pinned_or_gone(scene):
        assert there(scene) == (scene.outcomes["pin"] is None)
        assert scene.play(unpin.call(scene.workspace, "new")) == (scene.outcomes["pin"] is None)

    seen = explore(
        setup=useless,
        actors={"pin": lambda scene: pin.call(scene.workspace, "new", [DIGEST]), "prune": prune},
        always=pinned_or_gone,
    )
    assert seen.waits
    assert next(o["pin"] for o in seen.outcomes if o["pin"]) == NoBytes(DIGEST)
    assert any(o["pin"] is None for o in seen.outcomes)


def test_bytes_that_are_put_while_they_are_pruned_are_there(explore):
    seen = explore(
        setup=useless,
        actors={"put": lambda scene: put.call(scene.workspace, "new", [b"x"]), "prune": prune},
        always=there,
    )
    assert seen.waits


def test_the_last_pin_to_go_is_noticed_however_late(explore):
    """A prune that just saw that very pin must not forget the bytes for ever."""

    def gone_in_the_end(scene):
        scene.play(prune(scene))
        assert not there(scene)

    seen = explore(
        setup=shared,
        actors={"unpin": lambda scene: unpin.call(scene.workspace, "new"), "prune": prune},
        always=gone_in_the_end,
    )
    assert seen.interleavings >= 8


def test_two_prunes_share_the_work(explore):
    def once(scene):
        assert not there(scene)
        assert sum(scene.outcomes.values()) == 1

    explore(setup=useless, actors={"one": prune, "two": prune}, always=once)


def coming(stage):
    for upload in ("one", "two"):
        stage.play(keep.call(stage.workspace, upload, 0, b"x"))


def writes(upload):
    return lambda scene: adopt.call(scene.workspace, upload, upload, DIGEST)


@pytest.mark.parametrize("rival", [writes("two"), lambda scene: put.call(scene.workspace, "two", [b"x"])])
def test_the_same_bytes_may_come_twice_at_once(explore, rival):
    def both(scene):
        assert there(scene)
        assert scene.play(unpin.call(scene.workspace, "one")) == scene.play(unpin.call(scene.workspace, "two")) == 1

    seen = explore(setup=coming, actors={"one": writes("one"), "two": rival}, always=both)
    assert seen.waits


def test_an_upload_that_is_adopted_while_its_digest_is_pruned_is_there(explore):
    def plant(stage):
        useless(stage)
        coming(stage)

    seen = explore(setup=plant, actors={"one": writes("one"), "prune": prune}, always=there)
    assert seen.waits
