"""context: how a path is held, counted and written. The verbs are made of this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steadhold import access, blobs, private
from steadhold.context.model import Missing, RevisionConflict, StorageExhausted, Written, lost, spent
from steadhold.kit.limits import UPLOAD_LEASE_SECONDS
from steadhold.kit.plan import Plan, each, one, rows
from steadhold.kit.sql import load
from steadhold.private import SealRefusal

SQL = load(__file__)


@dataclass(frozen=True, slots=True)
class Held:
    """What a path that is held has. `row` is its number in the database; `made` says that we made that row.

    Under a `private` prefix nothing but envelopes lies; `next` is the revision that a write makes.
    """

    revision: int | None
    present: bool
    bytes: int
    row: int | None
    made: bool
    limited: bool
    private: bool
    next: int

    @classmethod
    def read(cls, *row: Any) -> Held:
        """Make one of a row of `hold`."""
        revision, present, bytes, made, limited, private, next = row
        here = revision if made is None else made
        return cls(revision, bool(present), bytes or 0, here, made is not None, limited, private, next or 0)


def hold(workspace: str, paths: Mapping[str, bool], make: frozenset[str] = frozenset()) -> Plan[dict[str, Held]]:
    """Lock paths until the transaction ends. True for one that is going to be written, False for one relied on.

    Those to `make` are held also where no file is; whoever holds such a one writes it or lets it go. Rank names.
    """
    found: dict[str, Held] = {}
    while left := [path for path in paths if path not in found]:  # again where a rival made it while we looked
        asked = [{"workspace": workspace, "path": p, "alone": paths[p], "make": p in make} for p in left]
        hands = yield from each(SQL.hold, asked)
        for path, (row,) in zip(left, hands, strict=True):
            held = Held.read(*row)
            if held.row is not None or path not in make:
                found[path] = held
    return found


@dataclass(frozen=True, slots=True)
class New:
    """What is to be written; None bytes delete. `sealed` is the revision that an envelope is bound to."""

    bytes: int | None
    digest: bytes
    content_type: str
    sealed: int | None = None


GONE = New(None, b"", "")


@dataclass(frozen=True, slots=True)
class Won:
    """A write that won: what it means for others, which `settle` sees to once its bytes are stored."""

    written: Written
    spent: list[tuple[str, bytes]]
    more_names: int
    more_bytes: int
    limited: bool


def write(
    workspace: str, path: str, expected: int | None, new: New, upload: str | None = None
) -> Plan[Won | RevisionConflict | Missing | StorageExhausted | SealRefusal]:
    """Write what is known by its digest, whose bytes the winner stores next. `upload` has its part of the quota."""
    making: frozenset[str] = frozenset({path} if expected is None else ())
    while True:
        held = (yield from hold(workspace, {path: True}, making))[path]
        if refused := lost(expected, held.revision, present=held.present):
            return refused
        if new.bytes is not None and held.private and (unsealed := private.judged(new.sealed, held.next)):
            yield from let_go(workspace, {path: held})
            return unsealed
        names, size = int(new.bytes is not None) - int(held.present), (new.bytes or 0) - held.bytes
        room = upload or (f"put:{path}" if held.limited and (names > 0 or size > 0) else None)
        if room != upload and (full := (yield from _room(workspace, room or "", names, size))):
            yield from let_go(workspace, {path: held})
            return full
        came = yield from rows(SQL.write, **_item(workspace, path, held, new))
        if room is not None and (came or upload is None):
            yield from rows(SQL.free, workspace=workspace, upload=room)
        if came:
            revision, written_at, *gone = came[0]
            made = Written(revision, written_at, not held.present, new.bytes or 0, new.digest)
            return Won(made, spent((gone[0], gone[1], gone[2])), names, size, held.limited)
        # else a rival in this very transaction was first: see what the path holds now


def _room(workspace: str, upload: str, names: int, bytes: int) -> Plan[StorageExhausted | None]:
    yield from rows(SQL.hold_quota, workspace=workspace)
    return (yield from reserve(workspace, upload, names=names, bytes=bytes))


def _item(workspace: str, path: str, held: Held, new: New) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "path": path,
        "revision": held.row,
        "bytes": new.bytes,
        "digest": new.digest,
        "content_type": new.content_type,
    }


def settle(workspace: str, won: Won) -> Plan[Written]:
    """Let go of what is not kept any more, and count."""
    yield from blobs.unpin_each(workspace, won.spent)
    if won.limited:
        yield from access.meter(workspace, names=won.more_names, bytes=won.more_bytes)
    return won.written


def reserve(workspace: str, upload: str, *, names: int, bytes: int) -> Plan[StorageExhausted | None]:
    """Promise so much of the quota, which is held, to an upload, in place of what was promised to it before."""
    full_of, used, most = yield from one(
        SQL.reserve,
        lambda *row: row,
        workspace=workspace,
        upload=upload,
        names=names,
        bytes=bytes,
        seconds=float(UPLOAD_LEASE_SECONDS),
    )
    return StorageExhausted(full_of, used, most) if full_of else None


def let_go(workspace: str, held: Mapping[str, Held]) -> Plan[None]:
    """Remove the rows that were made to hold paths which then got no file."""
    yield from each(SQL.let_go, list(_made(workspace, held)))


def _made(workspace: str, held: Mapping[str, Held]) -> Iterator[Mapping[str, Any]]:
    return ({"workspace": workspace, "path": path} for path, found in held.items() if found.made)
