"""An inbox that is followed: what is told, in which order, and how it goes on and ends."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from types import SimpleNamespace

import msgspec
import pytest

from steadhold.db.pool import Pool
from steadhold.inboxes import plans, streaming
from steadhold.inboxes.model import Gap, NoInbox, Page, Received, Restored
from steadhold.kit.plan import Call
from steadhold.web.ask import REST
from tests.inboxes.sse import events
from tests.web.flows import Reader

AT = datetime(2026, 11, 29, 16, tzinfo=UTC)


def follow(house, query="", **headers):
    return Reader(
        house.doors, "GET", f"/v1/inboxes/a/stream{query}", authorization=f"Bearer {house.client.key}", **headers
    )


async def begun(reader):
    status, fields = await reader.head()
    assert (status, fields[b"content-type"], await reader.piece()) == (200, b"text/event-stream", b":\n\n")
    return reader


async def test_a_stream_tells_what_is_there_and_what_comes(house):
    await house.make()
    await house.batch(*[b'{"key":"%d","type":"t","data":{"n": %d}}' % (n, n) for n in range(1, 4)])
    reader = await begun(follow(house))
    told = events(await reader.piece())
    page = (await house.read()).json
    assert [event.json for event in told] == page["events"]
    assert [(event.kind, event.id) for event in told] == [("message", f"{page['epoch']}:{n}") for n in (1, 2, 3)]
    await house.send("4")
    (event,) = events(await reader.piece())
    assert event.id == f"{page['epoch']}:4"
    reader.leave()
    await reader.task
    assert (await house.consume()).status == 201
    assert (await house("GET", "/v1/inboxes/a/consumers/c")).json["position"] == 0, "reading acknowledges nothing"


@pytest.mark.parametrize("by", ["header", "query", "both"])
async def test_a_stream_goes_on_behind_the_last_event_that_was_seen(house, by):
    await house.make()
    for n in range(3):
        await house.send(f"{n}")
    epoch = (await house.read()).json["epoch"]
    query = {"header": "", "query": f"?epoch={epoch}&after=2", "both": f"?epoch={epoch}&after=0"}[by]
    headers = {} if by == "query" else {"last_event_id": f"{epoch}:2"}
    reader = await begun(follow(house, query, **headers))
    assert [event.id for event in events(await reader.piece())] == [f"{epoch}:3"]
    reader.leave()
    await reader.task


async def test_what_was_removed_is_told_before_what_is_there(house, dsn):
    await house.make(max_events=1)
    for n in range(3):
        await house.send(f"{n}")
    async with Pool(dsn, size=1) as pool, pool.connection() as conn:
        await conn.execute("update steadhold.inbox_sweeps set check_at = steadhold.clock()")
    await house.player.play(plans.sweep.call(house.workspace, 10))
    epoch = (await house.read()).json["epoch"]
    page = (await house.read(epoch=epoch, after=0)).json
    reader = await begun(follow(house, f"?epoch={epoch}&after=0"))
    gap, event = events(await reader.piece())
    assert (gap.kind, gap.id, [gap.json]) == ("gap", f"{epoch}:2", page["gaps"])
    assert (event.kind, event.id) == ("message", f"{epoch}:3")
    reader.leave()
    await reader.task
    reader = await begun(follow(house, last_event_id=gap.id))
    assert [event.kind for event in events(await reader.piece())] == ["message"], "nobody is told a gap twice"
    reader.leave()
    await reader.task


@pytest.mark.parametrize(
    "query,last,status,code",
    [
        ("?after=1", None, 400, "epoch_required"),
        ("?epoch=other&after=0", None, 409, "inbox_restored"),
        ("", "other:0", 409, "inbox_restored"),
        ("", "EPOCH:7", 422, "beyond_head"),
        ("", "7", 400, "bad_header"),
        ("", "a b:7", 400, "bad_header"),
        ("", "EPOCH:-1", 400, "bad_header"),
        ("", "EPOCH:", 400, "bad_header"),
        ("", "EPOCH:1000000000000000000000", 400, "bad_header"),
    ],
)
async def test_a_position_that_is_none_is_refused_before_the_stream_begins(house, query, last, status, code):
    await house.make()
    epoch = (await house.read()).json["epoch"]
    headers = {} if last is None else {"last_event_id": last.replace("EPOCH", epoch)}
    got = await house("GET", f"/v1/inboxes/a/stream{query}", **headers)
    assert (got.status, got.code) == (status, code)


async def test_an_inbox_that_is_not_there_or_not_in_scope_is_not_followed(house):
    assert (await house("GET", "/v1/inboxes/a/stream")).status == 404
    await house.make()
    await house.enter(("inboxes:append",))
    assert (await house("GET", "/v1/inboxes/a/stream")).code == "missing_scope"


async def test_an_inbox_that_is_deleted_ends_its_streams_with_the_reason(house):
    await house.make()
    reader = await begun(follow(house))
    await house("DELETE", "/v1/inboxes/a", if_match='"1"')
    sent, whole = await reader.rest()
    (told,) = events(sent)
    assert (told.kind, told.id, told.json["code"], whole) == ("problem", "", "not_found", True)


async def test_a_head_says_what_a_stream_would_be(house):
    await house.make()
    got = await house("HEAD", "/v1/inboxes/a/stream")
    assert (got.status, got.headers["content-type"], got.body) == (200, "text/event-stream", b"")


@pytest.mark.parametrize("data", [b'{"a":\n1,\n\n"b": 2}', b'{"a":\r\n1,\r"b":\n\n2}'], ids=["lf", "cr"])
async def test_line_ends_within_data_end_no_event_and_change_no_byte(house, data):
    await house.make()
    headers = {"content_type": "application/json", "idempotency_key": "k"}
    await house("POST", "/v1/inboxes/a/events", b'{"type":"t","data":%b}' % data, **headers)
    reader = await begun(follow(house))
    (told,) = events(await reader.piece())
    if b"\r" in data:
        found = base64.b64decode(told.json["data_base64"])
        assert told.json["content_type"] == "application/json"
    else:
        found = told.data.partition('"data":')[2].removesuffix("}").encode()
    assert found == data
    reader.leave()
    await reader.task


@pytest.mark.parametrize(("lines", "as_bytes"), [(streaming.LINES_MAX, False), (streaming.LINES_MAX + 1, True)])
def test_line_ends_make_no_event_much_larger(lines, as_bytes):
    """Each line is a field, so a body of line ends would come to seven times its size, for each who follows."""
    body = b"[%b]" % (b"\n" * (lines - 1))
    told = next(streaming._told("w", "a", Page("ep", (Received(1, "e1", AT, None, b'"type":"t"', body),), (), 1, 1, 9)))
    assert told.count(b"\n") == (3 if as_bytes else lines + 2)
    (event,) = events(told)
    assert ("data_base64" in event.json) is as_bytes
    assert base64.b64decode(event.json.get("data_base64", b"")) == (body if as_bytes else b"")
    assert event.data.endswith("}" if as_bytes else body.decode() + "}")


async def test_a_long_inbox_comes_page_by_page(house, monkeypatch):
    monkeypatch.setattr(streaming, "PAGE_BYTES", 1)
    await house.make()
    await house.batch(*[b'{"key":"%d","type":"t","data":1}' % n for n in range(20)])
    reader = await begun(follow(house))
    assert [len(events(await reader.piece())) for _ in range(20)] == [1] * 20
    reader.leave()
    await reader.task


def page(*sequences, last=9, gaps=()):
    found = tuple(Received(n, f"e{n}", AT, None, b'"type":"t"', b"1") for n in sequences)
    return Page("ep", found, gaps, sequences[-1] if sequences else last, 1, last)


def asked(call):
    assert isinstance(call, Call)
    return call.name


def test_a_stream_keeps_nothing_of_what_it_tells():
    """It may last for days, and its client may take each page as slowly as it likes."""
    let_go = list[str]()

    class Body(bytes):
        def __del__(self):
            let_go.append(self.decode())

    def told(n):
        return Page("ep", (Received(n, f"e{n}", AT, None, b'"type":"t"', Body(b"%d" % n)),), (), n, 1, 9)

    request = SimpleNamespace(workspace="w", params={"inbox": "a"}, query={}, headers={})
    answer = streaming.follow(request).render(told(1))
    pieces = answer.stream.begin()
    assert events(next(pieces))[0].id == "ep:1"
    assert let_go == ["1"]
    assert asked(next(pieces)) == "inboxes.read"
    assert events(pieces.send(told(2)))[0].id == "ep:2"
    assert let_go == ["1", "2"]


def test_a_stream_rests_only_once_it_has_looked_again():
    """What was appended between the first look and the stream's beginning gave its stream no hint."""
    pieces = streaming._told("w", "a", page(9))
    assert events(next(pieces))[0].id == "ep:9"
    assert asked(next(pieces)) == "inboxes.read"
    assert pieces.send(page()) is REST
    assert asked(next(pieces)) == "inboxes.read"
    assert events(pieces.send(page(10, last=11)))[0].id == "ep:10"
    assert asked(next(pieces)) == "inboxes.read", "there is more already"


