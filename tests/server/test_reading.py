"""What is read as a request and what is not, over the real server: framing, addresses, protocols, endless fields."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import pytest

from steadhold.kit import limits
from steadhold.server.protocol import FAREWELL_SECONDS, end_slow
from steadhold.server.reading import PIECE_BYTES, UNREAD_BYTES_MAX
from tests.server.echo import ASK, HOST, Site, echoing, last, until

POST = b"POST /body HTTP/1.1\r\n" + HOST
CHUNKED = b"Transfer-Encoding: chunked\r\n"
H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with echoing() as site:
        yield site


REFUSED = {
    "a coding before chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an empty coding": POST + b"Transfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n",
    "codings in two lines": POST + b"Transfer-Encoding: identity\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "a space behind a chunk size": POST + CHUNKED + b"\r\n1 \r\nx\r\n0\r\n\r\n",
    "a bare LF behind a chunk size": POST + CHUNKED + b"\r\n1\nx\r\n0\r\n\r\n",
    "a chunk size beyond 64 bits": POST + CHUNKED + b"\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n",
    "a negative chunk size": POST + CHUNKED + b"\r\n-1\r\nx\r\n0\r\n\r\n",
    "a trailer about the length": POST + CHUNKED + b"\r\n0\r\nContent-Length: 5\r\n\r\n",
    "a trailer about the connection": POST + CHUNKED + b"\r\n0\r\nConnection: close\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a bare LF": b"GET / HTTP/1.1\nHost: here\n\n",
    "a bare CR in a field": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: a\rb\r\n\r\n",
    "a host that is none": b"GET / HTTP/1.1\r\nHost: a b,c\r\n\r\n",
    "another host in the address": b"GET http://there/small HTTP/1.1\r\n" + HOST + b"\r\n",
    "a user in the address": b"GET http://user@here/small HTTP/1.1\r\n" + HOST + b"\r\n",
    "another scheme in the address": b"GET ftp://here/small HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT here:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel to a path": b"CONNECT /small HTTP/1.1\r\n" + HOST + b"\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
async def test_what_could_be_read_in_two_ways_is_read_in_none(site, sent):
    answer = await site.say(sent + ASK)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\nHTTP/1.1 " not in answer
    assert not any(piece.get("body") for piece in site.app.received)
    assert all(seen["path"] == "/body" for seen in site.app.seen)


@pytest.mark.parametrize("together", [True, False], ids=["at once", "in two writes"])
@pytest.mark.parametrize(
    "framed", [b"Content-Length: 3\r\n\r\nabc", CHUNKED + b"\r\n3\r\nabc\r\n0\r\n\r\n"], ids=["length", "chunks"]
)
async def test_a_request_that_offers_another_protocol_keeps_its_body_and_what_follows(site, framed, together):
    head, end, body = framed.partition(b"\r\n\r\n")
    whole = [POST + H2C + head + end, body + last(b"/")]
    answer = await site.say(*([b"".join(whole)] if together else whole))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b"".join(piece["body"] for piece in site.app.received) == b"abc"
    assert [seen["path"] for seen in site.app.seen] == ["/body", "/"]
    fields = dict(site.app.seen[0]["headers"])
    assert fields[b"host"] == b"here"
    assert b"upgrade" not in fields


@pytest.mark.parametrize("host", [b"", b"here:80", b"[::1]:80", b"[fe80::1%25eth0]", b"a_b.c", b"127.0.0.1"])
async def test_space_around_a_value_is_no_part_of_it(site, host):
    head = b"POST /body HTTP/1.1\r\nHost: \t" + host + b" \t\r\nX-A:  a b  \r\nX-B: \t \r\n"
    chunked = b"Transfer-Encoding:  chunked \r\nConnection: close \r\n\r\n1\r\nx\r\n0\r\n\r\n"
    assert (await site.say(head + chunked)).startswith(b"HTTP/1.1 200 OK")
    fields = dict(site.app.seen[0]["headers"])
    assert (fields[b"host"], fields[b"x-a"], fields[b"x-b"]) == (host, b"a b", b"")
    assert site.app.received[0]["body"] == b"x"


ENDLESS = {
    "a field": b"GET / HTTP/1.1\r\n" + HOST + b"X-A: ",
    "the name of a field": b"GET / HTTP/1.1\r\n" + HOST,
    "a trailer": POST + CHUNKED + b"\r\n0\r\nX-A: ",
    "an extension of a chunk": POST + CHUNKED + b"\r\n1;x=",
}


@pytest.mark.parametrize("begun", ENDLESS.values(), ids=ENDLESS)
async def test_what_does_not_end_is_cut_off_before_it_fills_memory(site, begun):
    reader, writer = await site.connect()
    writer.write(begun + b"a" * (limits.ADDRESS_BYTES_MAX + limits.HEADER_BYTES_MAX + 4 * PIECE_BYTES))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 431 ")
    writer.close()


async def test_who_is_told_off_while_still_sending_can_read_it(site):
    reader, writer = await site.connect()
    writer.write(b"GET / HTTP/1.1\r\n" + HOST + b"X-A: " + b"a" * 100_000)
    await writer.drain()
    (connection,) = site.connections
    await until(lambda: connection.leaving_since is not None)
    writer.write(b"a" * 1_000_000)
    await writer.drain()
    assert (await reader.read()).startswith(b"HTTP/1.1 431 ")
    end_slow(site.connections, connection.leaving_since + FAREWELL_SECONDS + 1)
    await until(lambda: not site.connections)
    writer.close()


async def test_whoever_has_sent_the_body_or_is_of_an_older_version_is_not_told_to_continue(site):
    expects = HOST + b"Expect: 100-continue\r\nConnection: close\r\n"
    for head in (b"Content-Length: 3\r\n\r\nabc", b"Content-Length: 0\r\n\r\n"):
        assert (await site.say(b"PUT /body HTTP/1.1\r\n" + expects + head)).startswith(b"HTTP/1.1 200 OK")
    reader, writer = await site.connect()
    writer.write(b"PUT /body HTTP/1.0\r\n" + expects + b"Content-Length: 3\r\n\r\n")
    await until(lambda: len(site.app.seen) == 3)
    writer.write(b"abc")
    assert (await reader.read()).startswith(b"HTTP/1.1 200 OK")
    writer.close()


async def test_an_answer_that_its_client_does_not_take_ends_the_connection(site):
    silent = socket.create_connection(("127.0.0.1", site.port))
    silent.setblocking(False)
    sent = await _fill(site, silent)
    (connection,) = site.connections
    assert sent > UNREAD_BYTES_MAX
    now = asyncio.get_running_loop().time()
    end_slow(site.connections, now)
    end_slow(site.connections, now + limits.ANSWER_SECONDS_MAX - 1)
    assert site.connections == {connection}
    end_slow(site.connections, now + limits.ANSWER_SECONDS_MAX + 2)
    await until(lambda: not site.connections and not site.server.server_state.tasks)
    silent.close()


async def _fill(site: Site, silent: socket.socket) -> int:
    """Ask until the server takes no more."""
    sent = 0
    async with asyncio.timeout(20):
        while not any(connection.paused and connection.out.full for connection in site.connections):
            try:
                sent += silent.send(ASK * 1_000)
            except BlockingIOError:
                await asyncio.sleep(0)
    return sent


async def test_time_that_a_request_lies_here_unread_is_not_its_clients(site):
    reader, writer = await site.connect()
    body = b"a" * (2 * PIECE_BYTES)
    asked = b"PUT /body HTTP/1.1\r\nConnection: close\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % len(body)
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n" + asked + body)
    await until(lambda: site.connections and next(iter(site.connections)).behind)
    end_slow(site.connections, asyncio.get_running_loop().time() + limits.BODY_SECONDS_MAX + 1)
    site.app.gate.set()
    assert (await reader.read()).count(b"HTTP/1.1 200 OK") == 2
    writer.close()
    assert b"".join(piece["body"] for piece in site.app.received) == body
