"""The doors of operations: what became of one, and an end to the ones that nobody knows of."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeAlias

import msgspec

from steadhold.kit.page import page
from steadhold.kit.plan import Call, Plan
from steadhold.operations.model import (
    ADMIN,
    KEPT_SECONDS,
    InFlightHere,
    NotCommitted,
    OperationClock,
    OperationExpired,
    OutOfScope,
    Receipt,
    may_act,
)
from steadhold.operations.plans import abandon, look, receipts
from steadhold.web import query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route, Wait
from steadhold.web.problem import SOON


class Operation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of an operation. `result` is the first answer's body, `result_base64` where that was no JSON."""

    operation_id: str
    state: str
    kind: str
    resource: str | None
    revision: int | msgspec.UnsetType = msgspec.UNSET
    fence: int | msgspec.UnsetType = msgspec.UNSET
    status: int
    result: msgspec.Raw | None
    result_base64: str | msgspec.UnsetType = msgspec.UNSET
    committed_at: reply.Instant
    expires_at: reply.Instant


Found: TypeAlias = Receipt | NotCommitted | OperationExpired | OutOfScope
Abandoned: TypeAlias = Receipt | OperationExpired | OperationClock | InFlightHere | OutOfScope
IN_FLIGHT: Final = Problem(
    "operation_in_flight",
    "A request under this operation id has not ended; send this one again, or ask for its receipt.",
    headers=SOON,
)


@dataclass(frozen=True, slots=True)
class Doors:
    """The doors of a server that keeps receipts this long."""

    kept_seconds: float

    def get(self, ask: Request) -> Ask[Found]:
        """Read what became of an operation, or wait until it has committed."""
        key, seconds = ask.params["id"], query.wait_seconds(ask)
        inner = look.call(ask.workspace, key, kept_seconds=self.kept_seconds)

        def plan() -> Plan[Found]:
            found = yield from inner.begin()
            return _seen(ask, found) if isinstance(found, Receipt) else found

        wait: Wait[Found] = Wait(seconds, ("operations", key), _ended)
        return Ask(Call(plan, ask.workspace, inner.name), self.answer, wait if seconds else None)

    def give_up(self, ask: Request) -> Ask[Abandoned] | Problem:
        """Abandon an operation, or learn that it has committed."""
        if not may_act(ask.who.scopes):
            return Problem("missing_scope", "A key that may only read has no operation to abandon.", {"scope": ADMIN})
        key = ask.params["id"]
        inner = abandon.call(ask.workspace, key, subject=ask.who.subject, kept_seconds=self.kept_seconds)

        def plan() -> Plan[Abandoned]:
            found = yield from inner.begin()
            return _seen(ask, found) if isinstance(found, Receipt) else found

        return Ask(Call(plan, ask.workspace, inner.name), self.answer, touches=(("operations", key),))

    def browse(self, ask: Request) -> Ask[list[Receipt]]:
        """List operations by id."""
        limit = query.limit(ask)
        (after,) = query.cursor(ask, "operations", str) or ("",)

        def render(found: list[Receipt]) -> Reply:
            return reply.listing(ask, page(found, limit, "operations", lambda r: (r.key,)), self.shown)

        return Ask(receipts.call(ask.workspace, after, limit + 1), render)

    def answer(self, outcome: Found | Abandoned) -> Answer:
        """Say what became of an operation."""
        match outcome:
            case Receipt():
                return reply.json(self.shown(outcome))
            case NotCommitted():
                detail = (
                    "No request that keeps a receipt has committed under this id; one may still be in flight. "
                    "Abandon it to know for certain."
                )
                return Problem("operation_not_committed", detail, headers=SOON)
            case OperationExpired() | OperationClock() | InFlightHere():
                return unanswered(outcome)
            case OutOfScope(scope):
                return Problem("missing_scope", f"This receipt needs the scope {scope}, or {ADMIN}.", {"scope": scope})

    def shown(self, receipt: Receipt) -> Operation:
        """A receipt as it is told."""
        is_json = receipt.content_type == "application/json"
        return Operation(
            operation_id=receipt.key,
            state=receipt.state,
            kind=receipt.kind,
            resource=receipt.resource,
            revision=msgspec.UNSET if receipt.revision is None else receipt.revision,
            fence=msgspec.UNSET if receipt.fence is None else receipt.fence,
            status=receipt.status,
            result=msgspec.Raw(receipt.body) if receipt.body and is_json else None,
            result_base64=msgspec.UNSET if is_json else base64.b64encode(receipt.body).decode(),
            committed_at=reply.instant(receipt.committed_at),
            expires_at=reply.instant(receipt.committed_at + timedelta(seconds=self.kept_seconds)),
        )


def _seen(ask: Request, receipt: Receipt) -> Receipt | OutOfScope:
    """Show a receipt to whoever may do what it tells of."""
    if ask.permits(ADMIN, None):
        return receipt
    for scope, name in receipt.needs:
        if scope and not ask.permits(scope, name or None):
            return OutOfScope(scope)
    return receipt


def _ended(outcome: object) -> bool:
    return not isinstance(outcome, NotCommitted)


def unanswered(outcome: OperationExpired | OperationClock | InFlightHere) -> Problem:
    """The problem that an id without an answer is, whoever asks under it."""
    match outcome:
        case OperationExpired(server_time=at):
            detail = "Receipts of that age are gone, so it is never executed again: read what it would have changed."
            return Problem("operation_expired", detail, {"server_time": reply.instant(at)})
        case OperationClock(server_time=at):
            detail = "The id says that it was made in the future; set the clock."
            return Problem("operation_clock", detail, {"server_time": reply.instant(at)})
        case InFlightHere():
            return IN_FLIGHT


def routes(kept_seconds: float) -> tuple[Route, ...]:
    """The doors of operations where receipts are kept this long."""
    doors = Doors(kept_seconds)
    return (
        Route(
            "GET",
            "/v1/operations/{id}",
            doors.get,
            "",
            "What became of an operation",
            gives=Operation,
            query=("wait_seconds",),
            problems=("operation_not_committed", "operation_expired", "missing_scope"),
        ),
        Route(
            "POST",
            "/v1/operations/{id}/abandon",
            doors.give_up,
            "",
            "Make sure that an operation never takes effect, or learn that it has",
            gives=Operation,
            problems=("operation_expired", "operation_clock", "operation_in_flight", "missing_scope"),
        ),
        Route(
            "GET",
            "/v1/operations",
            doors.browse,
            ADMIN,
            "Operations, by id",
            gives=Operation,
            query=("limit", "cursor"),
        ),
    )


ROUTES = routes(KEPT_SECONDS)