def test_an_inbox_that_was_restored_meanwhile_is_told_without_an_id_and_ends_the_stream():
    pieces = streaming._told("w", "a", page())
    assert asked(next(pieces)) == "inboxes.read"
    (told,) = events(pieces.send(Restored("new", 5)))
    assert (told.kind, told.id) == ("problem", "")
    assert {"code": "inbox_restored", "epoch": "new", "last_sequence": 5}.items() <= told.json.items()
    with pytest.raises(StopIteration):
        next(pieces)


def test_gaps_that_open_behind_a_slow_reader_are_told():
    pieces = streaming._told("w", "a", page(1))
    next(pieces)
    next(pieces)
    gap, event = events(pieces.send(page(8, gaps=(Gap(2, 7, "age", AT),))))
    assert (gap.kind, gap.id, gap.json["to"], event.id) == ("gap", "ep:7", 7, "ep:8")
    next(pieces)
    assert events(pieces.send(NoInbox("a")))[0].json["code"] == "not_found"


def test_the_id_of_a_position_is_what_a_stream_takes():
    (told,) = events(next(streaming._told("w", "a", Page("e:p", page(3).events, (), 3, 1, 3))))
    assert told.id == "e:p:3"
    assert msgspec.json.decode(told.data)["sequence"] == 3
