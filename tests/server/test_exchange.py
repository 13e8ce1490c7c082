"""What HTTP/1.1 asks of a connection, over the real server: order, framing, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvloop
from structlog.testing import capture_logs

from steadhold.kit import limits
from steadhold.server.protocol import end_slow
from steadhold.server.reading import PIECE_BYTES, UNREAD_BYTES_MAX
from tests.server.echo import ASK, HOST, PIECES, Site, echoing, last, until


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with echoing() as site:
        yield site


async def test_requests_that_were_sent_at_once_are_answered_in_order(site):
    reader, writer = await site.connect()
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n" + ASK * 3 + last(b"/"))
    await until(lambda: site.app.seen)
    assert [seen["path"] for seen in site.app.seen] == ["/gated"]
    site.app.gate.set()
    answers = await reader.read()
    writer.close()
    assert answers.count(b"HTTP/1.1 200 OK") == answers.count(b"\r\n\r\nok") == 5
    assert answers.count(b"connection: close") == 1
    assert [seen["path"] for seen in site.app.seen] == ["/gated", "/", "/", "/", "/"]


async def asked_for_pieces() -> bytes:
    asked = b" /pieces HTTP/1.1\r\n" + HOST + b"\r\n"
    async with echoing() as site:
        reader, writer = await site.connect()
        writer.write(ASK + b"GET" + asked + b"HEAD" + asked + last(b"/"))
        answers = await reader.read()
        writer.close()
    return answers


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_an_answer_in_pieces_is_whole_and_in_its_place(loop):
    with asyncio.Runner(loop_factory=loop) as runner:
        answers = runner.run(asked_for_pieces())
    before, whole, head, after = answers.split(b"HTTP/1.1 200 OK\r\n")[1:]
    assert before.endswith(b"\r\n\r\nok")
    assert whole.partition(b"\r\n\r\n")[2] == b"".join(PIECES)
    assert head.partition(b"\r\n\r\n")[2] == b""
    assert b"content-length: 1000000\r\n" in head
    assert after.endswith(b"\r\n\r\nok")


async def test_whoever_asks_much_at_once_holds_nobody_up(site):
    pairs = [await site.connect() for _ in range(2)]
    await until(lambda: len(site.connections) == 2)
    greedy, modest = site.connections
    greedy.data_received(ASK * 999)
    modest.data_received(b"GET /small HTTP/1.1\r\n" + HOST + b"\r\n")
    await until(lambda: len(site.app.seen) == 1_000)
    assert [seen["path"] for seen in site.app.seen].index("/small") <= 2
    for _, writer in pairs:
        writer.close()


async def test_who_ends_after_asking_gets_what_was_answered_by_then(site):
    reader, writer = await site.connect()
    await until(lambda: site.connections)
    (connection,) = site.connections
    connection.out.say(b"answered")
    assert not connection.eof_received()
    connection.transport.close()
    assert await reader.read() == b"answered"
    writer.close()


async def test_while_requests_wait_what_follows_is_kept_as_it_came(site):
    reader, writer = await site.connect()
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n" + ASK * 999 + last(b"/"))
    await until(lambda: site.connections and next(iter(site.connections)).behind)
    (connection,) = site.connections
    most = PIECE_BYTES // len(ASK) + 1
    assert len(connection.queue) <= most
    connection.want_more()
    assert len(connection.queue) <= most
    site.app.gate.set()
    assert (await reader.read()).count(b"HTTP/1.1 200 OK") == 1_001
    writer.close()


async def test_a_client_that_sent_more_than_is_answered_is_read_no_further(site):
    _, writer = await site.connect()
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n" + ASK * 20_000)
    await until(lambda: site.connections and next(iter(site.connections)).paused)
    (connection,) = site.connections
    assert len(connection.behind) < len(ASK) * 15_000
    site.app.gate.set()
    await until(lambda: len(site.app.seen) == 20_001)
    writer.close()


async def test_a_client_that_leaves_is_missed_though_it_asked_more_meanwhile(site):
    _, writer = await site.connect()
    writer.write(b"GET /wait HTTP/1.1\r\n" + HOST + b"\r\n" + ASK * 500)
    await until(lambda: site.app.seen)
    writer.close()
    async with asyncio.timeout(10):
        await site.app.left.wait()
    await until(lambda: not site.server.server_state.tasks)
    assert len(site.app.seen) == 1


async def test_what_cannot_be_read_ends_the_connection_behind_the_answers_to_what_could(site):
    assert (await site.say(ASK + b"no request\r\n\r\n")).count(b"HTTP/1.1 200 OK") == 1
    assert len(site.app.seen) == 1


async def test_a_stream_of_unknown_length_goes_in_chunks_as_it_comes(site):
    reader, writer = await site.connect()
    writer.write(last(b"/stream"))
    assert b"transfer-encoding: chunked" in await reader.readuntil(b"\r\n\r\n")
    assert await reader.readuntil(b"one\r\n") == b"3\r\none\r\n"
    site.app.gate.set()
    assert await reader.read() == b"3\r\ntwo\r\n0\r\n\r\n"
    writer.close()


async def test_a_client_of_an_older_version_gets_no_chunks_and_the_end_of_the_connection(site):
    site.app.gate.set()
    answer = await site.say(b"GET /stream HTTP/1.0\r\n\r\n")
    assert b"chunked" not in answer
    assert answer.endswith(b"connection: close\r\n\r\nonetwo")


async def test_a_head_gets_the_fields_and_no_body(site):
    answer = await site.say(last(b"/").replace(b"GET", b"HEAD"))
    assert b"content-length: 2\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_every_answer_has_a_date(site):
    assert b"\r\ndate: " in await site.say(last(b"/"))


async def test_whoever_expects_to_be_told_to_continue_is_told_once_the_body_is_wanted(site):
    reader, writer = await site.connect()
    writer.write(b"PUT /body HTTP/1.1\r\n" + HOST + b"Expect: 100-Continue\r\nContent-Length: 3\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    writer.write(b"abc")
    assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200 OK")
    assert b"".join(piece["body"] for piece in site.app.received) == b"abc"
    writer.close()


async def test_whoever_is_refused_at_once_is_not_told_to_continue(site):
    head = b"PUT / HTTP/1.1\r\nConnection: close\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    assert (await site.say(head)).startswith(b"HTTP/1.1 200 OK")


async def test_chunks_are_put_together_and_a_trailer_is_passed_over(site):
    asked = b"PUT /body HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n" + HOST + b"\r\n"
    assert (await site.say(asked, b"2\r\nab\r\n", b"1\r\nc\r\n0\r\nX-A: 1\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")
    assert b"".join(piece["body"] for piece in site.app.received) == b"abc"
    assert b"x-a" not in dict(site.app.seen[0]["headers"])


async def test_a_body_that_nobody_takes_is_not_read_on(site):
    _, writer = await site.connect()
    length = UNREAD_BYTES_MAX * 100
    writer.write(b"PUT /gated HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % length + b"a" * length)
    await until(lambda: site.connections and next(iter(site.connections)).paused)
    (connection,) = site.connections
    assert connection.exchange is not None
    assert connection.exchange.take(b"") < length
    site.app.gate.set()
    writer.close()


async def test_an_application_learns_that_its_client_has_gone(site):
    _, writer = await site.connect()
    writer.write(b"GET /wait HTTP/1.1\r\n" + HOST + b"\r\n")
    await until(lambda: site.app.seen)
    writer.close()
    async with asyncio.timeout(10):
        await site.app.left.wait()
    await until(lambda: not site.connections)
    await until(lambda: not site.server.server_state.tasks)
    assert [seen["path"] for seen in site.app.seen] == ["/wait"]


@pytest.mark.parametrize("address", [b"/broken", b"/silent", b"/short", b"/split"])
async def test_an_application_that_fails_is_answered_for_and_nothing_of_it_shown(site, address):
    answer = await site.say(b"GET " + address + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert answer.endswith(b"\r\n\r\nInternal Server Error")


async def test_an_answer_to_a_client_that_is_just_leaving_is_no_fault(site):
    _, writer = await site.connect()
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n")
    await until(lambda: site.app.seen)
    (connection,) = site.connections
    with capture_logs() as logs:
        site.app.gate.set()
        connection.transport.close()
        await until(lambda: not site.connections and not site.server.server_state.tasks)
    assert logs == []
    writer.close()


async def test_a_stop_waits_for_who_is_not_done_after_the_answer(site):
    reader, writer = await site.connect()
    writer.write(b"GET /linger HTTP/1.1\r\n" + HOST + b"\r\n")
    await reader.readuntil(b"ok")
    next(iter(site.connections)).shutdown()
    site.app.gate.set()
    assert await reader.read() == b""
    writer.close()


async def test_a_body_in_many_pieces_is_put_together_as_it_was_sent(site):
    text = bytes(range(256)) * 40
    head = b"PUT /body HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n" + HOST + b"\r\n"
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in text)
    assert (await site.say(head, pieces, b"0\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")
    assert b"".join(piece["body"] for piece in site.app.received) == text


async def test_an_answer_that_breaks_off_ends_the_connection(site):
    site.app.small = site.app.broken
    reader, writer = await site.connect()
    writer.write(b"GET /stream HTTP/1.1\r\n" + HOST + b"\r\n")
    await reader.readuntil(b"one\r\n")
    connection = next(iter(site.connections))
    assert connection.task is not None
    connection.task.cancel()
    assert await reader.read() == b""
    writer.close()


async def test_a_connection_that_nobody_uses_is_closed_and_one_that_is_answered_is_not(site):
    reader, writer = await site.connect()
    writer.write(ASK)
    await reader.readuntil(b"ok")
    now = asyncio.get_running_loop().time()
    end_slow(site.connections, now + limits.HEADER_SECONDS_MAX)
    writer.write(b"GET /gated HTTP/1.1\r\n" + HOST + b"\r\n")
    await until(lambda: len(site.app.seen) == 2)
    end_slow(site.connections, now + 1_000)
    site.app.gate.set()
    await reader.readuntil(b"ok")
    end_slow(site.connections, now + 1_000)
    assert await reader.read() == b""
    writer.close()


async def test_a_client_that_does_not_read_holds_its_own_answers_back(site):
    _, writer = await site.connect()
    writer.write(ASK)
    await until(lambda: site.app.seen)
    (connection,) = site.connections
    connection.pause_writing()
    writer.write(ASK)
    await until(lambda: len(site.app.seen) == 2)
    assert not connection.exchange.complete
    connection.resume_writing()
    await until(lambda: connection.exchange.complete)
    writer.close()


async def test_an_address_with_its_server_in_it_is_read_as_one_without(site):
    assert (await site.say(last(b"http://here/small?a=1#b"))).startswith(b"HTTP/1.1 200 OK")
    assert (site.app.seen[0]["path"], site.app.seen[0]["query_string"]) == ("/small", b"a=1")
