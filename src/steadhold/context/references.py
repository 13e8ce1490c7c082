"""context: exactly these bytes. Others rely on a reference, and what they rely on stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steadhold import blobs, fences
from steadhold.context.model import (
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


@operation
def resolve(workspace: str, text: ReferenceText) -> Plan[Resolved]:
    """Find the bytes of a reference: kept, or pinned by somebody. `Pruned` where such a revision may have been."""
    named = reference(text)
    if named is None:
        return Missing(None)
    found = yield from rows(SQL.look_for, workspace=workspace, whole=CONTEXT_WHOLE_BYTES_MAX, **_asked(named))
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
    found: list[tuple[Reference, int, str]] = []
    for text in texts:
        named = reference(text)
        held = () if named is None else (yield from rows(SQL.rely_on, workspace=workspace, **_asked(named)))
        if named is None or not held:
            missing = yield from resolve.plan(workspace, text)
            return missing if isinstance(missing, Pruned) else Missing(None)
        found.append((named, *held[0]))
    more = {"workspace": workspace, "owner": owner}
    yield from each(SQL.pin, [{**more, **_asked(n), "bytes": size, "content_type": kind} for n, size, kind in found])
    for named, _, _ in found:
        yield from blobs.pin(workspace, pinner(owner, named), [named.digest])
    return None


@operation
def unpin(workspace: str, owner: str, text: str | None = None) -> Plan[int]:
    """Rely on a reference no longer (None: on any); answers how many that were. Rank blobs."""
    named = None if text is None else reference(text)
    if text is not None and named is None:
        return 0
    path, revision = (None, None) if named is None else (named.path, named.revision)
    gone = yield from rows(SQL.unpin, workspace=workspace, owner=owner, path=path, revision=revision)
    left = [Reference(path, revision, bytes(digest)) for path, revision, digest in gone]
    yield from blobs.unpin_each(workspace, [(pinner(owner, one), one.digest) for one in left])
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
    found = () if named is None else (yield from rows(SQL.hold_reference, workspace=workspace, **_asked(named)))
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


def _asked(named: Reference) -> dict[str, Any]:
    return {"path": named.path, "revision": named.revision, "digest": named.digest}
