"""One key, one effect: the receipt commits with the effect, or neither does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import msgspec

from steadhold.kit.ids import uuid7_ms
from steadhold.kit.limits import OPERATION_AHEAD_SECONDS_MAX
from steadhold.kit.plan import Call, Operation, Plan, Refusal, Step, maybe, one, operation, rows
from steadhold.kit.sql import load
from steadhold.operations.model import (
    ABANDONED,
    ADMIN,
    KEPT_SECONDS,
    InFlightHere,
    Kept,
    Known,
    Looked,
    NotCommitted,
    OperationClock,
    OperationExpired,
    Receipt,
    Sealed,
    Unplayed,
    judge,
    known,
    write_headers,
)

if TYPE_CHECKING:
    from steadhold.kit.connections import AsyncConnection, SyncConnection

SQL = load(__file__)
T = TypeVar("T")
NEAR_MAX: Final = 1_000
_AHEAD_SECONDS: Final = float(OPERATION_AHEAD_SECONDS_MAX)


def receipted(
    call: Call[T],
    *,
    key: str,
    fingerprint: bytes,
    seal: Callable[[T], Sealed],
    subject: str = "",
    scope: str = "",
    scoped: str = "",
    kind: str = "",
    kept_seconds: float = KEPT_SECONDS,
) -> Call[T | Unplayed]:
    """Wrap a call, so that under one key it takes effect at most once and everybody gets its first answer.

    Its outcome is the call's own, or why it was not played: `Replayed` with the receipt, or a refusal
    (`OperationMismatch`, `OperationAbandoned`, `OperationExpired`, `OperationClock`, `InFlightHere`). Where the
    call refuses, nothing is kept and the key stays free. A concurrent call under the same key waits for this one.

    `fingerprint` tells requests under one key apart; `seal` makes of an effect what the receipt keeps.
    `scope` and `scoped` say who may read the receipt. `kept_seconds` is the window of receipts.
    """

    def plan() -> Plan[T | Unplayed]:
        told = yield from _claim(call.workspace, key, fingerprint, kept_seconds)
        if told is not None:
            return judge(key, fingerprint, told) if isinstance(told, Known) else told
        outcome = yield from call.begin()
        if isinstance(outcome, Refusal):
            yield from rows(SQL.free, workspace=call.workspace, key=key)
        else:
            receipt = _receipt(call.workspace, key, seal(outcome), kind or call.name, subject, scope, scoped)
            yield Step(SQL.seal, (receipt,))
        return outcome

    return call.around(plan)


def _kept(outcome: object) -> Sealed:
    return Sealed(200, msgspec.json.encode(outcome))


def _once(workspace: str, key: str, fingerprint: bytes, call: Call[Any]) -> Plan[Any]:
    if call.workspace != workspace:
        raise ValueError(f"the operation is of workspace {workspace!r} and the call of {call.workspace!r}: name one")
    return receipted(call, key=key, fingerprint=fingerprint, seal=_kept, scope=ADMIN).begin()


_ONCE: Operation[[str, bytes, Call[Any]], Any] = operation(_once)


@overload
def once(conn: SyncConnection, workspace: str, key: str, fingerprint: bytes, call: Call[T]) -> T | Unplayed: ...
@overload
def once(
    conn: AsyncConnection, workspace: str, key: str, fingerprint: bytes, call: Call[T]
) -> Awaitable[T | Unplayed]: ...
def once(conn: Any, workspace: str, key: str, fingerprint: bytes, call: Call[Any]) -> Any:
    """Play a call at most once under a key, inside the transaction of `conn`, which stays yours to commit.

    `once(conn, ws, "key", operations.fingerprint(…), jobs.submit.call(ws, …))` is the call's own outcome the
    first time, afterwards `Replayed`, whose `into(Type)` reads that first outcome; or one of the refusals of
    `receipted`. A call that refuses leaves the key free, whatever else you commit.
    """
    return _ONCE(conn, workspace, key, fingerprint, call)


@operation
def look(
    workspace: str, key: str, *, kept_seconds: float = KEPT_SECONDS
) -> Plan[Receipt | NotCommitted | OperationExpired]:
    """Read what became of an operation. `NotCommitted`: it may still be in flight, unless you abandon it."""
    looked = yield from _look(workspace, key, kept_seconds)
    if looked.receipt is not None:
        return looked.receipt
    return OperationExpired(key, looked.server_time) if looked.late else NotCommitted(key)


@operation
def abandon(
    workspace: str, key: str, *, subject: str = "", kept_seconds: float = KEPT_SECONDS
) -> Plan[Receipt | OperationExpired | OperationClock | InFlightHere]:
    """Turn unknown into definite: unless the key's call has committed, it never will.

    The receipt says which: `committed` with what it did, or `abandoned`. Waits while the call is in flight.
    """
    told = yield from _claim(workspace, key, ABANDONED, kept_seconds)
    if isinstance(told, Known):
        return told.receipt or InFlightHere(key)
    if told is not None:
        return told
    yield Step(SQL.seal, (_receipt(workspace, key, Sealed(200), "operations.abandon", subject, abandoned=True),))
    return (yield from _look(workspace, key, kept_seconds)).receipt or InFlightHere(key)


@operation
def receipts(workspace: str, after: str, limit: int) -> Plan[list[Receipt]]:
    """List receipts in the order of their keys, which for UUIDv7 is the order in which they were made."""
    found = yield from rows(SQL.list, workspace=workspace, after=after, limit=limit)
    return [Receipt(*row) for row in found]


@operation
def near(workspace: str, resource: str, instants: Sequence[datetime]) -> Plan[list[Kept]]:
    """Find receipts of a resource that were kept within two seconds after instants, as those of what happened then.

    After each instant `NEAR_MAX` receipts are looked through: on a busy workspace some may be missed.
    """
    found = yield from rows(SQL.near, workspace=workspace, resource=resource, instants=list(instants), most=NEAR_MAX)
    return [Kept(*row) for row in found]


@operation
def purge(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove at most `limit` receipts past their window, with their claims; answers how many.

    They stay as much longer as an id may lie ahead of the clock: so an id that is not yet refused for its age
    still has its receipt.
    """
    return (
        yield from one(
            SQL.purge,
            int,
            workspace=workspace,
            kept_seconds=kept_seconds,
            ahead_seconds=OPERATION_AHEAD_SECONDS_MAX,
            limit=limit,
        )
    )


