"""A subscription with much on its way is deleted at once, and what is on its way is skipped step by step."""

from __future__ import annotations

import pytest

from steadhold import events
from steadhold.events import Spec, flow, subscribing
from steadhold.events.flow import Inside, Reject, Taken

STEP = 5


@pytest.fixture
async def backlog(stream, monkeypatch):
    """A subscription with more on its way than is skipped at once, behind one that is parked."""
    monkeypatch.setattr(subscribing, "SKIPPED_AT_ONCE", STEP)
    await stream.subscribe()
    await stream.happen("a", 4 * STEP)
    await stream.match()
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    stream.sink.says = lambda _one: Taken()
    return stream


async def left(stream):
    return sum([len(await stream.listed(state)) for state in ("pending", "blocked", "parked")])


async def test_what_is_on_its_way_is_skipped_in_bounded_steps(backlog):
    assert isinstance(await backlog(events.unsubscribe, "s", 1), flow.Unsubscribed)
    assert await left(backlog) == 3 * STEP
    steps = []
    while not steps or steps[-1] == STEP:
        steps.append(await backlog(subscribing.end, STEP))
    assert (steps, await left(backlog)) == ([STEP] * 3 + [0], 0)
    assert await backlog(subscribing.end, STEP) == 0


async def test_nothing_is_published_once_the_deletion_was_answered(backlog):
    for one in await backlog.listed("parked"):
        await backlog(events.retry, one.id)
    await backlog(events.unsubscribe, "s", 1)
    asked = list(backlog.sink.asked)
    await backlog.publish()
    assert (backlog.sink.asked, await left(backlog)) == (asked, 0)


async def test_nothing_is_appended_once_the_deletion_was_answered(stream, monkeypatch):
    monkeypatch.setattr(subscribing, "SKIPPED_AT_ONCE", 0)
    await stream.subscribe(target="inbox:x")
    await stream.happen("a")
    await stream.match()
    await stream(events.unsubscribe, "s", 1)
    appended = []

    def append(_workspace, _name, batch):
        appended.extend(batch)
        yield from ()
        return [Taken() for _ in batch]

    await stream.publish(stream.another("two", inbox=Inside(append)))
    assert (appended, await left(stream)) == ([], 0)


async def test_nobody_subscribes_under_its_id_before_all_is_skipped(backlog):
    await backlog(events.unsubscribe, "s", 1)
    assert await backlog(events.subscribe, "s", Spec(("*",), "sink:x"), None) == flow.Ending()
    while await backlog(subscribing.end, STEP):
        pass
    again = await backlog(events.subscribe, "s", Spec(("*",), "sink:x"), None)
    assert (again.subscription.revision, again.created) == (3, True)
    await backlog.happen("b")
    await backlog.match()
    await backlog.publish()
    assert backlog.sink.asked[-1] == ("b", 1)


async def test_a_deletion_that_is_refused_skips_nothing(backlog):
    before = await left(backlog)
    assert isinstance(await backlog(events.unsubscribe, "s", 7), events.flow.RevisionConflict)
    assert (await left(backlog), before) == (4 * STEP, 4 * STEP)


async def test_it_is_due_until_all_is_skipped(backlog, committed):
    async def due():
        asked = "select count(*) from steadhold.due_events() where workspace = %s and duty = 'events.end'"
        return committed.execute(asked, [backlog.workspace]).fetchone()[0]

    assert await due() == 0
    await backlog(events.unsubscribe, "s", 1)
    assert await due() == 1
    while await backlog(subscribing.end, STEP):
        pass
    assert await due() == 0
