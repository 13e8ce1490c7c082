"""Every interleaving of those who rely on a grant and those who end it, with the clock moving past its end."""

from __future__ import annotations

import pytest

from steadhold import fences
from steadhold.fences import Granted, Held, Released, Renewal, Renewed, Wanted
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call
from tests.fences.verbs import LOCK, REF, grant, release

pytestmark = pytest.mark.races

PAST = {"past its end": 61}


def held(stage):
    stage.play(grant.call(stage.workspace, [Wanted(LOCK, "old", 60)]))


def expired(stage):
    """A grant that the clock has ended, but that nobody has taken over or swept."""
    held(stage)
    stage.conn.execute(
        "update steadhold.grants set until = until - interval '61 s', check_at = check_at - interval '61 s'"
    )


def rely(scene):
    """Rely on the old grant, and look at it once more before the commit."""
    stale = yield from fences.require(scene.workspace, [REF])
    after = yield from fences.look(scene.workspace, LOCK)
    return stale, after


def take(scene):
    (answer,) = yield from fences.grant(scene.workspace, [Wanted(LOCK, "new", 60)])
    return answer


def sweep(scene):
    refs = yield from fences.lapsed(scene.workspace, "lock", 10)
    yield from fences.end(scene.workspace, refs, released=False)
    return refs


def settle(scene):
    stale = yield from fences.own(scene.workspace, [REF])
    if stale is None:
        yield from fences.end(scene.workspace, [REF])
    return stale


def renew(scene):
    (answer,) = yield from fences.renew(scene.workspace, [Renewal(LOCK, 1, 120)])
    return answer


def relied_on_only_while_it_stood(scene):
    stale, after = scene.outcomes["writer"]
    if stale is None:
        assert after.fence == 1, "the grant was taken over under a write that relied on it"
        assert not after.released, "the grant was ended under a write that relied on it"
        assert after.until is not None, "the grant was swept under a write that relied on it"


def test_nobody_takes_over_what_a_write_relies_on(explore):
    seen = explore(
        setup=held, actors={"writer": rely, "taker": take}, always=relied_on_only_while_it_stood, clock_moves=PAST
    )
    assert seen.waits
    assert {(o["writer"][0] is None, type(o["taker"])) for o in seen.outcomes} >= {
        *((True, Held), (True, Granted), (False, Granted)),
    }


def test_nobody_settles_what_a_write_relies_on(explore):
    seen = explore(
        setup=held, actors={"writer": rely, "settler": settle}, always=relied_on_only_while_it_stood, clock_moves=PAST
    )
    assert seen.waits
    assert {o["writer"][0] is None for o in seen.outcomes} == {True, False}


def test_nobody_releases_what_a_write_relies_on(explore):
    seen = explore(
        setup=held,
        actors={"writer": rely, "holder": lambda scene: release.call(scene.workspace, [REF])},
        always=relied_on_only_while_it_stood,
    )
    assert seen.waits


def test_nobody_sweeps_what_a_write_relies_on(explore):
    seen = explore(
        setup=held, actors={"writer": rely, "sweep": sweep}, always=relied_on_only_while_it_stood, clock_moves=PAST
    )
    assert {bool(o["sweep"]) for o in seen.outcomes} == {True, False}


def test_renewals_pass_those_who_rely_on_the_grant(explore):
    seen = explore(setup=held, actors={"writer": rely, "holder": renew}, always=relied_on_only_while_it_stood)
    assert seen.waits == 0
    assert all(isinstance(o["holder"], Renewed) for o in seen.outcomes)


def test_a_free_subject_has_one_new_holder(explore):
    def one(scene):
        taken = [o for o in scene.outcomes.values() if isinstance(o, Granted)]
        assert len(taken) == 1
        assert taken[0].fence == scene.facts

    def other(scene):
        (answer,) = yield from fences.grant(scene.workspace, [Wanted(LOCK, "other", 60)])
        return answer

    for setup, fence in ((lambda stage: 1, 1), (lambda stage: expired(stage) or 2, 2)):
        seen = explore(setup=setup, actors={"new": take, "other": other}, always=one)
        assert seen.waits, fence


def test_a_try_for_what_is_held_keeps_nobody_waiting(explore):
    seen = explore(setup=held, actors={"holder": renew, "taker": take}, always=lambda _: None)
    assert seen.waits == 0
    assert {type(o["taker"]) for o in seen.outcomes} == {Held}


@pytest.mark.parametrize("end", [take, sweep])
def test_what_was_renewed_in_time_is_neither_taken_nor_swept(explore, end):
    def disjoint(scene):
        ended = scene.outcomes["other"]
        assert not (isinstance(scene.outcomes["holder"], Renewed) and (isinstance(ended, Granted) or ended == [REF]))

    seen = explore(setup=held, actors={"holder": renew, "other": end}, always=disjoint, clock_moves=PAST)
    assert {type(o["holder"]) for o in seen.outcomes} == {Renewed, StaleFence}


def test_a_new_holder_has_the_whole_length_from_its_grant(explore):
    """It may have waited for somebody who took the subject and then rolled back."""

    def give_up(scene):
        yield from fences.grant(scene.workspace, [Wanted(LOCK, "gone", 60)])
        yield from fences.look(scene.workspace, LOCK)
        raise ConnectionError

    def take_and_read_the_clock(scene):
        (answer,) = yield from fences.grant(scene.workspace, [Wanted(LOCK, "new", 60)])
        return answer, (yield from fences.look(scene.workspace, LOCK))

    def whole(scene):
        answer, row = scene.outcomes["new"]
        steps = [line.who if line.who == "later" else line.step for line in scene.trace if line.who in ("new", "later")]
        moved_after = "later" in steps and "fences.grant" not in steps[steps.index("later") :]
        assert row.until == answer.until
        assert (answer.until - row.server_time).total_seconds() > (29 if moved_after else 59)

    seen = explore(
        setup=lambda stage: None,
        actors={"gone": give_up, "new": take_and_read_the_clock},
        always=whole,
        clock_moves={"later": 30},
        raises=(ConnectionError,),
    )
    assert seen.waits


def test_a_release_and_its_repeat_end_the_grant_once(explore):
    def once(scene):
        assert sorted(scene.outcomes.values(), key=lambda o: o.again) == [
            *(Released(LOCK, again=False), Released(LOCK, again=True)),
        ]

    def end(scene):
        def plan():
            return (yield from fences.release(scene.workspace, [REF]))[0]

        return Call(plan, scene.workspace, "release")

    assert explore(setup=held, actors={"one": end, "two": end}, always=once).waits


def test_two_sweeps_share_the_work(explore):
    def once(scene):
        assert scene.outcomes["one"] + scene.outcomes["two"] == [REF]

    assert explore(setup=expired, actors={"one": sweep, "two": sweep}, always=once).interleavings >= 8
