"""One attempt against receivers that do as they like: what is known of it is told honestly, and little is kept."""

from __future__ import annotations

import asyncio
import tracemalloc
from datetime import UTC, datetime

import pytest

from steadhold.sdk.webhook import Webhook
from steadhold.webhooks import guard, heading, sign
from steadhold.webhooks.model import Sending
from steadhold.webhooks.send import Sender
from tests.webhooks.receivers import cut, drips, never, receiving, says, sends

LOOPBACK = guard.read_rules(("http://127.0.0.0/8:*",))
SECRET = sign.secret_text(bytes(range(32)))
BODY = b'{"a":1e2,"b":1.10}'


def sending(n=1):
    return Sending("0198c0de-0000-7000-8000-000000000001", n, "order:1@1", 0, 0, BODY, datetime.now(UTC))


async def yes():
    return True


async def no():
    return False


async def attempt(url, *, rules=LOOPBACK, still=yes, seconds=5.0, **more):
    one = sending()
    async with Sender(url, rules, 4, total_seconds=seconds, **more) as sender:
        return await sender.send(one, heading.headers(one, [sign.read_secret(SECRET)], {"x-own": "1"}), still)


async def test_what_arrives_is_what_was_stored_and_it_verifies():
    async with receiving(says(204)) as receiver:
        result = await attempt(receiver.url)
    ((fields, body),) = receiver.seen
    assert (result.state, result.status, result.address) == ("delivered", 204, "127.0.0.1")
    assert body == BODY
    delivery = Webhook(SECRET).verify(fields, body)
    assert (delivery.event_id, delivery.attempt, delivery.hops) == ("order:1@1", 1, 1)
    assert fields["x-own"] == "1"
    assert fields["accept-encoding"] == "identity"
    assert "x-own" not in result.request


@pytest.mark.parametrize(
    "status, state",
    [(200, "delivered"), (299, "delivered"), (302, "refused"), (404, "refused"), (410, "refused"), (500, "refused")],
)
async def test_the_status_tells(status, state):
    async with receiving(says(status)) as receiver:
        result = await attempt(receiver.url)
    assert (result.state, result.status) == (state, status)


async def test_a_redirect_is_not_followed():
    async with receiving(says(200)) as other, receiving(says(307, location=other.url)) as receiver:
        result = await attempt(receiver.url)
    assert (result.state, result.status) == ("refused", 307)
    assert other.connections == 0


async def test_a_receiver_that_never_answers_is_unknown():
    async with receiving(never) as receiver:
        result = await attempt(receiver.url, seconds=0.3)
    assert (result.state, result.status, len(receiver.seen)) == ("unknown", None, 1)


async def test_a_receiver_that_acts_and_cuts_is_unknown():
    async with receiving(cut) as receiver:
        result = await attempt(receiver.url)
    assert (result.state, len(receiver.seen)) == ("unknown", 1)


async def test_a_head_that_drips_ends_in_time_and_is_unknown():
    async with receiving(drips(b"HTTP/1.1 200 OK\r\nx: ")) as receiver:
        result = await attempt(receiver.url, seconds=0.3)
    assert result.state == "unknown"


async def test_a_body_that_drips_ends_in_time_and_was_delivered():
    async with receiving(drips(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")) as receiver:
        result = await attempt(receiver.url, seconds=0.3)
    assert (result.state, result.status) == ("delivered", 200)
    assert 0 < len(result.response_body) < 16_385


async def test_of_a_hundred_megabytes_little_is_kept():
    tracemalloc.start()
    async with receiving(sends(100)) as receiver:
        result = await attempt(receiver.url)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (result.state, len(result.response_body)) == ("delivered", 16_384)
    assert peak < 16 * 2**20


async def test_compressed_bytes_stay_as_they_are():
    async with receiving(says(200, b"\x1f\x8b\x08\x00", content_encoding="gzip")) as receiver:
        result = await attempt(receiver.url)
    assert (result.state, result.response_body) == ("delivered", b"\x1f\x8b\x08\x00")


async def test_where_nobody_listens_nothing_arrived():
    async with receiving(says(200)) as receiver:
        pass
    result = await attempt(receiver.url)
    assert (result.state, result.made) == ("refused", True)


async def test_without_leave_nothing_is_dialled():
    async with receiving(says(200)) as receiver:
        result = await attempt(receiver.url, still=no)
    assert (result.state, result.made, receiver.connections) == ("refused", False, 0)


def answering(*lists):
    turns = list(lists)

    async def resolve(host, port):
        return turns.pop(0) if len(turns) > 1 else turns[0]

    return resolve


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1"], ["::1"], ["127.0.0.1", "fe80::1%lo"], []]
)
async def test_one_address_that_may_not_be_dialled_refuses_the_name(addresses):
    async with receiving(says(200)) as receiver:
        result = await attempt(f"http://hook.test:{receiver.port}/", resolve=answering(addresses))
    assert (result.state, receiver.connections) == ("refused", 0)
    assert "may not be dialled" in result.why


async def test_a_name_that_flips_is_judged_each_time_it_is_dialled():
    async with receiving(says(200, connection="close")) as receiver:
        resolve = answering(["127.0.0.1"], ["169.254.169.254"])
        async with Sender(f"http://hook.test:{receiver.port}/", LOOPBACK, 4, resolve=resolve) as sender:
            fields = heading.headers(sending(), [sign.read_secret(SECRET)], {})
            first = await sender.send(sending(1), fields, yes)
            second = await sender.send(sending(2), fields, yes)
    assert (first.state, second.state) == ("delivered", "refused")
    assert "may not be dialled" in second.why
    assert "169.254" not in second.why  # who owns a webhook learns nothing of what names mean in here
    assert receiver.connections == 1


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::ffff:127.0.0.1]:{port}/"]
)
async def test_loopback_is_not_dialled_unless_the_operator_lets_it(url):
    async with receiving(says(200)) as receiver:
        result = await attempt(url.format(port=receiver.port), rules=guard.read_rules(("http://*:*",)))
    assert (result.state, receiver.connections) == ("refused", 0)


