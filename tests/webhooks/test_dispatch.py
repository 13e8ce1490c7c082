"""The dispatcher, on a real database and real sockets: what is due is sent, signed, once it was written down."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.kit.ids import new_secret
from steadhold.kit.seal import Sealing
from steadhold.sdk.webhook import Webhook
from steadhold.webhooks import heading, plans, replaying, sign
from tests.webhooks.house import BY, event
from tests.webhooks.receivers import never, receiving, says
from tests.webhooks.site import SECRET, far, sending

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clock")]


async def test_what_is_due_is_sent_and_settled(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        await site.endpoint(receiver.url)
        await site.happen(*(event(revision=n) for n in range(1, 21)))
        await dispatcher.tick()
        await receiver.some(20)
        await dispatcher.drained()
    ids = [Webhook(SECRET).verify(fields, body).event_id for fields, body in receiver.seen]
    assert sorted(ids) == sorted(f"order:1@{n}" for n in range(1, 21))
    assert await site.due() == []
    for fields, _ in receiver.seen:
        found = await site.delivery(fields["x-steadhold-delivery-id"])
        assert (found.delivery.state, [a.state for a in found.attempts]) == ("delivered", ["delivered"])


async def test_an_ordered_endpoint_gets_an_aggregate_in_order(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        await site.endpoint(receiver.url, ordered=True, concurrency=8)
        await site.happen(*(event(f"order:{a}", n) for n in range(1, 6) for a in range(3)))
        await dispatcher.tick()
        await receiver.some(15)
        await dispatcher.drained()
    ids = [fields["webhook-id"] for fields, _ in receiver.seen]
    for a in range(3):
        assert [i for i in ids if i.startswith(f"order:{a}@")] == [f"order:{a}@{n}" for n in range(1, 6)]


async def test_two_dispatchers_send_each_delivery_once(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as one, sending(site.dispatcher()) as two:
        await site.endpoint(receiver.url)
        await site.happen(*(event(revision=n) for n in range(1, 21)))
        await one.tick()
        await two.tick()
        await receiver.some(20)
        await one.drained()
        await two.drained()
    assert len({fields["x-steadhold-delivery-id"] for fields, _ in receiver.seen}) == len(receiver.seen) == 20


async def test_an_endpoint_that_never_answers_holds_up_no_other(site):
    few = site.dispatcher(sends_max=8)
    async with receiving(never) as slow, receiving(says(200)) as quick, sending(few) as dispatcher:
        await site.endpoint(slow.url, concurrency=64)
        await site.endpoint(quick.url)
        await site.happen(*(event(revision=n) for n in range(1, 31)))
        await dispatcher.tick()
        await slow.some(1)
        await quick.some(30)
    assert 1 <= len(slow.seen) <= 8


async def test_secrets_that_cannot_be_opened_are_told(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        dispatcher.sealing = Sealing((new_secret(),))
        webhook = await site.endpoint(receiver.url)
        await site.happen(event())
        await dispatcher.tick()
        await dispatcher.drained()
    shown = await site.play(plans.get.call(site.workspace, webhook))
    assert (shown.endpoint.health.failures, receiver.connections) == (1, 0)


async def test_an_old_secret_that_cannot_be_opened_keeps_back_nothing(site):
    """Who replaces the sealing key rotates what the one before sealed, and takes that away within the grace."""
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        webhook = await site.endpoint(receiver.url)
        dispatcher.sealing = Sealing((new_secret(),))
        new = sign.secret_text(bytes(32))
        sealed = dispatcher.sealing.seal(new.encode(), heading.of_secret(site.workspace, webhook))
        await site.play(plans.rotate.call(site.workspace, webhook, (sealed, None), 600.0, by=BY))
        await site.happen(event())
        await dispatcher.tick()
        await receiver.some(1)
    ((fields, body),) = receiver.seen
    assert Webhook(new).verify(fields, body).event_id == "order:1@1"


async def test_what_is_disabled_between_the_attempts_row_and_the_connection_is_not_sent(site, monkeypatch):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        webhook = await site.endpoint(receiver.url)
        await site.happen(event())
        real = dispatcher.play

        async def play(call):
            if call.name == "webhooks.still":
                await real(plans.disable.call(site.workspace, webhook, by=BY))
            return await real(call)

        dispatcher.play = play
        await dispatcher.tick()
        await dispatcher.drained()
    assert receiver.connections == 0
    found = await site.play(replaying.deliveries.call(site.workspace, webhook, None, far(), 10))
    assert [(d.state, d.attempts, d.tries) for d in found] == [("pending", 1, 0)]
    assert await site.play(replaying.skip.call(site.workspace, 10)) == 1


async def test_what_is_known_is_said_once_more_where_that_failed(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        webhook = await site.endpoint(receiver.url)
        await site.happen(event())
        real, fails = dispatcher.play, [ConnectionError("for a moment")]

        async def play(call):
            if call.name == "webhooks.settle" and fails:
                raise fails.pop()
            return await real(call)

        dispatcher.play = play
        await dispatcher.tick()
        await dispatcher.drained()
    (found,) = await site.play(replaying.deliveries.call(site.workspace, webhook, None, far(), 10))
    assert (found.state, len(receiver.seen), [str(alarm) for alarm in site.alarms]) == (
        "delivered",
        1,
        ["for a moment"],
    )
    site.alarms.clear()


async def test_a_rate_is_kept(site):
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        await site.endpoint(receiver.url, rate=0.001)
        await site.happen(*(event(revision=n) for n in range(1, 4)))
        await dispatcher.tick()
        await receiver.some(1)
        await dispatcher.drained()
    assert len(receiver.seen) == 1


async def test_an_endpoint_that_is_never_done_leaves_its_turn_to_one_that_waits(site):
    one = site.dispatcher(sends_max=1, turn_seconds=0.0)
    async with receiving(says(200)) as busy, receiving(says(200)) as late, sending(one) as dispatcher:
        await site.endpoint(busy.url, types=("order.*",))
        await site.happen(*(event(revision=n) for n in range(1, 201)))
        await dispatcher.tick()
        await busy.some(1)
        await site.endpoint(late.url, types=("bill.*",))
        await site.happen(event("bill:1", 1, "bill.sent"))
        arrived = asyncio.create_task(late.some(1))
        while not arrived.done():
            await dispatcher.tick()
            await asyncio.wait(dispatcher._lanes.values(), return_when=asyncio.FIRST_COMPLETED)
    assert len(busy.seen) < 200


async def test_an_endpoint_that_always_fails_delays_another_by_one_claim(site):
    """There is room for one of them, and a turn takes for ever: who fails has leave for one claim."""
    one, claims = site.dispatcher(sends_max=1, turn_seconds=3600.0), []
    real = one.play

    async def play(call):
        if call.name == "webhooks.begin":
            claims.append(call.subject.rpartition(":")[2])
        return await real(call)

    one.play = play
    async with receiving(says(500)) as bad, receiving(says(200)) as good, sending(one) as dispatcher:
        failing = await site.endpoint(bad.url, types=("order.*",), retry_seconds=(0.0,) * 5)
        await site.happen(*(event(revision=n) for n in range(1, 101)))
        await site.endpoint(good.url, types=("bill.*",))
        await site.happen(event("bill:1", 1, "bill.sent"))
        arrived, due = asyncio.create_task(good.some(1)), dispatcher.due

        async def failing_first():
            return sorted(await due(), key=lambda at: at[1] != failing)

        dispatcher.due = failing_first
        while not arrived.done():
            await dispatcher.tick()
            await asyncio.wait({arrived, *dispatcher._lanes.values()}, return_when=asyncio.FIRST_COMPLETED)
    assert claims.count(failing) == 1


def counted(monkeypatch, lanes):
    """How often lanes are woken from now on, also if one has gone on before anybody looks."""
    woken = []
    for lane in lanes:
        wake = type(lane.woken).set

        def told(event=lane.woken, wake=wake):
            woken.append("woken")
            wake(event)

        monkeypatch.setattr(lane.woken, "set", told)
    return woken


async def test_what_becomes_due_at_an_endpoint_that_is_sent_to_is_begun_at_once(site, monkeypatch):
    """A lane that waits is woken by the look that finds something due: it needs no look of its own."""
    monkeypatch.setattr("steadhold.webhooks.dispatch.IDLE_SECONDS", (3600.0,) * 3)
    async with receiving(says(200)) as receiver, sending(site.dispatcher()) as dispatcher:
        await site.endpoint(receiver.url)
        for n in range(1, 4):
            await site.happen(event(revision=n))
            woken = counted(monkeypatch, dispatcher._running.values())
            assert await dispatcher.tick() == (n == 1)
            assert n == 1 or woken
            await receiver.some(n)
            (lane,) = dispatcher._running.values()
            while lane.under_way or lane.results or lane.woken.is_set():
                await asyncio.sleep(0)


async def test_an_endpoint_that_is_full_asks_for_nothing_more(site):
    """Of what never answers nothing ends: what waits there costs no claim at each look."""
    one, claims = site.dispatcher(), []
    real = one.play

    async def play(call):
        claims.append(call.name)
        return await real(call)

    one.play = play
    async with receiving(never) as receiver, sending(one) as dispatcher:
        await site.endpoint(receiver.url, concurrency=2)
        await site.happen(*(event(revision=n) for n in range(1, 9)))
        await dispatcher.tick()
        await receiver.some(2)
        (lane,) = dispatcher._running.values()
        began = claims.count("webhooks.begin")
        lane.begun_at = float("inf")  # as if it had just begun
        for _ in range(20):
            await dispatcher.tick()
            while lane.woken.is_set():
                await asyncio.sleep(0)
    assert claims.count("webhooks.begin") == began


async def test_what_our_own_end_cuts_tells_nothing_of_the_endpoint(site):
    async with receiving(never) as receiver, sending(site.dispatcher()) as dispatcher:
        webhook = await site.endpoint(receiver.url, concurrency=8)
        await site.happen(*(event(revision=n) for n in range(1, 9)))
        await dispatcher.tick()
        await receiver.some(8)
        await dispatcher.close()
    shown = await site.play(plans.get.call(site.workspace, webhook))
    found = await site.play(replaying.deliveries.call(site.workspace, webhook, None, far(), 10))
    attempts = [a.state for d in found for a in (await site.delivery(d.id)).attempts]
    assert (shown.endpoint.health.failures, attempts) == (0, ["unknown"] * 8)
