"""locks over HTTP: taken, renewed and released by whoever knows the fence."""

from __future__ import annotations

import math
from typing import Any, Final, assert_never

from steadhold.fences import Marked, Outrun
from steadhold.kit.ids import id_fault
from steadhold.kit.outcome import Missing
from steadhold.kit.page import page
from steadhold.kit.plan import Call
from steadhold.locks import model, plans
from steadhold.locks.model import Granted, Held, Lock, LockLost, Queued, Released, Renewed
from steadhold.locks.wire import AcquireBody, FenceBody, GrantReply, LockItem, MarkReply, RenewBody, RenewReply
from steadhold.operations import OperationMismatch
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route, Topic, Wait

READ: Final = "locks:read"
WRITE: Final = "locks:write"

LOST: Final = (
    "The grant has ended: it was released, or its time was over; take the lock anew, under a new operation id."
)


def free(name: str) -> Topic:
    """What those wait for who stand in line, as far as this process can tell."""
    return ("lock.free", name)


def line(name: str) -> Topic:
    """The same, and other processes are told."""
    return ("lock", name)


def watched(name: str) -> Topic:
    """What those wait for who watch a lock."""
    return ("lock.seen", name)


def acquire(ask: Request) -> Ask[model.AcquireOutcome]:
    """Take a lock, or stand in line for it."""
    body, name = decode.body(ask, AcquireBody), ask.params["name"]
    asked, request, touches = (ask.workspace, name, body.owner, body.ttl_seconds), ask.fresh, (watched(name),)
    if not body.wait_seconds:
        return Ask(plans.acquire.call(*asked, ask.operation, request=request), _acquired, touches=touches)
    operation = ask.operation or request  # a place in line has a name, though nobody may ask for it again

    def undo(outcome: model.AcquireOutcome) -> Call[Any] | None:
        if not isinstance(outcome, Granted):
            return None
        return plans.give_back.call(ask.workspace, name, operation, request, outcome.fence)

    leave = plans.leave.call(ask.workspace, name, operation, request)
    wait: Wait[model.AcquireOutcome] = Wait(body.wait_seconds, free(name), _settled, (line(name),), leave=leave)
    call = plans.acquire.call(*asked, operation, request=request, waits=True)
    return Ask(call, _acquired, wait, touches=touches, undo=undo)


def _settled(outcome: model.AcquireOutcome) -> bool:
    return not isinstance(outcome, Queued | Held)


def _acquired(outcome: model.AcquireOutcome) -> Answer:
    match outcome:
        case Granted():
            return reply.json(
                GrantReply(
                    name=outcome.name,
                    owner=outcome.owner,
                    fence=outcome.fence,
                    ttl_seconds=outcome.ttl_seconds,
                    waited_seconds=outcome.waited_seconds,
                    expires_at=reply.instant(outcome.until),
                    server_time=reply.instant(outcome.server_time),
                )
            )
        case Held() | Queued():
            return _held(outcome)
        case LockLost():
            return Problem("lock_lost", LOST)
        case OperationMismatch():
            return Problem(
                "operation_mismatch", "Another owner took the lock under this operation id; choose a new one."
            )
        case _:
            assert_never(outcome)


def _held(outcome: Held | Queued) -> Problem:
    left = max(outcome.expires_in_seconds, 0.0)
    why = "Somebody holds the lock." if outcome.holder else "The lock goes to whoever waits for it first."
    extras = {"holder": outcome.holder, "expires_in_seconds": left}
    return Problem("lock_held", why, extras, (("retry-after", str(max(1, math.ceil(left)))),))


def renew(ask: Request) -> Ask[Renewed | LockLost]:
    """Hold a lock for longer."""
    body, name = decode.body(ask, RenewBody), ask.params["name"]

    def render(outcome: Renewed | LockLost) -> Answer:
        if isinstance(outcome, LockLost):
            return Problem("lock_lost", LOST)
        renewed = RenewReply(
            name=name,
            fence=outcome.fence,
            ttl_seconds=outcome.ttl_seconds,
            expires_at=reply.instant(outcome.until),
            server_time=reply.instant(outcome.server_time),
        )
        return reply.json(renewed)

    return Ask(plans.renew.call(ask.workspace, name, body.fence, body.ttl_seconds), render)


