"""locks under rivals: every interleaving, with the clock moving past the end of the grant."""

from __future__ import annotations

import pytest

from steadhold import locks, state
from steadhold.kit.fields import FenceRef
from steadhold.locks import plans
from steadhold.locks.model import Granted, Held, LockLost, Queued, Released
from steadhold.state.model import StaleFence, Written

pytestmark = pytest.mark.races

PAST = {"past its end": 31}
OLD = [FenceRef("lock:a", 1)]


def take(owner, operation=None, **more):
    return lambda scene: locks.acquire.call(scene.workspace, "a", owner, 30, operation, **more)


def held(stage):
    """Somebody holds the lock, under fence 1."""
    stage.play(take("old", "old")(stage))


def free(stage):
    """The lock was held, and is free."""
    held(stage)
    stage.play(locks.release.call(stage.workspace, "a", 1))


def granted(scene):
    return sorted((o.fence, name) for name, o in scene.outcomes.items() if isinstance(o, Granted) and not o.again)


def history(scene):
    found = scene.conn.execute(
        "select aggregate_revision, type from steadhold.events where workspace = %s and aggregate_id = 'lock:a'"
        " order by 1",
        [scene.workspace],
    ).fetchall()
    revisions = [revision for revision, _ in found]
    assert revisions == list(range(1, len(found) + 1)), "a revision is missing"
    types = [type for _, type in found]
    assert types[::2] == ["lock.granted"] * len(types[::2]), "a grant began before the one before it had ended"
    return types


@pytest.mark.parametrize(("setup", "fence"), [(lambda _: None, 1), (free, 2)])
def test_one_of_two_has_it(explore, setup, fence):
    def check(scene):
        assert [each[0] for each in granted(scene)] == [fence]
        assert sum(isinstance(o, Held) for o in scene.outcomes.values()) == 1
        history(scene)

    seen = explore(setup=setup, actors={"one": take("one", "p"), "two": take("two", "q")}, always=check)
    assert seen.interleavings >= 4
    assert seen.waits


RIVALS = {"two": take("two", "q"), "sweep": lambda scene: plans.expire.call(scene.workspace, 9)}


@pytest.mark.parametrize("rival", RIVALS)
def test_an_expired_lock_has_one_new_holder_and_its_end_is_written_once(explore, rival):
    def check(scene):
        fences = [each[0] for each in granted(scene)]
        assert fences in ([], [2])
        assert history(scene).count("lock.expired") == len(fences) or scene.outcomes.get("sweep")

    seen = explore(setup=held, actors={"one": take("one", "p"), rival: RIVALS[rival]}, always=check, clock_moves=PAST)
    assert {len(granted_of(outcomes)) for outcomes in seen.outcomes} == {0, 1}


def granted_of(outcomes):
    return [o for o in outcomes.values() if isinstance(o, Granted)]


def test_what_was_seen_before_the_last_grant_takes_nothing(explore):
    """A holder comes and goes in one transaction; its twin saw neither, waited for the row, and finds it free again."""

    def comes_and_goes(scene):
        taken = yield from locks.acquire.plan(scene.workspace, "a", "me", 30, "p")
        if isinstance(taken, Granted):
            yield from locks.release.plan(scene.workspace, "a", taken.fence)
        return taken

    def check(scene):
        assert len(granted(scene)) == 1
        assert granted(scene)[0][0] == 2
        history(scene)

    seen = explore(setup=free, actors={"first": comes_and_goes, "again": take("me", "p")}, always=check)
    assert seen.waits
    assert {type(o["again"]) for o in seen.outcomes} >= {Granted, LockLost}


def test_one_operation_asked_twice_is_one_grant(explore):
    """A request and its repetition, with the grant ended and taken over by others in between."""

    first = []

    def history_of_first(scene):
        return [
            take("me", "p", request="1")(scene),
            lambda outcome: first.append(outcome) or locks.release.call(scene.workspace, "a", 1),
            lambda _: locks.acquire.call(scene.workspace, "a", "other", 30, "q"),
            lambda outcome: locks.release.call(scene.workspace, "a", getattr(outcome, "fence", 9)),
        ]

    def check(scene):
        again = scene.outcomes["again"]
        mine = [o for o in (first.pop(), again) if isinstance(o, Granted)]
        assert len({o.fence for o in mine}) <= 1
        assert sum(not o.again for o in mine) == 1
        history(scene)

    seen = explore(
        setup=lambda _: None,
        actors={"first": history_of_first, "again": take("me", "p", request="2")},
        always=check,
    )
    assert seen.interleavings >= 10
    assert any(isinstance(o["again"], LockLost) for o in seen.outcomes)


