"""Names that nobody answers for hold no threads that others need; and of an answer no more is heard than is to be."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steadhold.webhooks.lookups import Lookups
from tests.webhooks.receivers import receiving
from tests.webhooks.test_send import attempt


class Names:
    """Finds names: one that begins with `hangs` not before it is let go."""

    def __init__(self):
        self.asked, self.let_go = [], threading.Event()

    def find(self, host, port):
        self.asked.append(host)
        if host.startswith("hangs"):
            self.let_go.wait(60)
        if host == "nowhere":
            raise OSError("no such name")
        return [f"of {host}"]


@pytest.fixture
def names():
    made = Names()
    yield made
    made.let_go.set()


async def test_names_that_hang_leave_threads_to_those_that_were_found_soon(names, monkeypatch):
    monkeypatch.setattr("steadhold.webhooks.lookups.SOON_SECONDS", 3_600.0)
    lookups = Lookups(names.find, most=2)
    assert await lookups.resolve("known", 443) == ["of known"]
    hanging = [asyncio.create_task(lookups.resolve(f"hangs{n}", 443)) for n in range(8)]
    while len(names.asked) < 3:
        await asyncio.sleep(0)
    async with asyncio.timeout(30):
        assert await lookups.resolve("known", 443) == ["of known"]
    assert len(names.asked) == 4, "two hang, and six wait for them"
    names.let_go.set()
    assert await asyncio.gather(*hanging) == [[f"of hangs{n}"] for n in range(8)]


async def test_a_name_has_one_thread_whoever_asks_and_gives_up(names):
    lookups = Lookups(names.find, most=4)
    first = asyncio.create_task(lookups.resolve("hangs", 443))
    while not names.asked:
        await asyncio.sleep(0)
    first.cancel()
    assert isinstance((await asyncio.gather(first, return_exceptions=True))[0], asyncio.CancelledError)
    second = asyncio.create_task(lookups.resolve("hangs", 443))
    await asyncio.sleep(0)
    names.let_go.set()
    assert (await second, names.asked) == (["of hangs"], ["hangs"])


async def test_a_name_that_is_not_there_says_so_and_is_asked_for_again(names):
    lookups = Lookups(names.find)
    for _ in range(2):
        with pytest.raises(OSError, match="no such name"):
            await lookups.resolve("nowhere", 443)
    assert names.asked == ["nowhere", "nowhere"]


async def test_of_an_answer_no_more_is_heard_than_is_to_be():
    """What is said before an answer counts too: behind 64 KiB of that nothing is heard any more."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"

    async def late(writer):
        writer.write(interim * (64 * 1024 // len(interim) + 100) + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async with receiving(late) as receiver:
        result = await attempt(receiver.url, seconds=1.0)
    assert (result.state, result.status) == ("unknown", None)