def release(ask: Request) -> Ask[Released | LockLost]:
    """Give a lock back."""
    body, name = decode.body(ask, FenceBody), ask.params["name"]

    def render(outcome: Released | LockLost) -> Answer:
        return Problem("lock_lost", LOST) if isinstance(outcome, LockLost) else reply.no_content(outcome.revision)

    def wakes(outcome: Released | LockLost) -> tuple[Topic, ...]:
        return (line(name),) if isinstance(outcome, Released) and outcome.waiting else ()

    call = plans.release.call(ask.workspace, name, body.fence)
    return Ask(call, render, touches=(watched(name), free(name)), wakes=wakes)


def get(ask: Request) -> Ask[Lock | Missing]:
    """Read who holds a lock, or wait until that changes."""
    name = ask.params["name"]

    def render(outcome: Lock | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        if conditions.unchanged(ask, outcome.revision):
            return reply.not_modified(outcome.revision)
        return reply.json(_item(outcome), revision=outcome.revision)

    wait: Wait[Lock | Missing] | None = conditions.watch(ask, watched(name), _revision_of)
    return Ask(plans.get.call(ask.workspace, name), render, wait)


def _revision_of(outcome: Lock | Missing) -> int | None:
    return outcome.revision if isinstance(outcome, Lock) else None


def listing(ask: Request) -> Ask[list[Lock]]:
    """List the locks whose names begin with a prefix."""
    most, prefix = query.limit(ask), query.text(ask, "prefix") or ""
    if prefix and (fault := id_fault(prefix)):
        problem.stop("bad_query", f"prefix is the beginning of an Id. {fault}", parameter="prefix")
    after = query.cursor(ask, "locks", str)

    def render(found: list[Lock]) -> Answer:
        return reply.listing(ask, page(found, most, "locks", lambda lock: (lock.name,)), _item)

    call = plans.names.call(ask.workspace, prefix, after[0] if after else "", most + 1, ask.reach(READ))
    return Ask(call, render)


def _item(lock: Lock) -> LockItem:
    return LockItem(
        name=lock.name,
        held=lock.held,
        fence=lock.fence,
        revision=lock.revision,
        waiting=lock.waiting,
        owner=lock.owner if lock.held else None,
        expires_at=reply.maybe_instant(lock.until),
    )


def mark(ask: Request) -> Ask[Marked | Outrun]:
    """Raise the highest fence that a resource has seen."""
    body, resource = decode.body(ask, FenceBody), ask.params["resource"]

    def render(outcome: Marked | Outrun) -> Reply | Problem:
        if isinstance(outcome, Outrun):
            why = "The resource has seen a higher fence: whoever holds this one has been replaced."
            return Problem("stale_fence", why, {"highest": outcome.highest})
        return reply.json(MarkReply(resource=resource, highest=outcome.highest))

    return Ask(plans.mark.call(ask.workspace, resource, body.fence), render)


def _post(
    path: str, handle: Any, summary: str, takes: Any, gives: Any, problems: tuple[str, ...], **more: Any
) -> Route:
    scoped = path.partition("{")[2].partition("}")[0]
    return Route(
        "POST", path, handle, WRITE, summary, scoped=scoped, body="json", takes=takes, gives=gives, problems=problems,
        **more,
    )  # fmt: skip


ROUTES: Final = (
    _post("/v1/locks/{name}/acquire", acquire, "Take a lock", AcquireBody, GrantReply,
          ("lock_held", "lock_lost", "operation_mismatch")),
    _post("/v1/locks/{name}/renew", renew, "Hold a lock for longer", RenewBody, RenewReply, ("lock_lost",)),
    _post("/v1/locks/{name}/release", release, "Give a lock back", FenceBody, None, ("lock_lost",), status=204),
    _post("/v1/fences/{resource}", mark, "Raise the highest fence that a resource has seen", FenceBody, MarkReply,
          ("stale_fence",)),
    Route("GET", "/v1/locks/{name}", get, READ, "Read who holds a lock", scoped="name", gives=LockItem,
          query=("wait_seconds",), headers=("if-none-match",)),
    Route("GET", "/v1/locks", listing, READ, "List locks", narrows=True, gives=LockItem,
          query=("prefix", "limit", "cursor")),
)  # fmt: skip