def _claim(
    workspace: str, key: str, fingerprint: bytes, kept_seconds: float
) -> Plan[Known | OperationExpired | OperationClock | None]:
    """Take a key, or learn what is known of it. None: it is ours now.

    The statement tells whether it is, and whether its own time is too far ahead or too long ago.
    """
    item = {
        "workspace": workspace,
        "key": key,
        "fingerprint": fingerprint,
        "born_ms": uuid7_ms(key),
        "ahead_seconds": _AHEAD_SECONDS,
        "kept_seconds": float(kept_seconds),
    }
    while True:
        mine, early, late, server_time = (yield Step(SQL.claim, (item,)))[0][0]
        if early:
            return OperationClock(key, server_time)
        if late:
            if mine:
                yield from rows(SQL.free, workspace=workspace, key=key)
            return OperationExpired(key, server_time)
        if mine:
            return None
        if (found := (yield from maybe(SQL.recall, known, workspace=workspace, key=key))) is not None:
            return found
        # whoever held it gave it up, or it was purged, between the two statements: try again


def _receipt(
    workspace: str, key: str, sealed: Sealed, kind: str, subject: str, scope: str = "", scoped: str = "", *,
    abandoned: bool = False,
) -> dict[str, Any]:  # fmt: skip
    return {
        "workspace": workspace,
        "key": key,
        "abandoned": abandoned,
        "kind": kind,
        "scope": scope,
        "scoped": scoped,
        "subject": subject,
        "status": sealed.status,
        "body": sealed.body,
        "content_type": sealed.content_type,
        "headers": write_headers(sealed.headers),
        "resource": sealed.resource,
        "revision": sealed.revision,
        "fence": sealed.fence,
    }


def _look(workspace: str, key: str, kept_seconds: float) -> Plan[Looked]:
    born_ms = uuid7_ms(key)
    return (yield from one(SQL.look, _looked, workspace=workspace, key=key, born_ms=born_ms, kept_seconds=kept_seconds))


def _looked(*row: Any) -> Looked:
    return Looked(row[0], row[1], row[2:])
