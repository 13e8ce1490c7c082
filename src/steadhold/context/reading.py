"""context: the verbs that read."""

from __future__ import annotations

from collections.abc import Sequence

from steadhold.context.model import (
    Content,
    Entry,
    Missing,
    Path,
    Pruned,
    Revision,
    Stored,
    Usage,
)
from steadhold.context.writing import SQL
from steadhold.kit.limits import CONTEXT_WHOLE_BYTES_MAX
from steadhold.kit.paths import EVERYWHERE, spans
from steadhold.kit.plan import Plan, one, operation, rows
from steadhold.kit.sql import Row


@operation
def get(workspace: str, path: Path) -> Plan[Stored | Missing]:
    """Read what the path holds: `Stored`, or `Missing` with the last revision if it ever held something."""
    found = yield from rows(SQL.look, workspace=workspace, path=path, whole=CONTEXT_WHOLE_BYTES_MAX)
    return _now(found) if found else Missing(None)


@operation
def get_revision(workspace: str, path: Path, revision: int) -> Plan[Stored | Missing | Pruned]:
    """Read one kept revision. `Missing` if there never was one or it is a deletion, `Pruned` if it is not kept."""
    asked = {"path": path, "revision": revision, "whole": CONTEXT_WHOLE_BYTES_MAX}
    (row,) = yield from rows(SQL.look_at, workspace=workspace, **asked)
    current, kept, id, size, digest, content_type, written_at, body, oldest, floor = row
    if kept:
        found = content_of(size, digest, content_type, body)
        return Missing(current) if found is None else Stored(id, revision, found, written_at)
    ever = floor if current is None else current  # a path that was purged is only known by the workspace's floor
    return Missing(current) if revision > (ever or 0) else Pruned(oldest)


@operation
def names(workspace: str, prefix: str, after: str, limit: int, within: Sequence[str] = EVERYWHERE) -> Plan[list[Entry]]:
    """List files under a prefix of whole segments, in byte order, from behind `after`.

    `within` are prefixes that narrow the list to the paths that are under one of them, too.
    """
    wanted = spans(prefix, within)
    if wanted is None:
        return []
    found = yield from rows(SQL.names, workspace=workspace, after=after, limit=limit, **wanted)
    return [Entry(*row) for row in found]


@operation
def revisions(workspace: str, path: Path, before: int, limit: int) -> Plan[list[Revision]]:
    """List the kept revisions of the file at a path below `before`, newest first, wherever they were written."""
    found = yield from rows(SQL.revisions, workspace=workspace, path=path, before=before, limit=limit)
    return [Revision(*row) for row in found]


@operation
def usage(workspace: str) -> Plan[Usage]:
    """Count what files use, and what of it may be used."""
    return (yield from one(SQL.usage, Usage, workspace=workspace))


def _now(found: Sequence[Row]) -> Stored | Missing:
    revision, present, id, size, digest, content_type, at, _ = found[0]
    kept = content_of(size, digest, content_type, *[row[-1] for row in found]) if present else None
    return Missing(revision) if kept is None else Stored(id, revision, kept, at)


def content_of(size: int, digest: bytes, content_type: str, *pieces: bytes | None) -> Content | None:
    """The content of a row; a deletion has none. `pieces`: its bytes, or None where they are not few."""
    few = tuple([piece for piece in pieces if piece is not None])
    return Content(size, digest, content_type, few or None) if digest else None
