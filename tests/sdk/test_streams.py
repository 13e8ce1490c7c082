"""What is sent and taken as it comes: inboxes that are followed, files and archives that nobody holds whole."""

from __future__ import annotations

import io
import socketserver
import tarfile
import threading
import tracemalloc
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import islice

import pytest

from steadhold.sdk import AsyncClient, Client
from steadhold.sdk.errors import BadAnswer, InboxRestored, NotFound, Unreachable
from steadhold.sdk.inboxes_shapes import New
from steadhold.sdk.retry import Patience
from steadhold.sdk.sse import EVENT_BYTES_MAX, Reader
from tests.sdk.site import key, real_aclient, real_client, site  # noqa: F401 - fixtures

MIB = 1 << 20
EVENT = b'{"sequence":%d,"event_id":"e%d","accepted_at":"2026-11-30T00:00:00Z","type":"t","data":\ndata: {"n":%d}}'


def test_an_inbox_is_followed_as_it_grows(client):
    orders = client.inboxes["orders"]
    orders.create()
    orders.append_many([New(key=f"k{n}", type="t", data=n) for n in range(3)])
    stream = orders.stream()
    assert [event.value for event in islice(stream, 3)] == [0, 1, 2]
    orders.append("t", {"late": True})
    assert next(stream).value == {"late": True}
    stream.close()
    place = orders.read()
    assert [event.sequence for event in islice(orders.stream(epoch=place.epoch, after=2), 2)] == [3, 4]
    with pytest.raises(InboxRestored):
        next(orders.stream(epoch="another", after=1))
    with pytest.raises(NotFound):
        next(client.inboxes["none"].stream())


async def test_an_inbox_is_followed_by_who_awaits(aclient):
    orders = aclient.inboxes["orders"]
    await orders.create()
    await orders.append("t", 1)
    stream = orders.stream()
    assert (await anext(stream)).value == 1
    await orders.append("t", 2)
    assert (await anext(stream)).value == 2
    await stream.aclose()


