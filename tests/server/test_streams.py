"""Bodies that come and go piece by piece, over the real HTTP server: what is on the wire, and what is in memory."""

from __future__ import annotations

import asyncio
import hashlib
import resource
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.server.protocol import end_slow
from steadhold.server.run import serving
from steadhold.web import streaming
from tests.server.test_sockets import HOST, KEY, Site, ToyApp, _answer, code, until
from tests.web.flows import Flows

LINES = b"GET /v1/lines HTTP/1.1\r\n" + HOST + KEY + b"\r\n"
MEBIBYTE = 1024 * 1024


class FlowApp(ToyApp):
    """The same over rooms whose bodies come and go piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.world = Flows()
        self.doors = self.world.doors()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    app = FlowApp()
    listener = socket.create_server(("127.0.0.1", 0))
    async with serving(app, listener) as server:
        yield Site(app, server, listener.getsockname()[1])


def get(address: bytes, more: bytes = b"", version: bytes = b"1.1") -> bytes:
    return b"GET " + address + b" HTTP/" + version + b"\r\n" + HOST + KEY + more + b"\r\n"


def put(address: bytes, more: bytes) -> bytes:
    return b"PUT " + address + b" HTTP/1.1\r\n" + HOST + KEY + more + b"\r\n"


async def test_a_stream_begins_at_once_goes_in_chunks_and_ends_its_connection(site):
    reader, writer = await site.connect()
    writer.write(LINES + get(b"/v1/things/a"))
    head = await reader.readuntil(b"\r\n\r\n")
    assert b"transfer-encoding: chunked\r\n" in head
    assert b"connection: close\r\n" in head
    assert await reader.readexactly(8) == b"3\r\n:\n\n\r\n"
    site.world.lines.append(b"one")
    site.world.hub.touch(("acme", "lines"))
    assert await reader.readexactly(8) == b"3\r\none\r\n"
    site.world.hub.stop()
    assert await reader.read() == b"0\r\n\r\n", "what was asked behind it is not answered"
    assert [seen.route for seen in site.world.seen] == ["/v1/lines"]
    writer.close()


async def test_a_stream_to_an_older_client_is_as_it_is(site):
    reader, writer = await site.connect()
    writer.write(get(b"/v1/lines", version=b"1.0"))
    assert b"chunked" not in await reader.readuntil(b"\r\n\r\n")
    assert await reader.readexactly(3) == b":\n\n"
    site.world.hub.stop()
    assert await reader.read() == b""
    writer.close()


async def test_a_client_that_leaves_ends_its_stream(site):
    _, writer = await site.connect()
    writer.write(LINES)
    await until(lambda: len(site.app.doors.streams))
    writer.close()
    await until(lambda: site.app.doors.streams.ended)
    assert site.app.doors.streams.ended == {"gone": 1}


async def test_a_server_that_stops_waits_for_no_stream(site):
    streams = [await site.connect() for _ in range(20)]
    for _, writer in streams:
        writer.write(LINES)
    await until(lambda: len(site.app.doors.streams) == 20)
    site.server.stop()
    for reader, writer in streams:
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()
    await until(lambda: not site.server.server_state.connections)


@pytest.mark.parametrize("path", [b"/v1/dumps/a", b"/v1/lines"])
async def test_who_reads_nothing_is_kept_no_more_for_than_a_piece(site, monkeypatch, path):
    monkeypatch.setattr(streaming, "LOOK_SECONDS", 0.01)
    site.world.files["a"] = b"x" * (64 * MEBIBYTE)
    site.world.lines = [b"x" * MEBIBYTE] * 64
    _, writer = await site.connect()
    writer.transport.pause_reading()
    writer.write(get(path))
    await until(lambda: site.server.server_state.connections)
    (connection,) = site.server.server_state.connections
    await until(lambda: connection.out.full is not None)
    assert connection.transport.get_write_buffer_size() < 2 * MEBIBYTE
    del site.world.keys["anna"]
    await until(lambda: not site.server.server_state.connections)
    assert site.app.doors.streams.ended == {"key_ended": 1}
    writer.close()


async def test_a_large_piece_lies_at_a_connection_in_part_only(site):
    site.world.lines = [b"x" * (32 * MEBIBYTE)]
    reader, writer = await site.connect()
    writer.transport.pause_reading()
    writer.write(LINES)
    await until(lambda: site.server.server_state.connections)
    (connection,) = site.server.server_state.connections
    await until(lambda: connection.out.full is not None)
    assert connection.transport.get_write_buffer_size() < MEBIBYTE
    writer.transport.resume_reading()
    left = 32 * MEBIBYTE
    while left > 0:
        left -= (await reader.read(MEBIBYTE)).count(b"x")
    writer.close()


async def test_a_body_of_known_length_keeps_its_connection_and_a_cut_one_ends_it(site):
    site.world.files["a"] = b"0123456789"
    reader, writer = await site.connect()
    writer.write(get(b"/v1/files/a") + get(b"/v1/files/a", b"Range: bytes=8-\r\n"))
    assert (await _answer(reader)).endswith(b"\r\n\r\n0123456789")
    part = await _answer(reader)
    assert part.startswith(b"HTTP/1.1 206 ")
    assert part.endswith(b"\r\n\r\n89")
    site.world.files["a"] = b"x" * 400
    site.world.stall = asyncio.Event()
    writer.write(get(b"/v1/dumps/a"))
    await until(lambda: len(site.app.doors.streams))
    site.world.fail = RuntimeError("planted")
    site.world.stall.set()
    assert not (await reader.read()).endswith(b"0\r\n\r\n")
    writer.close()


async def test_a_body_is_asked_for_by_the_first_pull_and_not_where_it_is_refused_before(site):
    reader, writer = await site.connect()
    writer.write(put(b"/v1/files/a", b"Expect: 100-continue\r\nContent-Length: 10\r\n"))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert site.world.played == ["web.given"], "what the route does first is done first"
    writer.write(b"0123456789" + put(b"/v1/walls/a", b"Expect: 100-continue\r\nContent-Length: 10\r\n"))
    assert msgspec.json.decode((await _answer(reader)).partition(b"\r\n\r\n")[2])["length"] == 10
    refused = await _answer(reader)
    assert code(refused) == "storage_exhausted"
    assert b"connection: close\r\n" in refused
    assert await reader.read() == b""
    writer.close()


async def test_who_is_refused_while_it_sends_can_read_that(site):
    reader, writer = await site.connect()
    writer.write(put(b"/v1/walls/a", b"Content-Length: 4000000\r\n") + b"x" * 1_000_000)
    assert code(await _answer(reader)) == "storage_exhausted"
    writer.close()


async def test_a_cut_upload_is_told_to_the_route(site):
    _, writer = await site.connect()
    writer.write(put(b"/v1/files/a", b"Content-Length: 10\r\n") + b"01234")
    await until(lambda: site.world.kept)
    writer.close()
    await until(lambda: site.world.undone)
    assert site.world.after == [None]


async def test_a_slow_upload_is_no_slow_request_as_long_as_it_comes(site):
    reader, writer = await site.connect()
    writer.write(put(b"/v1/files/a", b"Content-Length: 10\r\n") + b"01234")
    await until(lambda: site.world.kept)
    end_slow(site.server.server_state.connections, asyncio.get_running_loop().time() + 10 * limits.BODY_SECONDS_MAX)
    writer.write(b"56789")
    assert (await _answer(reader)).startswith(b"HTTP/1.1 201 ")
    writer.write(get(b"/v1/things/a"))
    assert (await _answer(reader)).startswith(b"HTTP/1.1 404 ")
    writer.close()


async def test_large_uploads_at_once_leave_memory_as_it_is(site):
    """16 of 16 MiB: what lies here of each is a piece, and never the body."""
    piece = b"x" * 65_536
    digest = hashlib.sha256(piece * 256).hexdigest()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    async def upload() -> bytes:
        reader, writer = await site.connect()
        writer.write(put(b"/v1/files/large", b"Content-Length: %d\r\n" % (16 * MEBIBYTE)))
        for _ in range(256):
            writer.write(piece)
            await writer.drain()
        answer = await _answer(reader)
        writer.close()
        return answer

    answers = await asyncio.gather(*[upload() for _ in range(16)])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert all(digest.encode() in answer for answer in answers)
    assert set(site.world.kept) == {b"262144"}
    assert grown < 64 * 1024  # kilobytes, the clients' included
