"""Answers go out together once a turn of the loop is over, and in order whatever else is done to a connection."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from steadhold.server.outgoing import Outgoing
from steadhold.web.exchange import WRITE_BYTES_MAX


class Transport:
    """Keeps what is done to it, in `done` of everybody."""

    def __init__(self, name, done):
        self.name, self.done, self.closing = name, done, False

    def write(self, piece):
        if self.closing:
            raise RuntimeError("unable to perform operation; the handler is closed")
        self.done.append((self.name, piece))

    def writelines(self, pieces):
        self.done.append((self.name, pieces))

    def write_eof(self):
        self.done.append((self.name, "eof"))

    def close(self):
        self.closing = True
        self.done.append((self.name, "close"))

    def is_closing(self):
        return self.closing


def outgoing(names):
    done = []
    return done, [Outgoing(Transport(name, done), asyncio.get_running_loop()) for name in names]


async def test_answers_of_one_turn_go_out_together_after_it():
    done, (a, b) = outgoing("ab")
    a.say(b"1")
    b.say(b"2")
    a.say(b"3")
    assert done == []
    await asyncio.sleep(0)
    assert done == [("a", b"13"), ("b", b"2")]
    a.say(b"4")
    await asyncio.sleep(0)
    assert done[2:] == [("a", b"4")]


@pytest.mark.parametrize(
    ("act", "then"),
    [
        (lambda out: out.write(b"2", b"", b"3"), [("a", b"1"), ("a", b"23")]),
        (lambda out: out.end(), [("a", b"1"), ("a", "eof")]),
        (lambda out: out.close(), [("a", b"1"), ("a", "close")]),
    ],
    ids=["write", "end", "close"],
)
async def test_what_was_said_goes_before_whatever_is_done(act, then):
    done, (a,) = outgoing("a")
    a.say(b"1")
    act(a)
    assert done == then
    await asyncio.sleep(0)
    assert done == then


def test_pieces_go_as_they_lie_where_the_loop_heeds_its_clients_with_them():
    done, loop = [], uvloop.new_event_loop()
    Outgoing(Transport("a", done), loop).write(b"2", b"3")
    loop.close()
    assert done == [("a", (b"2", b"3"))]


async def test_nothing_is_sent_on_a_connection_that_was_lost():
    done, (a,) = outgoing("a")
    a.say(b"1")
    a.transport.closing = True
    await asyncio.sleep(0)
    a.close()
    assert done == [("a", "close")]


async def test_no_more_waits_than_is_written_at_once():
    done, (a,) = outgoing("a")
    half = b"x" * (WRITE_BYTES_MAX // 2 + 1)
    a.say(half)
    assert done == []
    a.say(half)
    assert done == [("a", half + half)]
    a.say(b"1")
    await asyncio.sleep(0)
    assert done[1:] == [("a", b"1")]