class Breaking(BaseHTTPRequestHandler):
    """Sends two events and a half of a third, and is gone; who comes again is told what follows what it has."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        last = self.headers.get("last-event-id")
        self.server.seen.append(last)
        first = int(last.partition(":")[2]) + 1 if last else 1
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for n in (first, first + 1):
            self.piece(b":\n\nid: e:%d\ndata: " % n + EVENT % (n, n, n) + b"\n\n")
        if first > 4:
            self.piece(b'event: gap\nid: e:9\ndata: {"from":7,"to":9,"reason":"age","at":"2026-11-30T00:00:00Z"}\n\n')
            self.piece(b'event: problem\ndata: {"status":404,"code":"not_found","detail":"gone"}\n\n')
        self.piece(b"id: e:%d\ndata: half" % (first + 2))
        self.close_connection = True

    def piece(self, data):
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def log_message(self, *_):
        pass


@contextmanager
def running(handler):
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler)
    server.daemon_threads, server.seen = True, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def breaking():
    with running(Breaking) as server:
        yield server


SOON = Patience(5.0, chance=lambda: 0.0)


def test_a_stream_that_breaks_goes_on_behind_what_was_given(breaking):
    with Client(f"http://127.0.0.1:{breaking.server_address[1]}", "k", patience=SOON) as client:
        stream = client.inboxes["x"].stream()
        found = list(islice(stream, 7))
        stream.close()
    assert [getattr(item, "sequence", None) for item in found] == [1, 2, 3, 4, 5, 6, None]
    assert (found[6].from_sequence, found[6].to_sequence) == (7, 9)
    assert breaking.seen[:3] == [None, "e:2", "e:4"]


async def test_it_goes_on_for_who_awaits_too(breaking):
    async with AsyncClient(f"http://127.0.0.1:{breaking.server_address[1]}", "k", patience=SOON) as client:
        stream = client.inboxes["x"].stream(epoch="e", after=2)
        found = [await anext(stream) for _ in range(5)]
        with pytest.raises(NotFound, match="gone"):
            await anext(stream)
    assert [item.sequence for item in found[:4]] == [3, 4, 5, 6]
    assert breaking.seen == ["e:2", "e:4"]


def test_events_are_read_in_whatever_pieces_they_come():
    raw = b":\n\nid: e:1\ndata: a\ndata: b\n\nevent: gap\nid: e:2\ndata: c\n\n:\n\nid: e:3\ndata: d"
    for size in range(1, len(raw) + 1):
        reader, found = Reader(), []
        for at in range(0, len(raw), size):
            found += reader.feed(raw[at : at + size])
        assert [(one.kind, one.id, one.data) for one in found] == [("", "e:1", b"a\nb"), ("gap", "e:2", b"c")]
    with pytest.raises(BadAnswer, match="more than"):
        list(Reader().feed(b"data: " + b"x" * EVENT_BYTES_MAX))


@pytest.fixture
def large(tmp_path):
    """64 MiB that no chunk of repeats."""
    file = tmp_path / "large"
    with file.open("wb") as out:
        for n in range(64):
            out.write(n.to_bytes(4) * (MIB // 4))
    return file


def peak(act):
    tracemalloc.start()
    try:
        made = act()
        return made, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Taking(BaseHTTPRequestHandler):
    """Takes whatever comes, and answers as if it were written."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        left = int(self.headers["content-length"])
        self.server.seen.append(left)
        while left:
            left -= len(self.rfile.read(min(left, MIB)))
        body = b'{"path":"a","revision":1,"reference":"r"}'
        self.send_response(201)
        self.send_header("content-length", str(len(body)))
        self.send_header("content-type", "application/json")
        self.send_header("revision", "1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def taking():
    with running(Taking) as server:
        yield server


def test_a_large_file_is_sent_in_little_memory(taking, large):
    with Client(f"http://127.0.0.1:{taking.server_address[1]}", "k") as client:
        _, most = peak(lambda: client.context.upload("a", large, if_revision=None))
    assert taking.seen == [64 * MIB]
    assert most < 8 * MIB


async def test_a_file_is_sent_and_taken_whole(aclient, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(bytes(range(256)) * 4_099)
    made = await aclient.context.upload("a/b", file, if_revision=None, content_type="image/png")
    found = await aclient.context.read("a/b")
    assert (found.body, found.content_type, found.reference) == (file.read_bytes(), "image/png", made.reference)
    with pytest.raises(FileNotFoundError):
        await aclient.context.upload("a/c", tmp_path / "none", if_revision=None)


def test_an_archive_is_taken_and_sent_in_pieces(client, tmp_path):
    for n in range(3):
        client.context.upload(f"a/{n}", io.BytesIO(bytes([n]) * 700_000), if_revision=None)
    file = tmp_path / "a.tar"
    with file.open("wb") as out:
        sizes = [out.write(piece) for piece in client.context.export_pieces("a")]
    assert max(sizes) < 2 * MIB < sum(sizes)
    with tarfile.open(file) as archive:
        assert archive.getnames() == ["a/0", "a/1", "a/2"]
    assert file.read_bytes() == client.context.export("a")
    for n in range(3):
        client.context.delete(f"a/{n}", if_revision=1)
    with file.open("rb") as source:
        told = client.context.import_archive(source)
    assert len(told.files) == 3


def test_an_archive_that_is_cut_is_none(breaking):
    address = f"http://127.0.0.1:{breaking.server_address[1]}"
    with Client(address, "k", patience=SOON) as client, pytest.raises(Unreachable, match="cut on its way"):
        list(client.context.export_pieces())


def test_a_source_that_changes_while_it_is_sent_is_not_written(client, tmp_path):
    class Growing(io.BytesIO):
        """Shorter each time that it is read from its beginning."""

        def seek(self, *at):
            self.truncate(len(self.getvalue()) - 1)
            return super().seek(*at)

    with pytest.raises(BadAnswer, match="changed while it was sent"):
        client.context.upload("a", Growing(b"x" * 100), if_revision=None)
    with pytest.raises(NotFound):
        client.context.read("a")
