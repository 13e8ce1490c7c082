"""context: exactly these bytes. Others rely on a reference, and what they rely on stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadhold import blobs, fences
from steadhold.context.model import (
    Content,
    ContentType,
    Missing,
    Path,
    Pruned,
    PutOutcome,
    Reference,
    ReferenceText,
    Resolved,
    Unresolved,
    owner_of,
    pinner,
    reference,
)
from steadhold.context.reading import content_of
from steadhold.context.writing import SQL, New, Won, hold, let_go, settle, write
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import CONTEXT_WHOLE_BYTES_MAX
from steadhold.kit.plan import Plan, each, operation, rows
from steadhold.kit.sql import Row


@operation
def resolve(workspace: str, text: ReferenceText) -> Plan[Resolved]:
    """Find the bytes of a reference: kept, or pinned by somebody. `Pruned` where such a revision may have been."""
    named = reference(text)
    if named is None:
        return Missing(None)
    asked: dict[str, Any] = {"path": named.path, "revision": named.revision, "digest": named.digest}
    found = yield from rows(SQL.look_for, workspace=workspace, whole=CONTEXT_WHOLE_BYTES_MAX, **asked)
    if not found:
        return Missing(None)
    digest, size, content_type, pinned, current, body = found[0]
    if pinned or digest == named.digest:
        return content_of(size, named.digest, content_type, body) or Missing(None)
    return Missing(None) if digest is not None or named.revision > current else Pruned(None)


@operation
def pin(workspace: str, owner: str, texts: Sequence[ReferenceText]) -> Plan[Missing | Pruned | None]:
    """Rely on references: their bytes stay until the owner unpins them. A refusal has pinned none of them.

    An owner is named as its room names it, "job:<id>" or "approval:<id>". Rank blobs.
    """
    found: list[dict[str, Any]] = []
    for text in texts:
        outcome = yield from resolve.plan(workspace, text)
        named = reference(text)
        if not isinstance(outcome, Content) or named is None:
            return outcome if isinstance(outcome, Pruned) else Missing(None)
        item = {"path": named.path, "revision": named.revision, "owner": owner, "digest": named.digest}
        found.append({"workspace": workspace, **item, "bytes": outcome.bytes, "content_type": outcome.content_type})
    if (yield from blobs.pin(workspace, pinner(owner), [item["digest"] for item in found])):
        return Pruned(None)
    yield from each(SQL.pin, found)
    return None


@operation
def unpin(workspace: str, owner: str, text: str | None = None) -> Plan[int]:
    """Rely on a reference no longer (None: on any); answers how many that were. Rank blobs."""
    named = None if text is None else reference(text)
    if text is not None and named is None:
        return 0
    path, revision = (None, None) if named is None else (named.path, named.revision)
    gone = yield from rows(SQL.unpin, workspace=workspace, owner=owner, path=path, revision=revision)
    left = {digest for (digest,) in (yield from rows(SQL.pinned, workspace=workspace, owner=owner))}
    yield from blobs.unpin(workspace, pinner(owner), sorted({digest for (digest,) in gone} - left))
    return len(gone)


@operation
def put_reference(
    workspace: str,
    path: Path,
    text: ReferenceText,
    expected: int | None,
    content_type: ContentType | None = None,
    fences_held: Sequence[FenceRef] = (),
) -> Plan[PutOutcome]:
    """Write the bytes of a reference, as `put` writes bytes; without a type they keep theirs.

    `Unresolved` where there never was such a reference, `Pruned` where its bytes are not kept any more.
    """
    if fences_held and (stale := (yield from fences.require(workspace, fences_held))):
        return stale
    making: frozenset[str] = frozenset({path} if expected is None else ())
    held = yield from hold(workspace, {path: True}, making)
    named = reference(text)
    found = () if named is None else (yield from _hold(workspace, named))
    if named is None or not found:
        yield from let_go(workspace, held)
        missing = yield from resolve.plan(workspace, text)
        return missing if isinstance(missing, Pruned) else Unresolved(text)
    new = New(found[0][0], named.digest, content_type or found[0][1])
    outcome = yield from write(workspace, path, expected, new)
    if isinstance(outcome, Won):
        yield from blobs.pin(workspace, owner_of(path, outcome.written.revision), [named.digest])
        return (yield from settle(workspace, outcome))
    return outcome


def _hold(workspace: str, named: Reference) -> Plan[list[Row]]:
    asked: dict[str, Any] = {"path": named.path, "revision": named.revision, "digest": named.digest}
    return (yield from rows(SQL.hold_reference, workspace=workspace, **asked))
