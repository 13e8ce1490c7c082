"""Bodies that are sent piece by piece: how they go on, and each way in which they end."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.kit import limits
from steadhold.web import streaming
from tests.web.flows import Flows, Reader
from tests.web.toy import Client


@pytest.fixture
def world() -> Flows:
    return Flows()


@pytest.fixture
def soon(monkeypatch) -> None:
    monkeypatch.setattr(streaming, "LOOK_SECONDS", 0.01)


async def test_a_stream_goes_on_with_what_a_touch_brings(world):
    world.lines = [b"1\n"]
    reader = Reader(world.doors(), "GET", "/v1/lines")
    status, fields = await reader.head()
    assert (status, fields[b"content-type"]) == (200, b"text/event-stream")
    assert fields[b"cache-control"] == b"no-store, no-transform"
    assert fields[b"x-accel-buffering"] == b"no"
    assert b"content-length" not in fields
    assert [await reader.piece(), await reader.piece()] == [b":\n\n", b"1\n"]
    world.lines += [b"2\n", b"3\n"]
    world.hub.touch(("acme", "lines"))
    assert [await reader.piece(), await reader.piece()] == [b"2\n", b"3\n"]
    assert [(seen.route, seen.status) for seen in world.seen] == [("/v1/lines", 200)]
    assert len(world.flights) == 0, "a stream may be open for longer than a request"
    reader.leave()
    await reader.task


async def test_a_client_that_leaves_ends_its_stream_at_once(world):
    doors = world.doors()
    reader = Reader(doors, "GET", "/v1/lines")
    assert await reader.head()
    assert len(doors.streams) == 1
    reader.leave()
    assert await reader.rest() == (b":\n\n", False)
    assert (doors.streams.ended, len(doors.streams), len(world.hub)) == ({"gone": 1}, 0, 0)
    assert world.closed == ["lines"]


async def test_a_revoked_key_ends_its_stream(world, soon):
    doors = world.doors()
    reader = Reader(doors, "GET", "/v1/lines")
    assert await reader.head()
    del world.keys["anna"]
    assert await reader.rest() == (b":\n\n", True)
    assert doors.streams.ended == {"key_ended": 1}


async def test_a_server_that_stops_ends_its_streams(world):
    doors = world.doors()
    reader = Reader(doors, "GET", "/v1/lines")
    assert await reader.head()
    world.hub.stop()
    assert await reader.rest() == (b":\n\n", True)
    assert doors.streams.ended == {"stopped": 1}


async def test_a_silent_stream_says_so_from_time_to_time(world, monkeypatch):
    monkeypatch.setattr(limits, "STREAM_IDLE_SECONDS", 0)
    reader = Reader(world.doors(), "GET", "/v1/lines")
    assert await reader.head()
    assert [await reader.piece() for _ in range(2)] == [b":\n\n"] * 2
    reader.leave()
    await reader.task


async def test_many_streams_do_not_look_at_each_touch(world, monkeypatch):
    monkeypatch.setattr(streaming, "POLL_SECONDS", 600.0)
    monkeypatch.setattr(streaming, "BREATH_SECONDS", 600.0)
    reader = Reader(world.doors(), "GET", "/v1/lines")
    await reader.head()
    while len(world.hub) < 1:
        await asyncio.sleep(0)
    looks = len(world.played)
    for _ in range(100):
        world.hub.touch(("acme", "lines"))
        await asyncio.sleep(0)
    assert len(world.played) <= looks + 1
    reader.leave()
    await reader.task


async def test_what_a_stream_plays_is_not_cut_off_when_it_ends(world):
    """A query that is cut off costs its connection."""
    ended = []

    async def play(call):
        try:
            return await Flows.play(world, call)
        finally:
            ended.append(world.stall.is_set())

    doors = world.doors(play=play)
    world.stall = asyncio.Event()
    world.stall.set()
    world.files["a"] = b"x" * 400
    reader = Reader(doors, "GET", "/v1/dumps/a")
    await reader.head()
    await reader.piece()
    world.stall.clear()
    ended.clear()
    while not reader.sent.empty():
        reader.sent.get_nowait()
        await asyncio.sleep(0)
    reader.leave()
    await reader.task
    assert doors.streams.ended == {"gone": 1}
    assert False not in ended
    world.stall.set()
    while not ended:
        await asyncio.sleep(0)
    assert ended[-1]


async def test_a_body_of_known_length_is_whole(world):
    world.files["a"] = b"0123456789"
    got = await Client(world.doors())("GET", "/v1/files/a")
    assert (got.status, got.body, got.headers["content-length"], got.headers["etag"]) == (
        200,
        b"0123456789",
        "10",
        '"7"',
    )
    assert (world.pulled, world.closed) == (3, ["file"])


async def test_a_head_begins_no_body_and_takes_no_place(world, monkeypatch):
    monkeypatch.setattr(limits, "STREAMS_MAX", 0)
    world.files["a"] = b"0123456789"
    call = Client(world.doors())
    got = await call("HEAD", "/v1/files/a")
    assert (got.status, got.body, got.headers["content-length"]) == (200, b"", "10")
    got = await call("HEAD", "/v1/lines")
    assert (got.status, got.body, got.headers["content-type"]) == (200, b"", "text/event-stream")
    assert (world.pulled, world.closed) == (0, [])


async def test_who_reads_slowly_is_sent_no_more_than_it_reads(world):
    world.files["a"] = b"x" * 400
    reader = Reader(world.doors(), "GET", "/v1/dumps/a")
    await reader.head()
    await reader.piece()
    reader.gate.clear()
    while not (reader.sent.empty() and world.pulled > 1):
        if not reader.sent.empty():
            reader.sent.get_nowait()
        await asyncio.sleep(0)
    pulled = world.pulled
    for _ in range(500):
        await asyncio.sleep(0)
    assert world.pulled <= pulled + 1 < 100
    reader.gate.set()
    assert (await reader.rest())[1]
    assert world.pulled == 100


@pytest.mark.parametrize("path", ["/v1/files/a", "/v1/dumps/a"])
@pytest.mark.parametrize("why", ["key_ended", "stopped", "gone", "failed"])
async def test_a_body_that_is_cut_never_looks_whole(world, soon, path, why):
    world.files["a"] = b"0123456789" * 50
    doors = world.doors()
    reader = Reader(doors, "GET", path)
    await reader.head()
    await reader.piece()
    world.stall = asyncio.Event()
    if why == "key_ended":
        del world.keys["anna"]
    elif why == "stopped":
        world.hub.stop()
    elif why == "gone":
        reader.leave()
    else:
        world.fail = RuntimeError("planted")
        world.stall.set()
    sent, whole = await reader.rest()
    assert (len(sent) < 496, whole) == (True, False)
    assert doors.streams.ended == {why: 1}
    assert len(world.alarms) == (why == "failed")


async def test_a_place_is_there_for_so_many_streams_and_free_again_after(world, monkeypatch):
    monkeypatch.setattr(limits, "STREAMS_PER_WORKSPACE_MAX", 1)
    doors = world.doors()
    reader = Reader(doors, "GET", "/v1/lines")
    await reader.head()
    assert (await Reader(doors, "GET", "/v1/lines").head())[0] == 429
    monkeypatch.setattr(limits, "STREAMS_MAX", 1)
    assert (await Reader(doors, "GET", "/v1/lines").head())[0] == 503
    assert [seen.code for seen in world.seen] == [None, "too_many_streams", "unavailable"]
    reader.leave()
    await reader.task
    world.files["a"] = b"1"
    assert (await Client(doors)("GET", "/v1/dumps/a")).body == b"1"


@pytest.mark.parametrize(
    "asked,status,body,told",
    [
        ("bytes=2-5", 206, b"2345", "bytes 2-5/10"),
        ("bytes=8-", 206, b"89", "bytes 8-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=0-99", 206, b"0123456789", "bytes 0-9/10"),
        ("Bytes= 9-9", 206, b"9", "bytes 9-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=5-2", 200, b"0123456789", None),
        ("bytes=0-1,4-5", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
    ],
)
async def test_one_range_is_given_and_what_is_none_is_passed_over(world, asked, status, body, told):
    world.files["a"] = b"0123456789"
    got = await Client(world.doors())("GET", "/v1/files/a", range=asked)
    assert (got.status, got.headers.get("content-range")) == (status, told)
    assert got.code == "range_not_satisfiable" if body is None else got.body == body


@pytest.mark.parametrize("tag,status", [('"7"', 206), ('"8"', 200), ('W/"7"', 200), ("yesterday", 200)])
async def test_a_range_of_another_revision_is_no_part_of_this_one(world, tag, status):
    world.files["a"] = b"0123456789"
    got = await Client(world.doors())("GET", "/v1/files/a", range="bytes=0-0", if_range=tag)
    assert got.status == status


async def test_a_head_has_no_ranges(world):
    world.files["a"] = b"0123456789"
    got = await Client(world.doors())("HEAD", "/v1/files/a", range="bytes=0-0")
    assert (got.status, got.headers["content-length"]) == (200, "10")
