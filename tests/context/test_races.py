"""context under rivals: every interleaving of those who write, pin, prune, bring and sweep the same bytes."""

from __future__ import annotations

import hashlib

import pytest

from steadhold import access, blobs, context
from steadhold.access import StorageExhausted
from steadhold.context import plans, uploads
from steadhold.context.model import (
    Content,
    Kept,
    Missing,
    Moved,
    Pruned,
    Reference,
    Reserved,
    RevisionConflict,
    Upload,
    UploadLapsed,
    Written,
)
from steadhold.context.writing import New
from steadhold.context.writing import write as write_under
from steadhold.kit.ids import new_id
from steadhold.kit.plan import operation

pytestmark = pytest.mark.races

NAMED = str(Reference("n", 1, hashlib.sha256(b"1").digest()))


def put(path, body, expected=None):
    return lambda scene: context.put.call(scene.workspace, path, body, expected)


def won(scene, kind=Written):
    return [outcome for outcome in scene.outcomes.values() if isinstance(outcome, kind)]


def test_two_creators_have_one_winner(explore):
    def check(scene):
        assert len(won(scene)) == 1
        assert [o for o in scene.outcomes.values() if o not in won(scene)] == [RevisionConflict(1)]

    seen = explore(setup=lambda _: None, actors={"one": put("n", b"1"), "two": put("n", b"2")}, always=check)
    assert seen.waits


def test_a_writer_and_a_deleter_have_one_winner(explore):
    def check(scene):
        (written,) = won(scene)
        assert written.revision == 2
        lost = Missing(2) if scene.outcomes["delete"] == written else RevisionConflict(2)
        assert [o for o in scene.outcomes.values() if o is not written] == [lost]

    explore(
        setup=lambda stage: stage.play(put("n", b"1")(stage)),
        actors={
            "put": put("n", b"2", 1),
            "delete": lambda scene: context.delete.call(scene.workspace, "n", 1),
        },
        always=check,
    )


def test_two_moves_to_one_path_have_one_winner(explore):
    def plant(stage):
        stage.play(put("a", b"a")(stage))
        stage.play(put("b", b"b")(stage))

    def check(scene):
        assert len(won(scene, Moved)) == 1

    seen = explore(
        setup=plant,
        actors={path: lambda scene, path=path: context.move.call(scene.workspace, path, "c", 1) for path in ("a", "b")},
        always=check,
    )
    assert seen.waits


def test_moves_against_each_other_do_not_wait_in_a_circle(explore):
    def plant(stage):
        stage.play(put("a", b"a")(stage))
        stage.play(put("b", b"b")(stage))
        stage.play(context.delete.call(stage.workspace, "b", 1))

    def check(scene):
        assert isinstance(scene.outcomes["there"], Moved)
        assert isinstance(scene.outcomes["back"], Moved | Missing | RevisionConflict)

    explore(
        setup=plant,
        actors={
            "there": lambda scene: context.move.call(scene.workspace, "a", "b", 1),
            "back": lambda scene: context.move.call(scene.workspace, "b", "a", None),
        },
        always=check,
    )


def aged(stage):
    """A revision that is the next to go."""
    stage.play(put("n", b"1")(stage))
    for revision in range(1, 10):
        stage.play(put("n", b"x%d" % revision, revision)(stage))


@operation
def outdate(workspace):
    """Write once more, so that the oldest revision goes: as far as that is about what goes."""
    won = yield from write_under(workspace, "n", 10, New(0, hashlib.sha256(b"").digest(), ""))
    yield from blobs.unpin_each(workspace, won.spent)


def test_a_pin_and_a_prune_cannot_miss_each_other(explore):
    """Whoever was told that a reference is pinned finds its bytes, whatever was pruned meanwhile."""

    def check(scene):
        scene.play(blobs.prune.call(scene.workspace, 10))
        found = scene.play(context.resolve.call(scene.workspace, NAMED))
        if scene.outcomes["pin"] is None:
            assert isinstance(found, Content)
            assert found.body == b"1"
        else:
            assert scene.outcomes["pin"] == found == Pruned(None)

    seen = explore(
        setup=aged,
        actors={
            "pin": lambda scene: context.pin.call(scene.workspace, "job:1", [NAMED]),
            "prune": lambda scene: [outdate.call(scene.workspace), blobs.prune.call(scene.workspace, 10)],
        },
        always=check,
    )
    assert {outcome["pin"] for outcome in seen.outcomes} == {None, Pruned(None)}


