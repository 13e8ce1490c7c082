"""state: the verbs. One expected revision, one winning writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from steadhold import access, fences, private
from steadhold.kit.fields import FenceRef
from steadhold.kit.paths import EVERYWHERE, bounds, spans
from steadhold.kit.plan import Plan, Step, each, maybe, operation, rows, whole_operation
from steadhold.kit.rules import Path
from steadhold.kit.sql import load
from steadhold.state.model import (
    BatchOutcome,
    Body,
    Entry,
    Get,
    Missing,
    NothingWritten,
    Pruned,
    Put,
    Revision,
    RevisionConflict,
    StorageExhausted,
    Stored,
    WriteOutcome,
    Written,
    digest_of,
    lost,
    settled,
)

SQL = load(__file__)


@dataclass(frozen=True, slots=True)
class _Now:
    revision: int
    present: bool
    body: bytes | None
    digest: bytes
    changed_at: Any


@whole_operation(SQL.write)
def put(
    workspace: str,
    name: Path,
    body: Body,
    expected: int | None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[WriteOutcome]:
    """Write `body`, exact JSON bytes, if the name holds revision `expected`; None means that it must not exist.

    `fences_held` are grants that must be current until the commit. Outcomes: `Written(revision)`,
    `RevisionConflict(current)`, `Missing(last_revision)`, `StaleFence`, `StorageExhausted`; where
    envelopes lie or ought to lie, `PlaintextRefused`, `EnvelopeMismatch(next_revision)`, `NotPrivate`.
    """
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    return (yield from _write(workspace, (Put(name, body, expected),)))[0]


@whole_operation(SQL.write)
def delete(workspace: str, name: Path, expected: int, fences_held: Sequence[FenceRef] = ()) -> Plan[WriteOutcome]:
    """Delete the name if it holds revision `expected`. A tombstone keeps the revision, which rises by one."""
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    return (yield from _write(workspace, (Put(name, None, expected),)))[0]


@operation
def get(workspace: str, name: Path) -> Plan[Stored | Missing]:
    """Read what the name holds: `Stored`, or `Missing` with the last revision if it ever existed."""
    now = yield from maybe(SQL.look, _Now, workspace=workspace, name=name)
    return _reading(now)


@operation
def get_revision(workspace: str, name: Path, revision: int) -> Plan[Stored | Missing | Pruned]:
    """Read one kept revision. `Missing` if there never was one or it is a deletion, `Pruned` if it is not kept."""
    found = yield from rows(SQL.look_at, workspace=workspace, name=name, revision=revision)
    if not found:
        return Missing(None)
    current, kept, body, digest, written_at, oldest = found[0]
    if kept:
        return Missing(current) if body is None else Stored(revision, body, digest, written_at)
    return Missing(current) if revision > current else Pruned(oldest)


@operation
def names(workspace: str, prefix: str, after: str, limit: int, within: Sequence[str] = EVERYWHERE) -> Plan[list[Entry]]:
    """List names under a prefix of whole segments, in byte order, from behind `after`.

    `within` are prefixes that narrow the list to the names that are under one of them, too.
    """
    wanted = spans(prefix, within)
    if wanted is None:
        return []
    found = yield from rows(SQL.names, workspace=workspace, after=after, limit=limit, **wanted)
    return [Entry(*row) for row in found]


def readable(workspace: str, prefix: str) -> Plan[list[str]]:
    """The first names under a prefix of whole segments whose bytes can be read."""
    low, high = bounds(prefix)
    found = yield from rows(SQL.readable, workspace=workspace, prefix=prefix, low=low, high=high)
    return [name for (name,) in found]


@operation
def revisions(workspace: str, name: Path, before: int, limit: int) -> Plan[list[Revision]]:
    """List the kept revisions of a name below `before`, newest first."""
    found = yield from rows(SQL.revisions, workspace=workspace, name=name, before=before, limit=limit)
    return [Revision(*row) for row in found]


@operation
def require(workspace: str, name: Path, expected: int | None) -> Plan[RevisionConflict | Missing | None]:
    """Hold a name at a revision, or (None) at holding nothing, until the transaction ends."""
    current, present = (yield from hold(workspace, {name: False}))[name]
    if (current if present else None) == expected:
        return None
    return lost(Put(name, None, expected), current, present=present)


def hold(workspace: str, names: Mapping[str, bool]) -> Plan[dict[str, tuple[int | None, bool]]]:
    """Lock names until the transaction ends, also those that hold nothing; their revision, and whether they are there.

    True for a name that is going to be written, False for one that others may rely on as well. Rank names.
    """
    found: dict[str, tuple[int | None, bool]] = {}
    while left := [name for name in names if name not in found]:  # again where a rival made it while we looked
        asked = [{"workspace": workspace, "name": name, "alone": names[name]} for name in left]
        hands = yield from each(SQL.hold, asked)
        made: list[dict[str, Any]] = []
        for item, ((revision, present, ours),) in zip(asked, hands, strict=True):
            if ours:
                made.append({"workspace": workspace, "name": item["name"]})
            if ours or revision is not None:
                found[str(item["name"])] = (revision, bool(present))
        yield from each(SQL.let_go, made)
    return found


@operation
def batch(workspace: str, items: Sequence[Put | Get], fences_held: Sequence[FenceRef] = ()) -> Plan[BatchOutcome]:
    """Many writes, then many readings, an outcome each in the order asked. Each write stands for itself."""
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    puts = [item for item in items if isinstance(item, Put)]
    written = iter((yield from _write(workspace, puts)))
    asked = [{"workspace": workspace, "name": item.name} for item in items if isinstance(item, Get)]
    read = iter((yield from each(SQL.look, asked)))
    outcomes = [next(written) if isinstance(item, Put) else _reading(_first(next(read))) for item in items]
    if puts and not settled(puts, [o for o in outcomes if not isinstance(o, Stored)]):
        return NothingWritten(tuple(outcomes))
    return outcomes


@operation
def bury(workspace: str, seconds: float, limit: int) -> Plan[int]:
    """Remove tombstones older than `seconds`, at most `limit`, and raise the floor of revisions above them."""
    old = yield from rows(SQL.old_tombstones, workspace=workspace, seconds=seconds, limit=limit)
    if old:
        yield from rows(SQL.raise_floor, workspace=workspace, floor=max(revision for _, revision in old))
        yield from rows(SQL.bury, workspace=workspace, names=[name for name, _ in old])
    return len(old)


class _Answer(NamedTuple):
    won: bool
    revision: int | None
    changed_at: Any
    present: bool
    stood: bool
    full_of: str | None
    used: int | None
    most: int | None
    metered: bool
    more_names: int
    more_bytes: int


def _write(workspace: str, puts: Sequence[Put]) -> Plan[list[WriteOutcome]]:
    outcomes: list[WriteOutcome | None] = [None] * len(puts)
    grown: list[_Answer] = []
    while left := [at for at, outcome in enumerate(outcomes) if outcome is None]:
        answers = yield Step(SQL.write, [_item(workspace, puts[at]) for at in left])
        for at, (row,) in zip(left, answers, strict=True):
            answer = _Answer(*row)
            if answer.full_of == "again":  # a rival of the same flush was first, and stored nothing
                continue
            outcomes[at] = _settled(puts[at], answer) or (yield from _against_rival(workspace, puts[at]))
            if answer.won and answer.metered:
                grown.append(answer)
    if grown:
        more_names, more_bytes = sum(a.more_names for a in grown), sum(a.more_bytes for a in grown)
        yield from access.meter(workspace, names=more_names, bytes=more_bytes)
    return [outcome for outcome in outcomes if outcome is not None]


def _settled(put: Put, answer: _Answer) -> WriteOutcome | None:
    if answer.won and answer.revision is not None:
        return Written(answer.revision, answer.changed_at, created=not answer.stood)
    if answer.full_of and (refused := private.refusal(answer.full_of, int(answer.used or 0))):
        return refused
    if answer.full_of:
        return StorageExhausted(answer.full_of, answer.used or 0, answer.most or 0)
    if answer.revision is None:
        return None  # the name did not exist when the statement began: a rival may have made it since
    return lost(put, answer.revision, present=answer.present)


def _against_rival(workspace: str, put: Put) -> Plan[RevisionConflict | Missing | None]:
    now = yield from maybe(SQL.look, _Now, workspace=workspace, name=put.name)
    present = now is not None and now.present
    if put.expected is None and not present:
        return None  # made and gone again: write once more
    return lost(put, now.revision if now else None, present=present)


def _item(workspace: str, put: Put) -> Mapping[str, Any]:
    return {
        "workspace": workspace,
        "name": put.name,
        "expected": put.expected,
        "body": put.body,
        "digest": digest_of(put.body),
        "sealed": private.revision_of(workspace, "state", put.name, put.body),
    }


def _reading(now: _Now | None) -> Stored | Missing:
    if now is None or not now.present or now.body is None:
        return Missing(now.revision if now else None)
    return Stored(now.revision, now.body, now.digest, now.changed_at)


def _first(found: Sequence[tuple[Any, ...]]) -> _Now | None:
    return _Now(*found[0]) if found else None
