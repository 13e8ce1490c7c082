"""Bodies that a route takes piece by piece, and each way in which they end."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from steadhold.kit import limits
from steadhold.web import taking
from tests.web.flows import Flows, Reader
from tests.web.toy import Client

TEXT = b"0123456789"


@pytest.fixture
def world() -> Flows:
    return Flows()


@pytest.fixture
def soon(monkeypatch) -> None:
    monkeypatch.setattr(taking, "LOOK_SECONDS", 0.01)


@pytest.mark.parametrize("pieces", [[TEXT], [b"0", b"1234", b"", b"56789"], [bytes([each]) for each in TEXT]])
async def test_a_body_is_pulled_in_pieces_of_one_size_however_it_comes(world, pieces):
    got = await Client(world.doors())("PUT", "/v1/files/a", pieces=pieces)
    assert (got.status, got.json) == (201, {"length": 10, "sha256": hashlib.sha256(TEXT).hexdigest()})
    assert world.kept == [b"0123", b"4567", b"89"]
    assert (world.after, world.undone) == ([got.json], [])


async def test_a_body_without_a_byte_is_whole_at_once(world):
    got = await Client(world.doors())("PUT", "/v1/files/a")
    assert (got.status, got.json["length"], world.kept) == (201, 0, [])


async def test_no_more_is_received_than_is_pulled(world):
    left = []
    world.watch = lambda: left.append(reader.body.qsize())
    reader = Reader(world.doors(), "PUT", "/v1/files/a", [b"0123"] * 100)
    reader.send(b"", last=True)
    assert (await reader.head())[0] == 201
    assert left == list(range(100, 0, -1))
    await reader.task


async def test_what_a_body_is_belongs_to_what_its_operation_is(world):
    said = []
    doors = world.doors(receipted=lambda _route, _request, asked, what: said.append(what) or asked)
    for _ in range(2):
        await Client(doors)("PUT", "/v1/files/a", TEXT, idempotency_key="op-1")
    await Client(doors)("PUT", "/v1/files/a", b"else", idempotency_key="op-1")
    assert said[0] == said[1] != said[2]
    assert said[0][-1] == b"sha-256:" + hashlib.sha256(TEXT).digest()


async def test_a_client_that_leaves_midway_is_told_to_the_route(world):
    doors = world.doors()
    reader = Reader(doors, "PUT", "/v1/files/a", [b"01234"])
    reader.leave()
    await reader.task
    assert (world.kept, world.closed, world.after, world.undone) == ([b"0123"], ["upload"], [None], ["upload"])
    assert len(doors.streams) == 0


async def test_a_body_that_is_announced_too_large_is_not_begun(world):
    got = await Client(world.doors())("PUT", "/v1/notes/a", TEXT, content_length="11")
    assert (got.code, world.played, world.after) == ("too_large", [], [])


async def test_a_body_that_becomes_too_large_is_let_go(world):
    got = await Client(world.doors())("PUT", "/v1/notes/a", pieces=[TEXT, b"x"])
    assert (got.code, got.json["bytes_max"]) == ("too_large", 10)
    assert (world.after, world.undone) == ([None], ["upload"])


async def test_a_route_that_refuses_before_the_body_has_ended_reads_no_more_of_it(world):
    reader = Reader(world.doors(), "PUT", "/v1/walls/a", [TEXT])
    assert (await reader.head())[0] == 507
    assert (reader.body.qsize(), world.after) == (1, [None])
    await reader.task


async def test_an_operation_without_its_id_is_refused_before_its_body_is_read(world):
    reader = Reader(world.doors(), "POST", "/v1/files/a", [TEXT])
    assert (await reader.head())[0] == 400
    await reader.task
    assert (reader.body.qsize(), world.played, world.seen[-1].code) == (1, [], "key_required")


async def test_a_revoked_key_ends_what_it_sends(world, soon):
    reader = Reader(world.doors(), "PUT", "/v1/files/a", [TEXT])
    while not world.kept:
        await asyncio.sleep(0)
    del world.keys["anna"]
    assert (await reader.head())[0] == 401
    await reader.task
    assert world.after == [None]


async def test_a_server_that_stops_takes_no_more(world, soon):
    reader = Reader(world.doors(), "PUT", "/v1/files/a", [TEXT])
    while not world.kept:
        await asyncio.sleep(0)
    world.hub.stop()
    assert (await reader.head())[0] == 503
    await reader.task
    assert world.after == [None]


@pytest.mark.parametrize("limit", ["BODY_SECONDS_MAX", "UPLOAD_SECONDS_MAX"])
async def test_a_body_that_comes_too_slowly_is_let_go(world, soon, monkeypatch, limit):
    monkeypatch.setattr(limits, limit, 0)
    reader = Reader(world.doors(), "PUT", "/v1/files/a", [b"0123"])
    assert (await reader.head())[0] == 408
    await reader.task
    assert world.after == [None]


async def test_a_body_that_keeps_coming_is_no_late_request(world, soon):
    reader = Reader(world.doors(), "PUT", "/v1/files/a", [b"0123"])
    while not world.kept:
        await asyncio.sleep(0)
    (flight,) = world.flights._flying
    began = flight.began
    while flight.began == began:
        await asyncio.sleep(0)
    reader.send(b"", last=True)
    assert (await reader.head())[0] == 201
    await reader.task


async def test_what_fails_midway_is_answered_and_let_go(world):
    world.fail = OSError("planted")
    got = await Client(world.doors())("PUT", "/v1/files/a", TEXT)
    assert (got.code, world.after) == ("unavailable", [None])
    assert [str(error) for error, _ in world.alarms] == ["planted"], "that it could not be let go is logged"


async def test_bodies_that_come_in_pieces_have_places(world, monkeypatch):
    monkeypatch.setattr(limits, "STREAMS_PER_WORKSPACE_MAX", 1)
    doors = world.doors()
    reader = Reader(doors, "PUT", "/v1/files/a", [b"0123"])
    while not world.kept:
        await asyncio.sleep(0)
    assert (await Client(doors)("PUT", "/v1/files/b", TEXT)).code == "too_many_streams"
    reader.send(b"", last=True)
    await reader.task
    assert (await Client(doors)("PUT", "/v1/files/b", TEXT)).status == 201