def test_no_write_under_an_old_fence_commits_after_its_successors_first(explore):
    """Whoever took over has written: from then on nobody writes under the fence before."""

    def successor(scene):
        def write(outcome):
            if not isinstance(outcome, Granted):
                return locks.get.call(scene.workspace, "a")
            mine = [FenceRef("lock:a", outcome.fence)]
            return state.put.call(scene.workspace, "new", b"1", None, mine)

        return [take("new", "p")(scene), write]

    def check(scene):
        committed = [line.who for line in scene.trace if line.step.lower() == "commit"]
        old, new = scene.outcomes["old"], scene.outcomes["new"]
        assert isinstance(old, Written | StaleFence)
        if isinstance(old, Written) and isinstance(new, Written):
            assert committed.index("old") < len(committed) - 1 - committed[::-1].index("new")
        history(scene)

    seen = explore(
        setup=held,
        actors={"old": lambda scene: state.put.call(scene.workspace, "n", b"1", None, OLD), "new": successor},
        always=check,
        clock_moves=PAST,
    )
    assert seen.waits
    kinds = {(type(o["old"]).__name__, type(o["new"]).__name__) for o in seen.outcomes}
    assert kinds >= {("Written", "Written"), ("StaleFence", "Written"), ("Written", "Lock")}


def test_a_renewal_and_a_takeover_do_not_both_hold(explore):
    def check(scene):
        renewed, taken = scene.outcomes["old"], scene.outcomes["new"]
        assert not (isinstance(renewed, locks.Renewed) and isinstance(taken, Granted)), "two hold it"
        history(scene)

    seen = explore(
        setup=held,
        actors={"old": lambda scene: locks.renew.call(scene.workspace, "a", 1, 60), "new": take("new", "p")},
        always=check,
        clock_moves=PAST,
    )
    assert {type(o["new"]) for o in seen.outcomes} == {Held, Granted}


def test_released_and_swept_it_ends_once(explore):
    def check(scene):
        assert history(scene)[1:] in ([], ["lock.released"], ["lock.expired"])
        if isinstance(scene.outcomes["holder"], Released):
            assert history(scene)[1:] == ["lock.released"]

    seen = explore(
        setup=held,
        actors={
            "holder": lambda scene: locks.release.call(scene.workspace, "a", 1),
            "sweep": lambda scene: plans.expire.call(scene.workspace, 9),
        },
        always=check,
        clock_moves=PAST,
    )
    assert {type(o["holder"]) for o in seen.outcomes} == {Released, LockLost}


def test_who_is_told_keeps_it(explore):
    """The first request's client has gone, and another asks under its key: what it is told of stays."""

    def setup(stage):
        stage.play(take("me", "p", request="1", waits=True)(stage))

    def check(scene):
        now = scene.play(locks.get.call(scene.workspace, "a"))
        assert now.held == isinstance(scene.outcomes["again"], Granted)

    seen = explore(
        setup=setup,
        actors={
            "undo": lambda scene: plans.give_back.call(scene.workspace, "a", "p", "1", 1),
            "again": take("me", "p", request="2", waits=True),
        },
        always=check,
    )
    assert {type(o["again"]) for o in seen.outcomes} == {Granted, LockLost}


def test_the_first_in_line_has_it(explore):
    """A release, the first in line and the second: whoever is granted, it is never the second."""

    def setup(stage):
        held(stage)
        for operation in ("p", "q"):
            stage.play(take(operation, operation, request=operation, waits=True)(stage))

    def check(scene):
        assert not isinstance(scene.outcomes["second"], Granted)
        assert isinstance(scene.outcomes["first"], Granted | Queued)

    seen = explore(
        setup=setup,
        actors={
            "holder": lambda scene: locks.release.call(scene.workspace, "a", 1),
            "first": take("p", "p", request="p", waits=True),
            "second": take("q", "q", request="q", waits=True),
        },
        always=check,
    )
    assert {type(o["first"]) for o in seen.outcomes} == {Granted, Queued}
