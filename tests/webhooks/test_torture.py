"""Receivers that do their worst beside one that does well: what is kept of them is little, and what is told is true."""

from __future__ import annotations

import itertools
import tracemalloc
import uuid

import pytest

from steadhold.play import transaction
from steadhold.webhooks import delivering, dispatch, guard, replaying
from tests.webhooks.fuzz import texts
from tests.webhooks.house import event
from tests.webhooks.receivers import cut, drips, floods, never, receiving, says, sends
from tests.webhooks.site import far, sending

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clock")]

METADATA = "http://169.254.169.254/latest/meta-data/"
OK = b"HTTP/1.1 200 OK\r\n"
FIELD = b"x: " + b"y" * 8_000 + b"\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
SECONDS = 4.0
MEMORY_MAX = 24 * 2**20

HOSTILE = {
    "never": (never, "unknown"),
    "cut": (cut, "unknown"),
    "drips a head": (drips(OK), "unknown"),
    "drips a body": (drips(OK + b"content-length: 1000000\r\n\r\n"), "delivered"),
    "sends 100 MB": (sends(100), "delivered"),
    "fields without end": (floods(OK, FIELD), "unknown"),
    "one field without end": (floods(OK + b"x: ", FIELD[:-2]), "unknown"),
    "a status without end": (floods(b"HTTP/1.1 200 ", b"y" * 8_000), "unknown"),
    "to be continued": (floods(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "unknown"),
    "a chunk's extension": (floods(CHUNKED + b"1;", b"y" * 8_000), "delivered"),
    "trailers without end": (floods(CHUNKED + b"1\r\na\r\n0\r\n", FIELD), "delivered"),
    "answers to nobody": (floods(b"", OK + b"content-length: 0\r\n\r\n"), "delivered"),
    "no HTTP": (floods(b"", b"\x00\xff" * 4_000), "unknown"),
    "redirects to metadata": (says(307, location=METADATA), "refused"),
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Lanes that have nothing to send are left soon; and to read a flood while memory is traced may take its time."""
    monkeypatch.setattr(dispatch, "IDLE_SECONDS", (0.1,))
    monkeypatch.setattr(transaction, "IDLE_MS", 60_000)


@pytest.mark.parametrize("kind", HOSTILE)
async def test_one_that_does_its_worst(site, kind):
    answer, state = HOSTILE[kind]
    tracemalloc.start()
    try:
        one = site.dispatcher(total_seconds=SECONDS)
        async with receiving(answer) as bad, receiving(says(200)) as good, sending(one) as dispatcher:
            webhook = await site.endpoint(bad.url, retry_seconds=(0.0,))
            await site.endpoint(good.url, retry_seconds=(0.0,) * 9)
            await site.happen(*(event(revision=n) for n in range(1, 4)))
            await dispatcher.tick()
            await good.some(3)
            await dispatcher.drained()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = await site.play(replaying.deliveries.call(site.workspace, webhook, None, far(), 10))
    attempts = [attempt for d in found for attempt in (await site.delivery(d.id)).attempts]
    assert [attempt.state for attempt in attempts] == [state] * 3
    assert {d.state for d in found} == {"delivered" if state == "delivered" else "exhausted"}
    assert all(
        len(attempt.response_body or b"") <= 16_384 and len(attempt.response or "") <= 4_096 for attempt in attempts
    )
    assert peak < MEMORY_MAX


async def test_nobody_is_dialled_that_may_not_be(site):
    """Counted where it would arrive: at a listener on an address that the operator's list leaves out."""
    async with receiving(says(200), host="127.0.0.2") as forbidden:
        elsewhere = f"http://127.0.0.2:{forbidden.port}/"
        async with receiving(says(307, location=elsewhere)) as bad, sending(site.dispatcher()) as dispatcher:
            dispatcher.rules = guard.read_rules(("http://127.0.0.1:*",))
            names = {"flips": ["127.0.0.1"], "both": ["127.0.0.1", "127.0.0.2"], "other": ["127.0.0.2"]}

            async def resolve(host, port):
                found = names[host]
                names["flips"] = ["127.0.0.2"]
                return found

            dispatcher.resolve = resolve
            for host in names:
                await site.endpoint(f"http://{host}:{forbidden.port}/", retry_seconds=(0.0, 0.0))
            await site.endpoint(bad.url, retry_seconds=(0.0, 0.0))
            await site.endpoint(elsewhere, retry_seconds=(0.0, 0.0))
            await site.happen(event())
            await spent(site, dispatcher)
    assert (forbidden.connections, bad.connections > 0) == (0, True)


async def test_bytes_are_the_same_in_all_attempts_and_replays(site):
    happened = [event(revision=n, data=data) for n, data in enumerate(texts(40), 1)]
    answers = itertools.cycle((500, 200))

    async def every_other(writer):
        await says(next(answers))(writer)

    async with receiving(every_other) as receiver, sending(site.dispatcher()) as dispatcher:
        webhook = await site.endpoint(receiver.url, retry_seconds=(0.0,) * 30, concurrency=8)
        await site.happen(*happened)
        await spent(site, dispatcher)
        for d in await site.play(replaying.deliveries.call(site.workspace, webhook, None, far(), 100)):
            await site.play(replaying.replay.call(site.workspace, d.id, str(uuid.uuid4())))
        await spent(site, dispatcher)
    came = {}
    for fields, body in receiver.seen:
        came.setdefault(fields["webhook-id"], []).append(body)
    for each in happened:
        assert set(came[each.event_id]) == {delivering.body_of(each)}
        assert each.data in came[each.event_id][0]
        assert len(came[each.event_id]) >= 2
    assert len(receiver.seen) > 2 * len(happened)


async def spent(site, dispatcher):
    """Send until nothing is due."""
    while await site.due():
        await dispatcher.tick()
        await dispatcher.drained()
