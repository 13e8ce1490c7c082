"""Plain HTTP sent to a port of TLS: an alert says that nothing was taken; whatever else comes, or nothing, does not."""

from __future__ import annotations

import asyncio
import socketserver
import threading

import httpx2
import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import OutcomeUnknown, Unreachable
from steadhold.sdk.retry import Patience

ALERTS = [b"\x15\x03\x03\x00\x02\x02\x46", b"\x15\x03\x01\x00\x02\x02\x0a", b"\x15\x03\x03\x00\x02\x02\x16"]
NO_HTTP = {
    "nul": b"\0\0\0oops", "gzip": b"\x1f\x8b\x08\0\0\0\0\0", "http2": b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80",
    "cut": b"\x15", "like an alert": b"\x15\x02\x03\0\2\2\x46", "handshake": b"\x16\x03\x01\0\x05\1",
    "banner": b"SSH-2.0-x\r\n\r\n", "chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\x15\x03\x03\r\n",
}  # fmt: skip


class Answering(socketserver.StreamRequestHandler):
    def handle(self):
        length = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        self.rfile.read(length)
        self.wfile.write(self.server.answers.pop(0))


@pytest.fixture
def port():
    """A port that answers each connection by the next of its answers, and closes it."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answering) as server:
        server.answers = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(params=["blocking", "asyncio"])
def asked(request):
    """Plays verbs, one after the other, each tried once."""

    def ask(url, *verbs, **settings):
        if request.param == "blocking":
            with Client(url, "k", patience=Patience(0), **settings) as client:
                return [verb(client) for verb in verbs]

        async def play():
            async with AsyncClient(url, "k", patience=Patience(0), **settings) as client:
                return [await verb(client) for verb in verbs]

        return asyncio.run(play())

    return ask


@pytest.fixture
def here(port, asked):
    """The same, of that port."""
    return lambda *verbs: asked(f"http://127.0.0.1:{port.server_address[1]}", *verbs)


def read(client):
    return client.state.get("a")


def change(client):
    return client.state.put("a", 2, if_revision=1)


@pytest.mark.parametrize("alert", ALERTS)
@pytest.mark.parametrize("verb", [read, change])
def test_an_alert_of_tls_says_that_nothing_was_taken(port, here, verb, alert):
    port.answers = [alert]
    with pytest.raises(Unreachable, match="expects TLS, and took nothing: write https://"):
        here(verb)


@pytest.mark.parametrize("answer", NO_HTTP.values(), ids=NO_HTTP)
def test_what_else_is_no_http_leaves_a_change_unknown(port, here, answer):
    port.answers = [answer, answer]
    with pytest.raises(OutcomeUnknown) as told:
        here(change)
    with pytest.raises(Unreachable) as said:
        here(read)
    assert "TLS" not in f"{told.value} {said.value}"


def unanswered(request):
    raise httpx2.ReadError("cut off")


HINT = "should the address begin with https"


def test_a_cut_says_nothing_of_a_change_and_is_told_with_a_hint(asked):
    with pytest.raises(OutcomeUnknown, match=HINT):
        asked("http://far", change, transport=httpx2.MockTransport(unanswered))
    with pytest.raises(Unreachable, match=HINT):
        asked("http://far", read, transport=httpx2.MockTransport(unanswered))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9:8750", "[::1]", "localhost:8750", "a.localhost"])
def test_this_machine_speaks_no_tls_so_there_is_no_hint(asked, host):
    with pytest.raises(OutcomeUnknown) as told:
        asked(f"http://{host}", change, transport=httpx2.MockTransport(unanswered))
    assert "https" not in str(told.value)


def test_where_something_has_answered_there_is_no_hint(asked):
    answers = [httpx2.Response(200, headers={"revision": "1"}, stream=httpx2.ByteStream(b"1"))]
    transport = httpx2.MockTransport(lambda request: answers.pop() if answers else unanswered(request))
    with pytest.raises(OutcomeUnknown) as told:
        asked("http://far", read, change, transport=transport)
    assert "https" not in str(told.value)
