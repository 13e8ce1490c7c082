"""How long what is published stays, and how it is published again, or never."""

from __future__ import annotations

from datetime import UTC, datetime

from steadhold import events, inboxes
from steadhold.events import Happened, Reject, Spec, flow, subscribing
from steadhold.events.flow import Inside
from steadhold.kit.outcome import Missing
from tests.events.verbs import forget, record

ALWAYS = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
DAY = 86_400


async def test_a_replay_publishes_again_from_what_is_kept(stream, clock):
    await stream.happen("a", 2)
    await stream.subscribe()
    await stream.happen("b")
    await stream.match()
    await stream.publish()
    assert stream.sink.asked == [("b", 1)]
    assert (await stream(events.replay, "s", *ALWAYS, ("", 0), 2)).after == ("a", 2)
    assert (await stream(events.replay, "s", *ALWAYS, ("a", 2), 3)).after is None
    stream.sink.asked = []
    await stream.publish()
    assert sorted(stream.sink.asked) == [("a", 1), ("a", 2), ("b", 1)]


async def test_an_event_is_kept_for_its_window_after_its_last_publication(stream, clock):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    stream.sink.says = lambda _one: Reject("never")
    await stream.publish()
    clock.move(30 * DAY)
    assert await stream(events.purge, 10) == 1  # what told of the subscription
    assert await stream(events.purge, 10) == 0
    (parked,) = await stream.listed("parked")
    await stream(events.skip, parked.id)
    assert await stream(events.purge, 10) == 0
    clock.move(4 * DAY)
    assert await stream(events.purge, 10) == 1
    assert await stream.listed("parked") == []
    assert isinstance(await stream(events.skip, parked.id), Missing)


async def test_whoever_leaves_takes_what_was_on_its_way(stream):
    await stream.subscribe()
    await stream.happen("a")
    await stream.match()
    assert isinstance(await stream(events.unsubscribe, "s", 1), flow.Unsubscribed)
    assert await stream.listed("pending") == []
    await stream.match()
    await stream.happen("b")
    assert await stream.match() == 0


async def test_a_job_that_is_purged_leaves_what_is_still_to_be_published(stream, clock, database):
    await stream.subscribe()
    await stream.player.play(record.call(stream.workspace, [("job:1", 1, Happened("job.accepted"))]))
    await stream.match()
    assert await stream.player.play(forget.call(stream.workspace, ["job:1"])) == 0
    await stream.publish()
    assert stream.sink.asked == [("job:1", 1)]
    clock.move(4 * DAY)
    assert await stream(events.purge, 10) == 2  # and what told of the subscription


async def test_the_first_subscription_is_refused_where_writers_stay(stream, committed):
    with committed.transaction():
        events.append(committed, stream.workspace, "long", None, [Happened("a")])
        made = await stream(events.subscribe, "s", Spec(("*",), "sink:x"), None)
        assert made == events.WritersOpen()
    await stream.subscribe()
    with committed.transaction():
        events.append(committed, stream.workspace, "long", 1, [Happened("b")])
        await stream.subscribe("second")
    await stream.match()
    await stream.publish()
    assert stream.sink.asked == [("long", 2)] * 2


def refuses(_workspace, _name, batch):
    yield from ()
    return [Reject("never") for _ in batch]


async def test_a_send_that_is_parked_is_announced_as_any(stream):
    await stream(inboxes.put, "x", inboxes.Retention(), None)
    await stream(inboxes.send, "x", inboxes.Sending(type="t", id="s"))
    await stream.publish(stream.another("two", inbox=Inside(refuses)))
    (parked,) = await stream.listed("parked")
    assert await stream(subscribing.announce, 10) == 1
    (told,) = (await stream(events.history, f"subscription:{parked.subscription}", 0, 10)).events
    assert (told.type, b'"publication":"%s"' % parked.id.encode() in told.data) == ("publication.parked", True)
    assert await stream(subscribing.subscriptions, "", 10) == []
    assert await stream(subscribing.announce, 10) == 0
