"""operations: what became of a change whose answer was lost."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import OperationInFlight, OperationNotCommitted, OutcomeUnknown
from steadhold.sdk.grammar import Got, Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import NOTHING, at, change, pages, read, said_value


class Receipt(msgspec.Struct, frozen=True):
    """What became of an operation, for good: `committed` with its first answer, or `abandoned`.

    `status` and `result` are that answer's. `resource`, `revision` and `fence` name what it changed.
    """

    operation_id: str
    state: Literal["committed", "abandoned"]
    kind: str
    status: int
    committed_at: datetime
    expires_at: datetime
    resource: str | None = None
    revision: int | None = None
    fence: int | None = None
    raw: msgspec.Raw = msgspec.field(name="result", default=NOTHING)
    result_base64: str | None = None

    @property
    def committed(self) -> bool:
        """Whether it took effect. Otherwise it never will."""
        return self.state == "committed"

    @property
    def result(self) -> Any:
        """What the first answer said: a value of JSON, or bytes where it was none."""
        if self.result_base64 is not None:
            return base64.b64decode(self.result_base64)
        return said_value(self.raw)


class OperationsRoom(Room[Mode]):
    """`client.operations`."""

    @verb
    def get(self, operation_id: str, *, wait_seconds: float = 0.0) -> Script[Receipt]:
        """Read a receipt, waiting up to `wait_seconds` (at most 30) for the operation to commit.

        Raises:
            OperationNotCommitted: nothing has committed under this id; it may still be in flight.
            OperationExpired: the id is older than receipts are kept.
        """
        return _receipt((yield _look(operation_id, wait_seconds)))

    @verb
    def abandon(self, operation_id: str, *, fences: Sequence[FenceRef] = ()) -> Script[Receipt]:
        """Make sure that an operation never takes effect, unless it has: the receipt says which.

        It says so of what keeps a receipt. Of an event to an inbox, a lock and the like it knows nothing.

        Raises:
            OperationExpired: the id is older than receipts are kept.
        """
        return (yield from _abandon(operation_id, fences))

    @verb
    def resolve(
        self, operation: str | OutcomeUnknown, *, wait_seconds: float = 5.0, resend: bool = False
    ) -> Script[Receipt]:
        """Turn an unknown outcome into a definite one.

        Waits for the receipt. If there is none, the operation is abandoned, so that a late copy of it changes
        nothing; with `resend`, the request of an `OutcomeUnknown` is sent again instead, under the same id.
        For a verb whose row answers for itself (claim, heartbeat, checkpoint, settle, an event to an inbox, a lock)
        call that verb again instead. Where only an id is given, nobody knows here that its verb has no receipt.

        Raises:
            TypeError: `resend` needs the `OutcomeUnknown` itself, which holds the request; or it is of a verb that has
                no receipt, or none in a workspace, so that abandoning it would say what is not so.
            Problem: it was sent again and refused, so it changed nothing.
            OutcomeUnknown: it was sent again, and no answer came, or that of something between here and the server.
            OperationExpired: the id is older than receipts are kept: read what it would have changed.
        """
        request = operation.request if isinstance(operation, OutcomeUnknown) else None
        operation_id = operation.operation_id if isinstance(operation, OutcomeUnknown) else operation
        if isinstance(request, Send) and _answers_for_itself(request):
            raise TypeError("This verb has no receipt, what it touches answers for itself: call it again, as it was.")
        if isinstance(request, Send) and request.of_the_house:
            raise TypeError("No workspace keeps this receipt: call the verb again under this operation_id.")
        if resend and not isinstance(request, Send):
            raise TypeError("resend=True needs the OutcomeUnknown that was raised: only it holds the request.")
        try:
            return _receipt((yield _look(operation_id, wait_seconds)))
        except (OperationNotCommitted, OperationInFlight):
            if not isinstance(request, Send) or not resend:
                return (yield from _abandon(operation_id))
        yield replace(request, unsure=True)
        return _receipt((yield _look(operation_id, 0.0)))

    @flow
    def list(self) -> Stream[Receipt]:
        """Every receipt that is kept, in the order of their ids: for UUIDv7, that in which they were made."""
        yield from pages(lambda cursor: at("operations", cursor=cursor), Receipt)


def _answers_for_itself(request: Send) -> bool:
    """Whether no receipt tells of a request. Abandoning has none either, and is what resolving comes to."""
    return request.identity == "own" and not request.target.startswith(at("operations", ""))


def _look(operation_id: str, wait_seconds: float) -> Send:
    return Send("GET", at("operations", operation_id, wait_seconds=wait_seconds or None), wait_seconds=wait_seconds)


def _abandon(operation_id: str, fences: Sequence[FenceRef] = ()) -> Script[Receipt]:
    target = at("operations", operation_id, "abandon")
    got = yield change("POST", target, fences=fences, operation_id=operation_id, identity="own")
    return _receipt(got)


def _receipt(got: Got) -> Receipt:
    return read(got, Receipt)
