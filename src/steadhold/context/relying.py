"""context: what other rooms rely on. They find it before they write anything, and pin it once they have written.

Bytes that were found are locked until the commit by what only a prune minds, and a prune waits for nobody. So they are
looked for before any row is locked, no pin comes too late for them, and whoever is refused has nothing to take back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from steadhold import blobs
from steadhold.context.model import Reference, Unresolved, pinner, reference, refers_to_context
from steadhold.context.writing import SQL
from steadhold.kit.plan import Plan, each, rows
from steadhold.kit.sql import Row


@dataclass(frozen=True, slots=True)
class Found:
    """What a reference names: so many bytes, which stay until the commit at least."""

    named: Reference
    bytes: int
    content_type: str


Finds: TypeAlias = Mapping[str, "Found | Unresolved"]
"""What each reference to context came to."""


def find(workspace: str, texts: Iterable[str]) -> Plan[Finds]:
    """Find what references to context name; those to other things are left out."""
    wanted = [text for text in dict.fromkeys(texts) if refers_to_context(text)]
    read = {text: named for text in wanted if (named := reference(text)) is not None}
    hands = yield from each(SQL.rely, [{"workspace": workspace, **_key(named)} for named in read.values()])
    found = {text: _found(text, named, hand) for (text, named), hand in zip(read.items(), hands, strict=True)}
    return {text: found.get(text) or Unresolved(text) for text in wanted}


def _key(named: Reference) -> dict[str, Any]:
    return {"path": named.path, "revision": named.revision, "digest": named.digest}


def _found(text: str, named: Reference, hand: Sequence[Row]) -> Found | Unresolved:
    if not hand:
        return Unresolved(text)
    kept, size, content_type, other, current = hand[0]
    if kept:
        return Found(named, size, content_type)
    return Unresolved(text, pruned=not other and named.revision <= current)


def unknown(finds: Finds, texts: Iterable[str]) -> Unresolved | None:
    """The first of the references that names nothing."""
    return next((lost for text in texts if isinstance(lost := finds.get(text), Unresolved)), None)


def pin_found(workspace: str, finds: Finds, wanted: Iterable[tuple[str, str]]) -> Plan[None]:
    """Pin what was found, each for an owner ("job:<id>") by its reference, as `pin` does. Rank blobs."""
    pins = [(owner, found) for owner, text in wanted if isinstance(found := finds.get(text), Found)]
    yield from each(SQL.pin, [
        {"workspace": workspace, "owner": owner, **_key(found.named), "bytes": found.bytes,
         "content_type": found.content_type}
        for owner, found in pins
    ])  # fmt: skip
    yield from blobs.pin_held(workspace, [(pinner(owner, one.named), one.named.digest) for owner, one in pins])


def unpin_owners(workspace: str, owners: Sequence[str]) -> Plan[int]:
    """Let go of all that owners rely on, who are gone; answers how many pins that were. Rank blobs."""
    gone = yield from rows(SQL.unpin_owners, workspace=workspace, owners=list(owners))
    left = [(owner, Reference(path, revision, bytes(digest))) for owner, path, revision, digest in gone]
    yield from blobs.unpin_each(workspace, [(pinner(owner, named), named.digest) for owner, named in left])
    return len(gone)
