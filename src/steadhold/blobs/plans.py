"""Store bytes once, pin them for whoever needs them, prune what nobody needs.

A pin is a row (owner, digest) under a foreign key, and both sides lock the bytes: a prune and a pin cannot miss
each other. Owners are named as their rooms name them, "job:<id>" or "context:<path>@<revision>".

Bytes lie in chunks of `CONTEXT_CHUNK_BYTES`. An upload whose digest is not known yet keeps its chunks under its own
id, where no digest finds them; it is adopted when it is whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from steadhold.blobs.model import NoBytes, digest_of, upload_key
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES
from steadhold.kit.plan import Plan, each, operation, rows, single_operation
from steadhold.kit.sql import load

SQL = load(__file__)

TRIES_MAX: Final = 100
"""How often equal bytes may be pruned while an upload is adopted: each time a rival has brought and left them."""


def put(workspace: str, owner: str, bodies: Sequence[bytes]) -> Plan[list[bytes]]:
    """Store bytes and pin them for an owner; answers their SHA-256 digests, in order."""
    digests = [digest_of(body) for body in bodies]
    yield from put_known(workspace, owner, dict(zip(digests, bodies, strict=True)))
    return digests


def put_known(workspace: str, owner: str, bodies: Mapping[bytes, bytes]) -> Plan[None]:
    """Store bytes whose SHA-256 is known, by it, and pin them for an owner."""
    left = dict(bodies)
    while left:
        yield from each(SQL.store, [chunk for d, body in left.items() for chunk in _chunks(workspace, d, body)])
        hands = yield from each(SQL.pin, [{"workspace": workspace, "digest": d, "owner": owner} for d in left])
        # what was pruned between the two statements has no hand: store it again
        left = {d: left[d] for d, hand in zip(list(left), hands, strict=True) if not hand}


def _chunks(workspace: str, digest: bytes, body: bytes) -> Iterator[Mapping[str, Any]]:
    for chunk, at in enumerate(range(0, len(body) or 1, CONTEXT_CHUNK_BYTES)):
        yield {"workspace": workspace, "digest": digest, "chunk": chunk, "bytes": body[at : at + CONTEXT_CHUNK_BYTES]}


def keep(workspace: str, upload: str, chunk: int, piece: bytes) -> Plan[None]:
    """Keep a chunk of an upload, the first is 0: all but the last of them are `CONTEXT_CHUNK_BYTES` long."""
    yield from rows(SQL.keep, workspace=workspace, upload=upload_key(upload), chunk=chunk, bytes=piece)


def adopt(workspace: str, owner: str, upload: str, digest: bytes) -> Plan[None]:
    """Make the chunks of an upload, of which none is missing, bytes of this digest, pinned for an owner."""
    item = {"workspace": workspace, "digest": digest, "upload": upload_key(upload)}
    for _ in range(TRIES_MAX):
        if (yield from rows(SQL.adopt, **item)):
            yield from rows(SQL.adopt_rest, **item)
        if (yield from rows(SQL.pin, workspace=workspace, digest=digest, owner=owner)):
            break  # else what was there already was pruned between the two: adopt once more
    else:
        raise AssertionError("an upload is adopted that has no chunks")
    yield from drop(workspace, upload)


def drop(workspace: str, upload: str) -> Plan[None]:
    """Remove the chunks of an upload."""
    yield from rows(SQL.drop, workspace=workspace, upload=upload_key(upload))


def pin(workspace: str, owner: str, digests: Sequence[bytes]) -> Plan[NoBytes | None]:
    """Pin stored bytes for one more owner. `NoBytes` names the first that is not stored; then nothing is pinned."""
    wanted = sorted(set(digests))
    hands = yield from each(SQL.pin, [{"workspace": workspace, "digest": d, "owner": owner} for d in wanted])
    missing = next((d for d, hand in zip(wanted, hands, strict=True) if not hand), None)
    if missing is None:
        return None
    fresh = [d for d, hand in zip(wanted, hands, strict=True) if (True,) in hand]
    yield from unpin(workspace, owner, fresh)
    return NoBytes(missing)


def pin_held(workspace: str, pins: Sequence[tuple[str, bytes]]) -> Plan[None]:
    """Pin bytes, each for an owner by its digest, that this transaction has locked: they are there."""
    hands = yield from each(SQL.pin, [{"workspace": workspace, "owner": owner, "digest": d} for owner, d in pins])
    assert all(hands), "bytes that are locked do not go"


def unpin(workspace: str, owner: str, digests: Sequence[bytes] | None = None) -> Plan[int]:
    """Let go of an owner's bytes (None: of all); answers how many pins that were. What nobody pins is pruned."""
    if digests is None:
        digests = [digest for (digest,) in (yield from rows(SQL.pinned, workspace=workspace, owner=owner))]
    return (yield from unpin_each(workspace, [(owner, digest) for digest in sorted(set(digests))]))


def unpin_each(workspace: str, pins: Sequence[tuple[str, bytes]]) -> Plan[int]:
    """Let go of pins, each of an owner and a digest; answers how many there were."""
    items = [{"workspace": workspace, "digest": digest, "owner": owner} for owner, digest in pins]
    hands = yield from each(SQL.unpin, items)
    return sum(map(len, hands))


@operation
def read(workspace: str, digest: bytes) -> Plan[bytes | NoBytes]:
    """Read bytes by their digest."""
    parts = yield from rows(SQL.read, workspace=workspace, digest=digest)
    return b"".join(part for (part,) in parts) if parts else NoBytes(digest)


@operation
def part(workspace: str, digest: bytes, first: int, end: int) -> Plan[bytes | NoBytes]:
    """Read bytes from `first` on, up to `end` at most (excluded) and as far as they lie in one chunk."""
    wanted = {"digest": digest, "first": first, "last": end, "chunk_bytes": CONTEXT_CHUNK_BYTES}
    found = yield from rows(SQL.part, workspace=workspace, **wanted)
    return found[0][0] if found else NoBytes(digest)


@single_operation
def prune(workspace: str, limit: int) -> Plan[int]:
    """Remove bytes that lost a pin and have none left; looks at `limit` at most and answers at how many it did."""
    found = yield from rows(SQL.suspects, workspace=workspace, limit=limit)
    if found:
        yield from rows(SQL.prune, workspace=workspace, digests=[digest for (digest,) in found])
    return len(found)
