"""Hostile and unlucky clients, byte by byte, against the real HTTP server over toy routes."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.server.exchange import Exchange
from steadhold.server.protocol import Connection, end_slow
from steadhold.server.run import Server, serving
from tests.web.toy import World

HOST = b"Host: here\r\n"
KEY = b"Authorization: Bearer anna\r\n"
JSON = b"Content-Type: application/json\r\n"


class ToyApp:
    """What the server needs of an application, over toy doors."""

    def __init__(self) -> None:
        self.world = World()
        self.doors = self.world.doors()

    async def start(self) -> None:
        self.world.hub.stopping = False

    async def stop(self) -> None:
        pass

    def stop_waiting(self) -> None:
        self.world.hub.stop()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.doors(scope, receive, send)

    async def serve(self, exchange: Exchange) -> None:
        await self.doors.answer(exchange)


class Site:
    """A server and where it listens."""

    def __init__(self, app: ToyApp, server: Server, port: int) -> None:
        self.app, self.world, self.server, self.port = app, app.world, server, port

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, *pieces: bytes, close: bool = False) -> bytes:
        """Send bytes as they are; all that is answered until the server closes, or is silent after an answer."""
        reader, writer = await self.connect()
        try:
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
            if close:
                writer.write_eof()
            return await _answer(reader)
        except ConnectionError:
            return b""
        finally:
            writer.close()


async def until(true: Callable[[], object]) -> None:
    """Let others run until something is so."""
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0)


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


def code(answer: bytes) -> str:
    head, _, body = answer.partition(b"\r\n\r\n")
    told = msgspec.json.decode(body)
    assert head.startswith(b"HTTP/1.1 %d " % told["status"])
    assert b"application/problem+json" in head
    return told["code"]


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    app = ToyApp()
    listener = socket.create_server(("127.0.0.1", 0))
    async with serving(app, listener) as server:
        yield Site(app, server, listener.getsockname()[1])


async def test_a_request_is_answered_and_the_connection_kept(site):
    site.world.things["a"] = (1, b"[1]")
    reader, writer = await site.connect()
    for _ in range(2):
        writer.write(b"GET /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"\r\n")
        assert (await _answer(reader)).endswith(b"\r\n\r\n[1]")
    writer.close()


AMBIGUOUS = {
    "length and chunks": b"POST /v1/boxes/a/free HTTP/1.1\r\n"
    + HOST
    + KEY
    + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST /v1/boxes/a/free HTTP/1.1\r\n"
    + HOST
    + KEY
    + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "one length, twice": b"POST /v1/boxes/a/free HTTP/1.1\r\n"
    + HOST
    + KEY
    + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a length that is no number": b"POST /v1/boxes/a/free HTTP/1.1\r\n" + HOST + KEY + b"Content-Length: +3\r\n\r\nabc",
    "a coding that is not chunked": b"POST /v1/boxes/a/free HTTP/1.1\r\n"
    + HOST
    + KEY
    + b"Transfer-Encoding: xchunked\r\n\r\n",
    "a chunk size that is none": b"PUT /v1/things/a HTTP/1.1\r\n"
    + HOST
    + KEY
    + JSON
    + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "two hosts": b"GET /v1/things/a HTTP/1.1\r\n" + HOST + HOST + KEY + b"\r\n",
    "no host": b"GET /v1/things/a HTTP/1.1\r\n" + KEY + b"\r\n",
    "a folded field": b"GET /v1/things/a HTTP/1.1\r\n" + HOST + b"X-A: b\r\n c\r\n" + KEY + b"\r\n",
    "a space before the colon": b"GET /v1/things/a HTTP/1.1\r\n" + HOST + b"Authorization : Bearer anna\r\n\r\n",
    "a NUL in a field": b"GET /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"X-A: a\x00b\r\n\r\n",
    "bytes beyond ASCII in the address": b"GET /v1/things/\xc3\xa9 HTTP/1.1\r\n" + HOST + KEY + b"\r\n",
    "another protocol": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "no version": b"GET /v1/things/a\r\n\r\n",
    "an unknown method": b"BREW /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"\r\n",
}


@pytest.mark.parametrize("name", AMBIGUOUS)
async def test_what_may_have_two_meanings_is_refused_and_the_connection_closed(site, name):
    reader, writer = await site.connect()
    writer.write(AMBIGUOUS[name])
    assert code(await _answer(reader)) == "bad_request"
    assert await reader.read() == b""
    writer.close()
    assert not site.world.played


async def test_floods_of_fields_and_long_addresses_are_cut_off(site):
    many = b"".join(b"X-%d: 1\r\n" % n for n in range(limits.HEADER_FIELDS_MAX + 1))
    large = b"X-A: " + b"a" * limits.HEADER_BYTES_MAX + b"\r\n"
    long = b"/v1/things/" + b"a" * limits.ADDRESS_BYTES_MAX
    assert code(await site.say(b"GET /v1/things/a HTTP/1.1\r\n" + HOST + many + b"\r\n")) == "headers_too_large"
    assert code(await site.say(b"GET /v1/things/a HTTP/1.1\r\n" + HOST + large + b"\r\n")) == "headers_too_large"
    assert code(await site.say(b"GET " + long + b" HTTP/1.1\r\n" + HOST + b"\r\n")) == "uri_too_long"


async def test_a_body_that_is_declared_too_large_is_refused_before_it_is_sent(site):
    head = b"PUT /v1/things/a HTTP/1.1\r\n" + HOST + KEY + JSON + b"If-None-Match: *\r\nContent-Length: 1001\r\n\r\n"
    assert code(await site.say(head)) == "too_large"


async def test_a_body_in_chunks_is_refused_at_its_limit_and_memory_stays_flat(site):
    reader, writer = await site.connect()
    writer.write(
        b"PUT /v1/things/a HTTP/1.1\r\n" + HOST + KEY + JSON + b"If-None-Match: *\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    chunk = b"10000\r\n" + b"[" * 0x10000 + b"\r\n"
    for _ in range(800):  # 50 MiB, of which 1,000 bytes are wanted
        writer.write(chunk)
        await writer.drain()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert code(await _answer(reader)) == "too_large"
    writer.close()
    assert not site.world.things
    assert grown < 20_000  # kilobytes


async def test_a_body_that_ends_early_changes_nothing(site):
    head = b"PUT /v1/things/a HTTP/1.1\r\n" + HOST + KEY + JSON + b"If-None-Match: *\r\nContent-Length: 10\r\n\r\n"
    _, writer = await site.connect()
    writer.write(head + b"[1,2")
    await writer.drain()
    writer.close()
    await writer.wait_closed()
    assert (await site.say(b"GET /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"\r\n")).startswith(b"HTTP/1.1 404")
    assert not site.world.things


BEGUN = {
    "nothing": b"",
    "half a head": b"GET /v1/things/a HTTP/1.1\r\nX-Slow: ",
    "half a body": b"PUT /v1/things/a HTTP/1.1\r\n" + HOST + KEY + JSON + b"Content-Length: 9\r\n\r\n[1",
}


@pytest.mark.parametrize("begun", BEGUN.values(), ids=BEGUN)
async def test_a_request_that_arrives_too_slowly_is_ended(site, begun):
    reader, writer = await site.connect()
    writer.write(begun)
    await writer.drain()
    await _connected(site, arriving=begun)
    now = asyncio.get_running_loop().time()
    end_slow(site.server.server_state.connections, now + limits.HEADER_SECONDS_MAX - 1)
    assert len(site.server.server_state.connections) == 1
    end_slow(site.server.server_state.connections, now + limits.BODY_SECONDS_MAX + 1)
    assert code(await reader.read()) == "request_timeout"
    writer.close()


async def _connected(site: Site, arriving: bytes) -> None:
    def arrived(connection: Connection) -> bool:
        if b"PUT" in arriving:
            return connection.exchange is not None
        return not arriving or getattr(connection, "url", b"") != b""

    await until(lambda: any(map(arrived, site.server.server_state.connections)))


async def test_a_slow_answer_is_not_a_slow_request(site):
    site.world.stall = asyncio.Event()
    reader, writer = await site.connect()
    writer.write(b"GET /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"\r\n")
    await until(lambda: site.world.played)
    end_slow(site.server.server_state.connections, asyncio.get_running_loop().time() + 1_000)
    site.world.stall.set()
    assert (await _answer(reader)).startswith(b"HTTP/1.1 404")
    writer.close()


async def test_more_connections_than_allowed_from_one_address_are_dropped(site, monkeypatch):
    monkeypatch.setattr(limits, "CONNECTIONS_PER_ADDRESS_MAX", 2)
    kept = [await site.connect() for _ in range(2)]
    await until(lambda: len(site.server.server_state.connections) == 2)
    reader, writer = await site.connect()
    with pytest.raises((ConnectionError, EOFError)):
        await reader.readexactly(1)
    for _, each in kept:
        each.close()
    writer.close()


async def test_more_connections_than_allowed_are_told_so(site, monkeypatch):
    monkeypatch.setattr(limits, "CONNECTIONS_MAX", 1)
    _, first = await site.connect()
    await until(lambda: site.server.server_state.connections)
    assert code(await site.say()) == "unavailable"
    first.close()


async def test_an_upgrade_is_not_taken(site):
    site.world.things["a"] = (1, b"[1]")
    asked = b"GET /v1/things/a HTTP/1.1\r\n" + HOST + KEY + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    assert (await site.say(asked)).startswith(b"HTTP/1.1 200")


async def test_stopping_answers_long_polls_and_ends(site):
    site.world.things["a"] = (1, b"[1]")
    polls = []
    for _ in range(20):
        reader, writer = await site.connect()
        writer.write(b'GET /v1/things/a?wait_seconds=30 HTTP/1.1\r\nIf-None-Match: "1"\r\n' + HOST + KEY + b"\r\n")
        polls.append((reader, writer))
    await until(lambda: len(site.world.hub) == 20)
    site.server.stop()
    for reader, writer in polls:
        assert (await reader.read()).startswith(b"HTTP/1.1 304")
        writer.close()
    await until(lambda: not site.server.server_state.connections)


async def test_a_client_that_leaves_ends_its_long_poll(site):
    site.world.things["a"] = (1, b"[1]")
    _, writer = await site.connect()
    writer.write(b'GET /v1/things/a?wait_seconds=30 HTTP/1.1\r\nIf-None-Match: "1"\r\n' + HOST + KEY + b"\r\n")
    await until(lambda: len(site.world.hub))
    writer.close()
    await until(lambda: not len(site.world.hub))
    assert [seen.status for seen in site.world.seen] == [499]


async def test_what_was_taken_is_given_back_if_the_client_has_gone(site):
    site.world.stall = asyncio.Event()
    site.world.things["box"] = (1, b"1")
    _, writer = await site.connect()
    writer.write(b"POST /v1/boxes/box/take HTTP/1.1\r\nContent-Length: 0\r\n" + HOST + KEY + b"\r\n")
    await until(lambda: site.world.played)
    writer.close()
    await until(lambda: not site.server.server_state.connections)
    site.world.stall.set()
    await until(lambda: site.world.undone)
    assert site.world.undone == ["box"]
