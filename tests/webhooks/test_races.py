"""Webhooks under rivals: every interleaving of two, at the boundaries of their statements."""

from __future__ import annotations

import uuid

import pytest

from steadhold.webhooks import delivering, plans, replaying, sweeping
from steadhold.webhooks.model import Batch, Cancelled, Result, Spec
from steadhold.webhooks.outcomes import Ended
from tests.webhooks.house import BY, URL, event, fan_out

pytestmark = pytest.mark.races


def made(count=1, **spec):
    """An endpoint that is enabled, with deliveries; its id, and the fence of a sender that has it."""

    def setup(stage):
        id = str(uuid.uuid4())
        stage.play(plans.create.call(stage.workspace, id, Spec(URL, ("*",), **spec), ((b"sealed", None),), by=BY))
        stage.play(plans.enable.call(stage.workspace, id, by=BY))
        stage.play(fan_out.call(stage.workspace, [event(revision=n) for n in range(1, count + 1)]))
        return id, stage.play(delivering.lease.call(stage.workspace, id, "one"))

    return setup


def begins(scene):
    id, fence = scene.facts
    return delivering.begin.call(scene.workspace, id, fence, 10)


def disables(scene):
    return plans.disable.call(scene.workspace, scene.facts[0], by=BY)


def rows(scene, columns="id::text, state, attempts, next_at"):
    return scene.conn.execute(
        f"select {columns} from steadhold.deliveries where workspace = %s order by place, id", (scene.workspace,)
    ).fetchall()


def sent(outcome):
    return [s.delivery for s in outcome.sendings] if isinstance(outcome, Batch) else []


def first(scene):
    return rows(scene, "id::text")[0][0]


def stands_still(scene):
    """Lanes of which the first is neither blocked, nor to be tried, nor being tried."""
    return scene.conn.execute(
        "select d.lane from steadhold.deliveries d join steadhold.webhooks k using (workspace)"
        " where workspace = %s and k.id = d.webhook and k.enabled and d.lane is not null and d.state = 0"
        " and d.next_at is null and not exists (select from steadhold.deliveries f where f.workspace = d.workspace"
        "   and f.webhook = d.webhook and f.lane = d.lane and f.state in (0, 5) and (f.place, f.id) < (d.place, d.id))"
        " and not exists (select from steadhold.attempts a where a.workspace = d.workspace and a.delivery = d.id"
        "   and a.n = d.attempts and a.state = 0)",
        (scene.workspace,),
    ).fetchall()


def test_nothing_may_be_sent_once_disable_was_answered(explore):
    def check(scene):
        id, fence = scene.facts
        assert scene.play(delivering.still.call(scene.workspace, id, fence, URL)) == set()
        begun = sent(scene.outcomes["sender"])
        assert [attempts for _, _, attempts, _ in rows(scene)] == [len(begun)]

    seen = explore(setup=made(), actors={"sender": begins, "operator": disables}, always=check)
    assert {len(sent(outcomes["sender"])) for outcomes in seen.outcomes} == {0, 1}
    assert seen.waits


def test_a_look_between_disable_and_its_answer_finds_what_is_committed(explore):
    """Of one that has begun: a look after the answer says no, whatever one before said."""

    def setup(stage):
        id, fence = made()(stage)
        stage.play(delivering.begin.call(stage.workspace, id, fence, 10))
        return id, fence

    def looks(scene):
        id, fence = scene.facts
        return delivering.still.call(scene.workspace, id, fence, URL)

    def check(scene):
        assert scene.play(looks(scene)) == set()

    seen = explore(setup=setup, actors={"sender": looks, "operator": disables}, always=check)
    assert {len(outcomes["sender"]) for outcomes in seen.outcomes} == {0, 1}


def test_what_is_cancelled_without_doubt_was_never_begun(explore):
    def cancels(scene):
        return replaying.cancel.call(scene.workspace, first(scene))

    def check(scene):
        begun, cancelled = sent(scene.outcomes["sender"]), scene.outcomes["operator"]
        assert isinstance(cancelled, Cancelled)
        assert cancelled.unknown == bool(begun)
        id, fence = scene.facts
        assert scene.play(delivering.still.call(scene.workspace, id, fence, URL)) == set()

    seen = explore(setup=made(), actors={"sender": begins, "operator": cancels}, always=check)
    assert {outcomes["operator"].unknown for outcomes in seen.outcomes} == {False, True}


@pytest.mark.parametrize("state", ["delivered", "refused"])
def test_an_answer_and_a_cancel_agree(explore, state):
    def setup(stage):
        id, fence = made(2, ordered=True, retry_seconds=(0.0,))(stage)
        (begun,) = stage.play(delivering.begin.call(stage.workspace, id, fence, 10)).sendings
        return id, fence, begun

    def settles(scene):
        id, _, begun = scene.facts
        return delivering.settle.call(scene.workspace, id, [Result(begun.delivery, 1, state)])

    def cancels(scene):
        return replaying.cancel.call(scene.workspace, scene.facts[2].delivery)

    def check(scene):
        cancelled = scene.outcomes["operator"]
        ended = 1 if state == "delivered" else 2
        if isinstance(cancelled, Cancelled):
            assert (cancelled.unknown, rows(scene)[0][1]) == (True, 3)
        else:
            assert isinstance(cancelled, Ended)
            assert rows(scene)[0][1] == ended
        assert stands_still(scene) == []

    seen = explore(setup=setup, actors={"sender": settles, "operator": cancels}, always=check)
    assert {type(outcomes["operator"]) for outcomes in seen.outcomes} == {Cancelled, Ended}


