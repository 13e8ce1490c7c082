"""An operation over HTTP: the receipt keeps the answer, and a replay gives it again."""

from __future__ import annotations

from typing import Any

from steadhold import operations
from steadhold.operations import (
    InFlightHere,
    OperationAbandoned,
    OperationClock,
    OperationExpired,
    OperationMismatch,
    Receipt,
    Replayed,
    Sealed,
)
from steadhold.operations.routes import unanswered
from steadhold.web.above import Said
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route

REPLAYED = ("idempotent-replayed", "true")


def receipted(route: Route, request: Request, asked: Ask[Any], said: Said, *, kept_seconds: float) -> Ask[Any]:
    """Make an ask take effect once under the operation id of its request, and keep what it answered."""
    key = request.operation
    if key is None:
        raise AssertionError("a request without an operation id has no receipt")

    if asked.needs:
        scope, scoped = operations.written(asked.needs)
    else:
        scope, scoped = route.scope, request.params[route.scoped] if route.scoped else ""
    rendered: tuple[Any, Answer] | None = None

    def seal(outcome: Any) -> Sealed:
        nonlocal rendered
        answer = (asked.remember or asked.render)(outcome)
        assert isinstance(answer, Reply), f"{type(outcome).__name__} renders a problem, so it must be a Refusal"
        if asked.remember is None:
            rendered = outcome, answer
        return _sealed(answer)

    def render(outcome: Any) -> Answer:
        if rendered is not None and rendered[0] is outcome:
            return rendered[1]
        return _render(asked, outcome)

    call = operations.receipted(
        asked.call,
        key=key,
        fingerprint=operations.fingerprint(*said),
        seal=seal,
        subject=request.who.subject,
        scope=scope,
        scoped=scoped,
        kept_seconds=kept_seconds,
    )
    touches = (*asked.touches, ("operations", key))
    return Ask(call, render, asked.wait, asked.remember, touches, asked.undo, asked.wakes, asked.needs)


def _render(asked: Ask[Any], outcome: Any) -> Answer:
    match outcome:
        case Replayed(receipt):
            return replayed(receipt)
        case OperationMismatch():
            return Problem(
                "operation_mismatch", "Another request took effect under this operation id; choose a new one."
            )
        case OperationAbandoned():
            return Problem("operation_abandoned", "This operation was abandoned before it took effect; it never will.")
        case OperationExpired() | OperationClock() | InFlightHere():
            return unanswered(outcome)
        case _:
            return asked.render(outcome)


def replayed(receipt: Receipt) -> Reply:
    """The first answer, again."""
    return Reply(
        receipt.status,
        receipt.body,
        receipt.content_type,
        (*receipt.headers, REPLAYED),
        receipt.revision,
        receipt.resource,
        receipt.fence,
    )


def _sealed(reply: Reply) -> Sealed:
    return Sealed(
        reply.status, reply.body, reply.content_type, reply.headers, reply.resource, reply.revision, reply.fence
    )
