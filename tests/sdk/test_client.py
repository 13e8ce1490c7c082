"""The clients on real sockets: addresses, proxies, limits, threads, forks, loops, and what is left open."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import socketserver
import threading
import warnings
from http.server import BaseHTTPRequestHandler

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.address import DEFAULT_URL, address
from steadhold.sdk.errors import BadAnswer, OutcomeUnknown, Unreachable


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b"1"

    def do_GET(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.client_address, self.path, headers))
        self.send_response(200)
        self.send_header("content-length", str(len(self.body)))
        self.send_header("revision", "1")
        self.end_headers()
        self.wfile.write(self.body)

    def do_PUT(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.do_GET()

    def log_message(self, *_):
        pass

    def address_string(self):
        return "local"


class Tcp(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def running(server):
    server.seen = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def tcp():
    yield from running(Tcp(("127.0.0.1", 0), Handler))


@pytest.fixture
def unix(tmp_path):
    yield from running(Unix(str(tmp_path / "s"), Handler))


@pytest.fixture
def url(tcp):
    return f"http://127.0.0.1:{tcp.server_address[1]}"


# --- where the server is ----------------------------------------------------------------------


def test_the_environment_says_where_and_as_whom(monkeypatch, url, tcp):
    monkeypatch.setenv("STEADHOLD_URL", url)
    monkeypatch.setenv("STEADHOLD_API_KEY", "sh_env")
    with Client() as client:
        assert client.state.get("a").value == 1
        assert client.url == url
    _, _, headers = tcp.seen[0]
    assert headers["authorization"] == "Bearer sh_env"
    assert headers["user-agent"].startswith("steadhold-python/")
    assert headers["accept-encoding"] == "identity"


def test_without_an_address_it_is_the_default_port_of_this_machine(monkeypatch):
    monkeypatch.delenv("STEADHOLD_URL", raising=False)
    assert address(None, "sh_x").base == DEFAULT_URL


def test_without_a_key_it_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("STEADHOLD_API_KEY", raising=False)
    with pytest.raises(ValueError, match="STEADHOLD_API_KEY"):
        Client(DEFAULT_URL)


@pytest.mark.parametrize(
    "url", ["localhost:8750", "ftp://a", "http://", "http://a?b=c", "unix:relative", "http://u:p@h"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ValueError, match="write"):
        Client(url, "sh_x")


def test_a_key_with_a_line_break_inside_is_refused():
    with pytest.raises(ValueError, match="characters"):
        Client(DEFAULT_URL, "sh_a\nsh_b")


def test_the_key_is_shown_nowhere():
    client = Client(DEFAULT_URL, "sh_secret")
    assert "sh_secret" not in repr(client) + repr(client._address)


@pytest.mark.parametrize(
    "url, loopback",
    [
        ("http://127.0.0.1:1", True), ("http://127.9.9.9", True), ("http://[::1]:1", True), ("http://localhost", True),
        ("unix:/a/b", True), ("unix:///a/b", True), ("http://10.0.0.1", False), ("https://example.org", False),
    ],
)  # fmt: skip
def test_loopback_is_known(url, loopback):
    assert address(url, "sh_x").loopback is loopback


def test_no_proxy_of_the_environment_stands_before_loopback(monkeypatch, url):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with Client(url, "sh_x") as client:
        assert client.state.get("a").value == 1


def test_a_proxy_of_the_environment_stands_before_others(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    with Client("http://steadhold.invalid", "sh_x", give_up_seconds=0) as client, pytest.raises(Unreachable):
        client.state.get("a")


def test_a_unix_socket(unix):
    with Client(f"unix:{unix.server_address}", "sh_x") as client:
        assert client.state.get("a").value == 1
        assert client.url == f"unix:{unix.server_address}"


def test_a_unix_socket_is_awaited(unix):
    async def read():
        async with AsyncClient(f"unix:{unix.server_address}", "sh_x") as client:
            return (await client.state.get("a")).value

    assert asyncio.run(read()) == 1


def test_an_operator_names_the_workspace(url, tcp):
    with Client(url, "sh_x", workspace="acme") as client:
        client.state.get("a")
        client.state.get("a", revision=1)
    assert [path for _, path, _ in tcp.seen] == ["/v1/state/a?workspace=acme", "/v1/state/a?revision=1&workspace=acme"]


def test_an_address_may_have_a_path(url, tcp):
    with Client(f"{url}/hold/", "sh_x") as client:
        client.state.get("a")
    assert tcp.seen[0][1] == "/hold/v1/state/a"


# --- what comes back --------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Client, AsyncClient])
def test_an_answer_has_a_bound(make, url):
    client = make(url, "sh_x", answer_bytes_max=0)
    with pytest.raises(BadAnswer, match="answer_bytes_max"):
        called(client, lambda: client.state.get("a"))


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
        client = make(f"http://127.0.0.1:{free.getsockname()[1]}", "sh_x", give_up_seconds=0)
        with pytest.raises(Unreachable):
            called(client, lambda: client.state.put("a", 1, if_revision=1))


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