@pytest.mark.parametrize("state", ["delivered", "refused"])
def test_a_lane_goes_on_however_its_next_event_comes(explore, state):
    """The last of a lane ends while the next is being written: one of both lets it be tried."""

    def setup(stage):
        id, fence = made(1, ordered=True, retry_seconds=(0.0,))(stage)
        (begun,) = stage.play(delivering.begin.call(stage.workspace, id, fence, 10)).sendings
        return id, fence, begun

    def settles(scene):
        id, _, begun = scene.facts
        return delivering.settle.call(scene.workspace, id, [Result(begun.delivery, 1, state)])

    def relays(scene):
        return fan_out.call(scene.workspace, [event(revision=2)])

    def check(scene):
        assert stands_still(scene) == []
        assert rows(scene)[1][3] is not None

    seen = explore(setup=setup, actors={"sender": settles, "relay": relays}, always=check)
    assert seen.waits


def test_a_lane_goes_on_however_enable_meets_the_sweep(explore):
    def setup(stage):
        id, fence = made(3, ordered=True)(stage)
        stage.play(plans.disable.call(stage.workspace, id, by=BY))
        return id, fence

    def enables(scene):
        return plans.enable.call(scene.workspace, scene.facts[0], by=BY)

    def check(scene):
        assert stands_still(scene) == []

    seen = explore(
        setup=setup, actors={"operator": enables, "sweep": lambda s: replaying.skip.call(s.workspace, 2)}, always=check
    )
    assert {outcomes["sweep"] for outcomes in seen.outcomes} >= {0, 2}


def test_of_two_that_send_again_what_blocks_one_takes_its_place(explore):
    def setup(stage):
        id, fence = made(2, ordered=True, blocks=True, retry_seconds=(0.0,))(stage)
        (begun,) = stage.play(delivering.begin.call(stage.workspace, id, fence, 10)).sendings
        stage.play(delivering.settle.call(stage.workspace, id, [Result(begun.delivery, 1, "refused")]))
        return id, fence, begun.delivery, [str(uuid.uuid4()) for _ in range(2)]

    def resends(n):
        return lambda scene: replaying.replay.call(scene.workspace, scene.facts[2], scene.facts[3][n])

    def check(scene):
        found = rows(scene, "lane, kind, state, next_at")
        assert sum(kind == 1 and lane is not None for lane, kind, _, _ in found) == 1
        assert sum(lane is not None and next_at is not None for lane, _, _, next_at in found) == 1
        assert stands_still(scene) == []

    seen = explore(setup=setup, actors={"one": resends(0), "two": resends(1)}, always=check)
    assert seen.waits


def test_what_is_given_up_was_not_begun(explore):
    def gives_up(scene):
        return sweeping.give_up.call(scene.workspace, 10, kept_seconds=-1.0)

    def check(scene):
        begun = sent(scene.outcomes["sender"])
        assert [state for _, state, _, _ in rows(scene)] == ([0] if begun else [2])

    seen = explore(setup=made(), actors={"sender": begins, "sweep": gives_up}, always=check)
    assert {len(sent(outcomes["sender"])) for outcomes in seen.outcomes} == {0, 1}


def test_a_replay_of_many_and_a_purge_agree_on_what_is_left(explore):
    """A replay goes on while bodies are removed: each delivery that it places has the bytes it needs."""

    def setup(stage):
        id, fence = made(3)(stage)
        begun = stage.play(delivering.begin.call(stage.workspace, id, fence, 10)).sendings
        stage.play(delivering.settle.call(stage.workspace, id, [Result(b.delivery, 1, "delivered") for b in begun]))
        at = stage.play(plans.get.call(stage.workspace, id)).endpoint.made_at
        stage.play(replaying.replay_many.call(stage.workspace, id, str(uuid.uuid4()), at, "all"))
        return id, fence

    def replays(scene):
        return replaying.replay_on.call(scene.workspace, 10)

    def purges(scene):
        return replaying.purge.call(scene.workspace, 10, kept_seconds=-4_000.0)

    def check(scene):
        missing = scene.conn.execute(
            "select count(*) from steadhold.deliveries d where d.workspace = %s and not exists (select from"
            " steadhold.webhook_bodies b where b.workspace = d.workspace and b.event_id = d.event_id)",
            (scene.workspace,),
        ).fetchone()[0]
        assert missing == 0

    seen = explore(setup=setup, actors={"replay": replays, "sweep": purges}, always=check)
    assert {outcomes["replay"] for outcomes in seen.outcomes} == {3}