async def test_proxies_of_the_environment_are_not_used(monkeypatch):
    async with receiving(says(200)) as proxy, receiving(says(200)) as receiver:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        result = await attempt(receiver.url)
    assert (result.state, proxy.connections) == ("delivered", 0)


async def test_leave_that_ends_while_a_name_is_looked_up_ends_the_attempt():
    answers = iter([True, False])

    async def still():
        return next(answers)

    async def slow(host, port):
        clock.now += 5.0
        return ["127.0.0.1"]

    clock = SteadyClock()
    async with receiving(says(200)) as receiver:
        with clock.running():
            result = await attempt(f"http://hook.test:{receiver.port}/", still=still, resolve=slow, seconds=60)
    assert (result.made, receiver.seen) == (False, [])


class SteadyClock:
    """The loop's clock, which jumps as if the process had been stopped for a while."""

    def __init__(self):
        self.now = 0.0

    def running(self):
        import asyncio
        from unittest.mock import patch

        loop = asyncio.get_running_loop()
        real = loop.time
        return patch.object(loop, "time", lambda: real() + self.now)


async def test_attempts_that_begin_together_look_a_name_up_once():
    asked = 0
    all_here, both = asyncio.Event(), asyncio.Barrier(3)

    async def slow(host, port):
        nonlocal asked
        asked += 1
        await all_here.wait()
        return ["10.0.0.1"]

    async def comes():
        await both.wait()
        return True

    first, second = sending(1), sending(2)
    async with (
        Sender("https://example.com/", guard.read_rules(()), 4, resolve=slow) as sender,
        asyncio.TaskGroup() as all,
    ):
        tasks = [all.create_task(sender.send(one, {}, comes)) for one in (first, second)]
        await both.wait()
        for _ in range(100):
            await asyncio.sleep(0)
        all_here.set()
    assert [task.result().state for task in tasks] == ["refused", "refused"]
    assert asked == 1


async def test_an_attempt_that_waited_to_begin_does_not_outlive_its_time():
    async with receiving(never) as receiver, Sender(receiver.url, LOOPBACK, 4, total_seconds=1.0) as sender:
        past = asyncio.get_running_loop().time() - 1.0
        result = await sender.send(sending(), {}, yes, past)
    assert (result.state, receiver.connections) == ("refused", 0)


async def test_a_receiver_that_talks_on_is_not_heard():
    """What comes once an answer is over would be read for nobody: without end, or as the answer to the next attempt."""
    over, ended, talked = asyncio.Event(), asyncio.Event(), []

    async def talks_on(writer):
        await says(200)(writer)
        await writer.drain()
        await over.wait()
        try:
            for _ in range(400):
                writer.write((b"HTTP/1.1 200 OK\r\nx: " + b"y" * 8_000 + b"\r\nContent-Length: 0\r\n\r\n") * 10)
                await writer.drain()
                talked.append(1)
        finally:
            ended.set()

    one = sending()
    fields = heading.headers(one, [sign.read_secret(SECRET)], {})
    async with receiving(talks_on) as receiver, Sender(receiver.url, LOOPBACK, 4) as sender:
        assert (await sender.send(one, fields, yes)).state == "delivered"
        over.set()
        await asyncio.wait_for(ended.wait(), 30)
        assert len(talked) < 400


async def test_a_url_is_dialled_as_it_was_written():
    came = []

    async def keeps(reader, writer):
        came.append(await reader.readline())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(keeps, "127.0.0.1", 0)
    target = "/a%2Fb/%41/../c?x=%41%2B+b&y=a;b&z"
    async with server:
        result = await attempt(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{target}")
    assert (result.state, came) == ("delivered", [f"POST {target} HTTP/1.1\r\n".encode()])


@pytest.mark.parametrize(
    "said", [b"secret nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nsecret \x00: 1\r\n\r\n", b"HTTP/1.1 102 secret\r\n\r\n"]
)
async def test_what_is_no_answer_is_not_told_as_a_reason(said):
    async def answer(writer):
        writer.write(said)
        await writer.drain()
        writer.close()

    async with receiving(answer) as receiver:
        result = await attempt(receiver.url)
    assert result.state == "unknown"
    assert "secret" not in result.why
