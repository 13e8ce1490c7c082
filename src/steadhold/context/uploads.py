"""context: what comes piece by piece. Its part of the quota is promised to it before, under a lease."""

from __future__ import annotations

from steadhold import blobs
from steadhold.context.model import Kept, Path, Reserved, StorageExhausted, UploadLapsed
from steadhold.context.writing import SQL, reserve
from steadhold.kit.limits import UPLOAD_LEASE_SECONDS
from steadhold.kit.plan import Plan, Refusal, each, maybe, operation, rows, single_operation
from steadhold.private import PlaintextRefused


@operation
def begin_upload(
    workspace: str, path: Path, expected: int | None, size: int, upload: str, *, sealed: bool = True
) -> Plan[Reserved | StorageExhausted | PlaintextRefused]:
    """Promise a new upload, of `size` bytes, its part of the quota for the length of its lease.

    What it replaces is counted off: it takes effect only where that is still there. What is not `sealed` by all that
    came of it is refused under a private prefix before any of it is kept.
    """
    if not sealed and (yield from rows(SQL.covered, workspace=workspace, path=path)):
        return PlaintextRefused()
    now = yield from maybe(SQL.look, lambda *row: row, workspace=workspace, path=path, whole=0)
    credit = int(now[3]) if now is not None and now[1] and now[0] == expected else 0
    yield from rows(SQL.hold_quota, workspace=workspace)
    full = yield from reserve(workspace, upload, names=int(expected is None), bytes=max(size - credit, 0))
    return full or Reserved(upload, credit)


@operation
def keep(
    workspace: str, upload: str, chunk: int, piece: bytes, grown: tuple[int, int] | None = None
) -> Plan[Kept | UploadLapsed | StorageExhausted]:
    """Keep a piece of an upload; all but the last have `CONTEXT_CHUNK_BYTES`. Its lease runs anew.

    `grown` are the names and bytes that it needs by now, where its size is not known from the beginning.
    """
    if not (yield from rows(SQL.hold_upload, workspace=workspace, upload=upload)):
        return UploadLapsed()
    if grown is None:
        yield from rows(SQL.renew, workspace=workspace, upload=upload, seconds=float(UPLOAD_LEASE_SECONDS))
    else:
        yield from rows(SQL.hold_quota, workspace=workspace)
        if full := (yield from reserve(workspace, upload, names=grown[0], bytes=grown[1])):
            return full
    yield from blobs.keep(workspace, upload, chunk, piece)
    return Kept(chunk)


@operation
def refuse(_workspace: str, outcome: Refusal) -> Plan[Refusal]:
    """Answer an upload that was refused while it came, behind what is asked before: whether it is a repetition."""
    yield from ()
    return outcome


@operation
def release(workspace: str, upload: str) -> Plan[bool]:
    """Give an upload up: its part of the quota and its pieces. One that was written, or is given up already, is not."""
    if not (yield from rows(SQL.free, workspace=workspace, upload=upload)):
        return False
    yield from blobs.drop(workspace, upload)
    return True


@single_operation
def sweep(workspace: str, limit: int) -> Plan[int]:
    """Give up uploads whose lease is over."""
    lapsed = yield from rows(SQL.lapsed, workspace=workspace, limit=limit)
    yield from each(SQL.free, [{"workspace": workspace, "upload": upload} for (upload,) in lapsed])
    for (upload,) in lapsed:
        yield from blobs.drop(workspace, upload)
    return len(lapsed)
