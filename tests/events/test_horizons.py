"""What is not kept any more is told, to whoever replays and to whoever reads, and never taken for nothing."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from steadhold import events
from steadhold.events import EventsPruned, Happened, History, Spec, flow, subscribing
from steadhold.fences import Wanted
from steadhold.jobs import Submission, submit
from steadhold.kit.outcome import Missing
from tests.events.verbs import forget, grant, record

LONG_AGO, EVER = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
DAY = 86_400
JOB = f"job:{uuid.UUID(int=7)}"


async def pruned(stream, clock):
    """Let what happened so far go; answers the moment of the last of it."""
    at = clock.now()
    clock.move(4 * DAY)
    assert await stream(events.purge, 100) > 0
    return at


async def replay(stream, id, first):
    return await stream(events.replay, id, first, EVER, ("", 0), 100)


async def test_a_replay_is_refused_where_something_of_it_was_removed(stream, clock):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    await stream.publish()
    await pruned(stream, clock)
    await stream.happen("b")
    told = await replay(stream, "s", LONG_AGO)
    assert isinstance(told, flow.ReplayPruned)
    await stream.match()
    assert await replay(stream, "s", told.first_retained_at - timedelta(microseconds=1)) == told
    assert await replay(stream, "s", told.first_retained_at) == flow.Replayed(1)


async def test_who_wants_no_jobs_misses_none(stream, clock):
    await stream.subscribe("jobs", aggregates=("job:*",))
    await stream(events.subscribe, "orders", Spec(("order.*",), "sink:x"), None)
    await stream.player.play(record.call(stream.workspace, [(JOB, 1, Happened("job.accepted"))]))
    await stream.happen("a")
    await stream.match()
    await stream.publish()
    assert await stream.player.play(forget.call(stream.workspace, [JOB])) == 1
    assert isinstance(await replay(stream, "jobs", LONG_AGO), flow.ReplayPruned)
    assert isinstance(await replay(stream, "orders", LONG_AGO), flow.Replayed)
    await pruned(stream, clock)
    assert isinstance(await replay(stream, "orders", LONG_AGO), flow.ReplayPruned)


@pytest.mark.parametrize("types, aggregates, wants", [
    (("*",), (), (True, True)), (("order.*",), (), (False, True)), (("job.failed",), (), (True, True)),
    (("jo*d",), ("job:*",), (True, False)), (("*",), ("order-*",), (False, True)), (("*",), ("j*",), (True, True)),
    (("*",), ("job:1", "x"), (True, True)), (("jobs.*",), ("*",), (False, True)),
])  # fmt: skip
def test_what_a_subscription_may_want_is_told_from_its_globs(types, aggregates, wants):
    spec = Spec(types, "inbox:x", aggregates)
    assert (flow.may_want(spec, jobs=True), flow.may_want(spec, jobs=False)) == wants


async def test_a_history_that_is_gone_is_told_and_one_that_never_was_is_missing(stream, clock):
    async def history(id, after=0):
        return await stream(events.history, id, after, 10)

    await stream.happen("a", 2)
    await pruned(stream, clock)
    assert (await history("a"), await history("a", 2), await history("b")) == (
        EventsPruned(3), History(()), Missing()
    )  # fmt: skip


async def test_the_house_knows_its_own_when_their_events_are_gone(stream, clock):
    def at(id):
        return stream(events.history, id, 0, 10)

    await stream.player.play(grant.call(stream.workspace, [Wanted("lock:l", "me", 60)]))
    job = await stream(submit, Submission(type="t"))
    await stream.subscribe()
    await pruned(stream, clock)
    assert await at("lock:l") == History(())
    assert await at("subscription:s") == EventsPruned(2)
    assert isinstance(await at(f"job:{job.id}"), History)
    for none in ("lock:m", "subscription:t", f"job:{uuid.UUID(int=9)}", "job:7", "schedule:x", "webhook:x"):
        assert await at(none) == Missing()


async def test_publications_are_listed_the_oldest_first_in_pages(stream):
    await stream.subscribe()
    for n in range(5):
        await stream.happen(f"a-{n}")
        await stream.match()
    first = await stream(subscribing.publications, "pending", None, 3)
    place = str((first[-1].made_at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)), first[-1].id
    rest = await stream(subscribing.publications, "pending", place, 3)
    assert [one.aggregate_id for one in [*first, *rest]] == [f"a-{n}" for n in range(5)]
