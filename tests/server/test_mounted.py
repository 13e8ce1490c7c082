"""Bodies in pieces under another ASGI server, uvicorn as it comes, in which the doors are mounted."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import contextmanager

import msgspec
import pytest
import uvicorn

from steadhold.web import streaming
from tests.server.test_sockets import HOST, KEY, _answer, until
from tests.web.flows import Flows


class Plain(uvicorn.Server):
    """uvicorn without its signal handlers, which are not a test's."""

    @contextmanager
    def capture_signals(self):
        yield


class Site:
    def __init__(self, world: Flows, doors, server: Plain, port: int) -> None:
        self.world, self.doors, self.server, self.port = world, doors, server, port

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    world = Flows()
    doors = world.doors()
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    listener = socket.create_server(("127.0.0.1", 0))
    server = Plain(uvicorn.Config(doors, lifespan="off", log_config=None, access_log=False))
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    await until(lambda: server.started)
    yield Site(world, doors, server, listener.getsockname()[1])
    world.hub.stop()
    server.should_exit = True
    await task


def ask(method: bytes, address: bytes, more: bytes = b"") -> bytes:
    return method + b" " + address + b" HTTP/1.1\r\n" + HOST + KEY + more + b"\r\n"


async def test_a_stream_goes_on_and_ends_with_its_client(site):
    reader, writer = await site.connect()
    writer.write(ask(b"GET", b"/v1/lines"))
    assert b"transfer-encoding: chunked" in await reader.readuntil(b"\r\n\r\n")
    assert await reader.readuntil(b":\n\n\r\n") == b"3\r\n:\n\n\r\n"
    site.world.lines.append(b"one")
    site.world.hub.touch(("acme", "lines"))
    assert await reader.readuntil(b"one\r\n") == b"3\r\none\r\n"
    writer.close()
    await until(lambda: site.doors.streams.ended)
    assert site.doors.streams.ended == {"gone": 1}


@pytest.mark.parametrize("why", ["key_ended", "stopped"])
async def test_a_stream_ends_with_its_key_and_its_server(site, monkeypatch, why):
    monkeypatch.setattr(streaming, "LOOK_SECONDS", 0.01)
    reader, writer = await site.connect()
    writer.write(ask(b"GET", b"/v1/lines", b"Connection: close\r\n"))
    await until(lambda: len(site.doors.streams))
    if why == "stopped":
        site.world.hub.stop()
    else:
        site.world.keys.clear()
    assert (await reader.read()).endswith(b"3\r\n:\n\n\r\n0\r\n\r\n")
    assert site.doors.streams.ended == {why: 1}
    writer.close()


async def test_a_body_that_is_cut_does_not_look_whole(site):
    site.world.files["a"] = b"x" * 400
    site.world.stall = asyncio.Event()
    reader, writer = await site.connect()
    writer.write(ask(b"GET", b"/v1/dumps/a"))
    await until(lambda: site.world.played)
    site.world.fail = RuntimeError("planted")
    site.world.stall.set()
    answer = await reader.read()
    assert b"transfer-encoding: chunked" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    writer.close()


async def test_a_body_is_taken_in_pieces_and_asked_for_by_the_first_pull(site):
    reader, writer = await site.connect()
    writer.write(ask(b"PUT", b"/v1/files/a", b"Expect: 100-continue\r\nContent-Length: 10\r\n"))
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"01234")
    await until(lambda: site.world.kept)
    writer.write(b"56789")
    assert msgspec.json.decode((await _answer(reader)).partition(b"\r\n\r\n")[2])["length"] == 10
    assert site.world.kept == [b"0123", b"4567", b"89"]
    writer.close()


async def test_a_cut_upload_is_told_to_the_route(site):
    _, writer = await site.connect()
    writer.write(ask(b"PUT", b"/v1/files/a", b"Content-Length: 10\r\n") + b"01234")
    await until(lambda: site.world.kept)
    writer.close()
    await until(lambda: site.world.undone)
    assert site.world.after == [None]
