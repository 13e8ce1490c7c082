"""Store bytes once, pin them for whoever needs them, prune what nobody needs.

A pin is a row (owner, digest) under a foreign key, and both sides lock the bytes: a prune and a pin cannot miss
each other. Owners are named as their rooms name them, "job:<id>" or "context:<path>@<revision>".
"""

from __future__ import annotations

from collections.abc import Sequence

from steadhold.blobs.model import NoBytes, digest_of
from steadhold.kit.plan import Plan, each, operation, rows, single_operation
from steadhold.kit.sql import load

SQL = load(__file__)


def put(workspace: str, owner: str, bodies: Sequence[bytes]) -> Plan[list[bytes]]:
    """Store bytes and pin them for an owner; answers their SHA-256 digests, in order."""
    digests = [digest_of(body) for body in bodies]
    left = dict(zip(digests, bodies, strict=True))
    while left:
        yield from each(SQL.store, [{"workspace": workspace, "digest": d, "bytes": b} for d, b in left.items()])
        hands = yield from each(SQL.pin, [{"workspace": workspace, "digest": d, "owner": owner} for d in left])
        # what was pruned between the two statements has no hand: store it again
        left = {d: left[d] for d, hand in zip(list(left), hands, strict=True) if not hand}
    return digests


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


def unpin(workspace: str, owner: str, digests: Sequence[bytes] | None = None) -> Plan[int]:
    """Let go of an owner's bytes (None: of all); answers how many pins that were. What nobody pins is pruned."""
    if digests is None:
        digests = [digest for (digest,) in (yield from rows(SQL.pinned, workspace=workspace, owner=owner))]
    items = [{"workspace": workspace, "digest": digest, "owner": owner} for digest in sorted(set(digests))]
    hands = yield from each(SQL.unpin, items)
    return sum(map(len, hands))


@operation
def read(workspace: str, digest: bytes) -> Plan[bytes | NoBytes]:
    """Read bytes by their digest."""
    parts = yield from rows(SQL.read, workspace=workspace, digest=digest)
    return b"".join(part for (part,) in parts) if parts else NoBytes(digest)


@single_operation
def prune(workspace: str, limit: int) -> Plan[int]:
    """Remove bytes that lost a pin and have none left; looks at `limit` at most and answers at how many it did."""
    found = yield from rows(SQL.suspects, workspace=workspace, limit=limit)
    if found:
        yield from rows(SQL.prune, workspace=workspace, digests=[digest for (digest,) in found])
    return len(found)
