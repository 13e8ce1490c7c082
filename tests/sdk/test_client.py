"""The clients on real sockets: addresses, proxies, limits, threads, forks, loops, and what is left open."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
import warnings

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.address import DEFAULT_URL
from steadhold.sdk.errors import BadAnswer, OutcomeUnknown, Unreachable
from steadhold.sdk.grammar import Send

# --- what comes back --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_an_answer_has_a_bound(make, url):
    client = make(url, "sh_x", answer_bytes_max=0)
    with pytest.raises(BadAnswer, match="answer_bytes_max"):
        called(client, lambda: client.state.get("a"))


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_nothing_but_its_own_end_ends_a_script(make, url):
    """A source that stops before it began is no answer."""

    def script():
        yield Send("POST", "/v1/x", source=lambda: next(iter(())))

    client = make(url, "sh_x")
    with pytest.raises((StopIteration, RuntimeError)):
        called(client, lambda: client.play(script()))


def called(client, verb):
    """Call and close, whichever client it is."""
    if isinstance(client, Client):
        with client:
            return verb()

    async def awaited():
        async with client:
            return await verb()

    return asyncio.run(awaited())


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_nobody_there_is_unreachable_and_nothing_was_changed(make):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = make(url, "sh_x", give_up_seconds=0)
        with pytest.raises(Unreachable) as told:
            called(client, lambda: client.state.put("a", 1, if_revision=1))
        assert f"({url})" in str(told.value)


@pytest.fixture
def silent():
    """The address of somebody who listens and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_silence_is_unknown(make, silent):
    client = make(silent, "sh_x", give_up_seconds=0, timeout=0.05)
    with pytest.raises(OutcomeUnknown, match="ReadTimeout"):
        called(client, lambda: client.state.put("a", 1, if_revision=1))


def test_whoever_cancels_a_change_is_told_its_operation(silent):
    async def cancelled():
        async with AsyncClient(silent, "sh_x") as client:
            task = asyncio.create_task(client.state.put("a", 1, if_revision=1, operation_id="mine"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
        return caught.value.__notes__

    assert "mine" in asyncio.run(cancelled())[0]


# --- threads, forks, loops --------------------------------------------------------------------


def test_threads_share_a_client(url):
    with Client(url, "sh_x") as client:
        found = []
        threads = [
            threading.Thread(target=lambda: found.extend(client.state.get("a").value for _ in range(20)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [1] * 160


def test_a_fork_gets_its_own_connections(url, tcp):
    with Client(url, "sh_x") as client:
        client.state.get("a")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the servers of this test run in threads
            child = os.fork()
        if not child:
            try:
                os._exit(0 if client.state.get("a").value == 1 else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        client.state.get("a")
    parent, forked, parent_again = (where for where, _, _ in tcp.seen)
    assert parent == parent_again != forked


def test_event_loops_one_after_the_other_may_use_a_client(url):
    client = AsyncClient(url, "sh_x")

    async def read():
        return (await client.state.get("a")).value

    async def read_and_close():
        async with client:
            return await read()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the first loop went without closing its sockets
        assert (asyncio.run(read()), asyncio.run(read_and_close())) == (1, 1)
        gc.collect()


def test_connections_are_kept(url, tcp):
    with Client(url, "sh_x") as client:
        for _ in range(5):
            client.state.get("a")
    assert len({where for where, _, _ in tcp.seen}) == 1


def test_a_twin_has_the_same_settings_and_its_own_connections(url, tcp):
    with Client(url, "sh_x", workspace="acme", timeout=7) as client, client.twin() as twin:
        client.state.get("a")
        twin.state.get("a")
        assert twin._timeout == 7
    (one, _, first), (other, _, second) = tcp.seen
    assert one != other
    assert first == second


# --- ending -----------------------------------------------------------------------------------


def test_a_closed_client_says_so(url):
    client = Client(url, "sh_x")
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.state.get("a")


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_a_client_that_is_left_open_warns(make):
    def answer(_request):
        return httpx2.Response(200, stream=httpx2.ByteStream(b"1"), headers={"revision": "1"})

    client = make(DEFAULT_URL, "sh_x", transport=httpx2.MockTransport(answer))
    asyncio.run(client.state.get("a")) if make is AsyncClient else client.state.get("a")
    del client
    with pytest.warns(ResourceWarning, match="never closed"):
        gc.collect()


def test_a_client_that_was_never_used_needs_no_closing(url):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        client = Client(url, "sh_x")
        del client
        gc.collect()
    assert url
