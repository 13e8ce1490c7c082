"""context over HTTP: all files as one archive, written while it is sent."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from steadhold.context import archive, reading
from steadhold.context.answers import pieces
from steadhold.context.model import Stored
from steadhold.kit.limits import PAGE_ITEMS_DEFAULT
from steadhold.kit.plan import Call
from steadhold.web import query
from steadhold.web.ask import Reply, Request, Stream


def export(ask: Request) -> Reply:
    """Files under a prefix, each as it is when its turn comes, with its revision in records of its header."""
    prefix, within = query.prefix(ask), ask.reach("context:read")
    return Reply(
        200,
        stream=Stream(lambda: _archive(ask.workspace, prefix, within)),
        content_type="application/x-tar",
        headers=(("Content-Disposition", 'attachment; filename="context.tar"'),),
    )


def _archive(workspace: str, prefix: str, within: tuple[str, ...]) -> Generator[bytes | Call[Any], Any, None]:
    after = ""
    while page := (yield reading.names.call(workspace, prefix, after, PAGE_ITEMS_DEFAULT, within)):
        for entry in page:
            found = yield reading.get.call(workspace, entry.path)
            if isinstance(found, Stored):
                yield from _entry(workspace, entry.path, found)
        after = page[-1].path
    yield archive.END


def _entry(workspace: str, path: str, found: Stored) -> Generator[bytes | Call[Any], Any, None]:
    kept = found.content
    ours = {
        "id": found.id,
        "revision": str(found.revision),
        "sha256": kept.digest.hex(),
        "content_type": kept.content_type,
    }
    yield archive.write_header(path, kept.bytes, found.written_at, ours)
    yield from pieces(workspace, kept.digest, 0, kept.bytes) if kept.pieces is None else kept.pieces
    if fill := archive.padding(kept.bytes):
        yield bytes(fill)
