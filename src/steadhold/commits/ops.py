"""What a commit can hold: a table of ops, each a route of another room in other words.

A later room is added here by a line in `APPLY`, and by a condition in `conditions.py` with its line in `REQUIRE`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from steadhold.approvals.routes import ROUTES as APPROVALS
from steadhold.commits import conditions
from steadhold.commits.model import Part
from steadhold.context.items import put_item
from steadhold.context.routes import ROUTES as CONTEXT
from steadhold.effects.routes import ROUTES as EFFECTS
from steadhold.events.routes import ROUTES as EVENTS
from steadhold.inboxes.routes import ROUTES as INBOXES
from steadhold.inboxes.routes import append_item
from steadhold.jobs.routes import ROUTES as JOBS
from steadhold.locks.routes import ROUTES as LOCKS
from steadhold.state.routes import ROUTES as STATE
from steadhold.web.ask import Answer, Ask, Request, Route

_ROUTES: Final = {
    (route.method, route.path): route
    for route in (*STATE, *CONTEXT, *LOCKS, *APPROVALS, *EFFECTS, *JOBS, *INBOXES, *EVENTS)
}


@dataclass(frozen=True, slots=True)
class Op:
    """One op: its route, whose scope and rules are its own.

    `about` is what no two items of a list may share: a kind of thing, named by the route's first parameter.
    `content` is the member whose exact bytes are the body of the route; without it the other members are its body.
    `members` are the names of the route's parameters here, where they differ.
    """

    route: Route
    about: str | None = None
    content: str | None = None
    members: Mapping[str, str] = field(default_factory=dict[str, str])


def _apply(method: Literal["PUT", "POST", "DELETE"], path: str, about: str | None = None, **more: Any) -> Op:
    return Op(_ROUTES[method, path], about, **more)


def _require(
    method: Literal["GET", "POST"],
    path: str,
    about: str | None,
    handle: Callable[[Request], Ask[Any] | Answer],
    headers: tuple[str, ...] = (),
    **more: Any,
) -> Op:
    route = _ROUTES[method, path]
    return Op(replace(route, handle=handle, headers=headers, body="json"), about, **more)


_JOB: Final[Mapping[str, str]] = {"id": "job_id"}
_CONSUMER: Final[Mapping[str, str]] = {"name": "consumer"}
_APPROVAL: Final[Mapping[str, str]] = {"id": "approval_id"}
_AGGREGATE: Final[Mapping[str, str]] = {"id": "aggregate_id"}

REQUIRE: Final[Mapping[str, Op]] = {
    "aggregates.get": _require(
        "GET", "/v1/aggregates/{id}", "aggregate", conditions.aggregate, ("if-match",), members=_AGGREGATE
    ),
    "approvals.verify": _require(
        "POST", "/v1/approvals/{id:uuid}/verify", "approval", conditions.approval, ("if-match",), members=_APPROVAL
    ),
    "context.get": _require(
        "GET", "/v1/context/{path:path}", "context", conditions.file, ("if-match", "if-none-match")
    ),
    "consumers.get": _require(
        "GET", "/v1/inboxes/{inbox}/consumers/{name}", None, conditions.consumer, members=_CONSUMER
    ),
    "jobs.get": _require("GET", "/v1/jobs/{id:uuid}", "job", conditions.job, ("if-match",), members=_JOB),
    "locks.get": _require("GET", "/v1/locks/{name}", "lock", conditions.lock),
    "state.get": _require(
        "GET", "/v1/state/{name:path}", "state", conditions.name, ("if-match", "if-none-match")
    ),
}  # fmt: skip
APPLY: Final[Mapping[str, Op]] = {
    "approvals.use": _apply("POST", "/v1/approvals/{id:uuid}/use", "approval", members=_APPROVAL),
    "consumers.acknowledge": _apply("POST", "/v1/inboxes/{inbox}/consumers/{name}/acknowledge", members=_CONSUMER),
    "context.put": Op(
        replace(
            _ROUTES["PUT", "/v1/context/{path:path}"],
            handle=put_item,
            headers=("if-match", "if-none-match"),
            body="json",
            body_bytes_max=None,
        ),
        "context",
    ),
    "effects.plan": _apply("POST", "/v1/effects"),
    "events.append": _apply("POST", "/v1/aggregates/{id}/events", "aggregate", members=_AGGREGATE),
    "inboxes.append": Op(replace(_ROUTES["POST", "/v1/inboxes/{inbox}/events"], handle=append_item, body="json")),
    "jobs.checkpoint": _apply("PUT", "/v1/jobs/{id:uuid}/checkpoints/{stage}", "job", members=_JOB),
    "jobs.settle": _apply("POST", "/v1/jobs/{id:uuid}/settle", "job", members=_JOB),
    "jobs.submit": _apply("POST", "/v1/jobs"),
    "locks.release": _apply("POST", "/v1/locks/{name}/release", "lock"),
    "state.delete": _apply("DELETE", "/v1/state/{name:path}", "state"),
    "state.put": _apply("PUT", "/v1/state/{name:path}", "state", content="value"),
}
OPS: Final[Mapping[Part, Mapping[str, Op]]] = {"require": REQUIRE, "apply": APPLY}