def test_the_last_of_a_quota_is_used_once(explore):
    def plant(stage):
        limits, by = access.Entitlements(bytes_max=10), access.Actor("operator", None)
        stage.play(access.put_entitlements.call(stage.workspace, limits, None, by=by))
        stage.play(put("old", b"123")(stage))

    def check(scene):
        assert len(won(scene, Written | Reserved)) == 1
        assert len(won(scene, StorageExhausted)) == 1
        usage = scene.play(context.usage.call(scene.workspace))
        assert usage.bytes + usage.reserved == 9

    seen = explore(
        setup=plant,
        actors={
            "one": put("one", b"123456"),
            "two": lambda scene: uploads.begin_upload.call(scene.workspace, "two", None, 6, new_id()),
        },
        always=check,
    )
    assert seen.waits


def begun(stage, path="n", *, lapsed=False):
    """An upload whose one piece is there."""
    upload = stage.play(uploads.begin_upload.call(stage.workspace, path, None, 1, new_id())).upload
    stage.play(uploads.keep.call(stage.workspace, upload, 0, b"1"))
    if lapsed:
        stage.conn.execute(
            "update steadhold.context_uploads set until = steadhold.clock() - interval '1 second' where workspace = %s",
            [stage.workspace],
        )
    return upload


def write(scene, upload, path="n"):
    return plans.put_upload.call(scene.workspace, path, Upload(upload, 1, hashlib.sha256(b"1").digest()), None)


@pytest.mark.parametrize("rival", ["sweep", "release"])
def test_an_upload_is_written_or_given_up(explore, rival):
    """Never both, and never a part of it; nothing of its quota is left either way."""

    def check(scene):
        outcome = scene.outcomes["write"]
        found = scene.play(context.get.call(scene.workspace, "n"))
        if isinstance(outcome, Written):
            assert found.content.body == b"1"
        else:
            assert (outcome, found) == (UploadLapsed(), Missing(None))
        scene.play(uploads.sweep.call(scene.workspace, 10))
        assert scene.play(context.usage.call(scene.workspace)).reserved == 0

    def end(scene):
        if rival == "sweep":
            return uploads.sweep.call(scene.workspace, 10)
        return uploads.release.call(scene.workspace, scene.facts)

    seen = explore(
        setup=lambda stage: begun(stage, lapsed=rival == "sweep"),
        actors={"write": lambda scene: write(scene, scene.facts), rival: end},
        always=check,
    )
    assert len({type(outcome["write"]) for outcome in seen.outcomes}) == 2


def test_more_bytes_and_a_sweep_cannot_miss_each_other(explore):
    def check(scene):
        kept = scene.play(uploads.release.call(scene.workspace, scene.facts))
        assert kept == (scene.outcomes["more"] == Kept(1))
        assert scene.outcomes["more"] in (Kept(1), UploadLapsed())

    explore(
        setup=lambda stage: begun(stage, lapsed=True),
        actors={
            "more": lambda scene: uploads.keep.call(scene.workspace, scene.facts, 1, b"1"),
            "sweep": lambda scene: uploads.sweep.call(scene.workspace, 10),
        },
        always=check,
    )


def test_a_reference_that_is_copied_and_a_prune_cannot_miss_each_other(explore):
    def check(scene):
        copied = scene.outcomes["copy"]
        scene.play(blobs.prune.call(scene.workspace, 10))
        if isinstance(copied, Written):
            assert scene.play(context.get.call(scene.workspace, "copy")).content.body == b"1"
        else:
            assert copied == Pruned(None)

    seen = explore(
        setup=aged,
        actors={
            "copy": lambda scene: context.put_reference.call(scene.workspace, "copy", NAMED, None),
            "prune": lambda scene: outdate.call(scene.workspace),
        },
        always=check,
    )
    assert len({type(outcome["copy"]) for outcome in seen.outcomes}) == 2


def test_a_path_that_is_purged_while_it_is_made_anew_keeps_its_numbers(explore):
    """Whoever waited for the purge knows the floor that it raised, so no number is issued twice."""

    def plant(stage):
        stage.play(put("n", b"1")(stage))
        stage.play(put("n", b"2", 1)(stage))
        stage.play(context.delete.call(stage.workspace, "n", 2))

    seen = explore(
        setup=plant,
        actors={
            "put": put("n", b"3"),
            "purge": lambda scene: plans.bury.call(scene.workspace, -5.0, 10),
        },
        always=lambda scene: scene.outcomes["put"].revision == 4,
    )
    assert seen.waits
