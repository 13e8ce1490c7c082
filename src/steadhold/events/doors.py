"""The doors of subscriptions and publications."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from steadhold.events import flow, retrying, subscribing, wire
from steadhold.events.flow import Spec, Subscription, Told
from steadhold.kit import limits
from steadhold.kit.ids import UUID
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.page import CursorFault, page, read_cursor, write_cursor
from steadhold.kit.plan import Refusal
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request
from steadhold.web.problem import SOON

SCAN: Final = limits.REPLAY_EVENTS_MAX
EPOCH: Final = datetime.fromtimestamp(0, UTC)
MICROSECOND: Final = timedelta(microseconds=1)
MICROSECONDS: Final = re.compile("[0-9]{1,16}")
"""Since 1970, up to the year 2286."""


def put(sinks: Collection[tuple[str, str]], ask: Request) -> Ask[flow.PutOutcome]:
    """Say which events go where, under a condition; `sinks` are those of this server, each of one workspace."""
    id, expected, body = ask.params["id"], conditions.put(ask), decode.body(ask, wire.SubscriptionBody)
    spec = Spec(tuple(body.types), _target(body.target), tuple(body.aggregates), body.ordered_by == "aggregate")
    if body.target.sink is not None and (ask.workspace, body.target.sink) not in sinks:
        problem.stop("target_unknown", "The workspace has no sink of this name here.", pointer="/target")

    def render(outcome: flow.PutOutcome) -> Answer:
        if isinstance(outcome, flow.Subscribed):
            return _subscription(outcome.subscription, 201 if outcome.created else 200)
        return refused(outcome)

    call = subscribing.subscribe.call(ask.workspace, id, spec, expected, ask.fences)
    return Ask(call, render, touches=(("subscription", id),))


def _target(target: wire.TargetBody) -> str:
    said = {"inbox": target.inbox, "sink": target.sink}
    named = [f"{kind}:{name}" for kind, name in said.items() if name is not None]
    if len(named) != 1:
        problem.stop("bad_member", "A target is one inbox or one sink.", pointer="/target")
    return named[0]


def get(ask: Request) -> Ask[Subscription | Missing]:
    """A subscription."""
    id = ask.params["id"]

    def render(found: Subscription | Missing) -> Answer:
        if isinstance(found, Missing):
            return problem.refused(found)
        unchanged = conditions.unchanged(ask, found.revision)
        return reply.not_modified(found.revision) if unchanged else _subscription(found)

    return Ask(
        subscribing.subscription.call(ask.workspace, id),
        render,
        conditions.watch(ask, ("subscription", id), lambda found: getattr(found, "revision", None)),
    )


def delete(ask: Request) -> Ask[flow.DeleteOutcome]:
    """Delete the revision named by If-Match; what is on its way is skipped."""
    id, expected = ask.params["id"], conditions.exact_match(ask)

    def render(outcome: flow.DeleteOutcome) -> Answer:
        return reply.no_content(outcome.revision) if isinstance(outcome, flow.Unsubscribed) else refused(outcome)

    call = subscribing.unsubscribe.call(ask.workspace, id, expected, ask.fences)
    return Ask(call, render, touches=(("subscription", id),))


def listing(ask: Request) -> Ask[list[Subscription]]:
    """Subscriptions by id."""
    most, after = query.limit(ask), query.cursor(ask, "subscriptions", str)

    def render(found: list[Subscription]) -> Answer:
        return reply.listing(ask, page(found, most, "subscriptions", lambda one: (one.id,)), _shown)

    return Ask(subscribing.subscriptions.call(ask.workspace, after[0] if after else "", most + 1), render)


def _subscription(found: Subscription, status: int = 200) -> Reply:
    return reply.json(_shown(found), status, revision=found.revision, resource=f"subscription:{found.id}")


def _shown(found: Subscription) -> wire.SubscriptionReply:
    spec = found.spec
    return wire.SubscriptionReply(
        subscription_id=found.id,
        revision=found.revision,
        types=[*spec.types],
        aggregates=[*spec.aggregates],
        target=_place(spec.target),
        ordered_by="aggregate" if spec.ordered else "none",
        created_at=reply.instant(found.made_at),
        updated_at=reply.instant(found.changed_at),
    )


def _place(target: str) -> dict[str, str]:
    kind, _, name = target.partition(":")
    return {kind: name}


def replay(ask: Request) -> Ask[flow.Replayed | Missing | flow.ReplayPruned]:
    """Publish what happened in a span of time again, as far as it is kept."""
    id, body = ask.params["id"], decode.body(ask, wire.ReplayBody)
    if body.until <= body.first:
        problem.stop("bad_member", "`to` lies behind `from`.", pointer="/to")
    after: Any = ("", 0) if body.cursor is None else read_cursor("replay", body.cursor, str, int)
    if isinstance(after, CursorFault):
        problem.stop("bad_cursor", after.why, pointer="/cursor")

    def render(outcome: flow.Replayed | Missing | flow.ReplayPruned) -> Answer:
        if isinstance(outcome, Missing):
            return problem.refused(outcome)
        if isinstance(outcome, flow.ReplayPruned):
            extras = {"first_retained_at": reply.instant(outcome.first_retained_at)}
            return Problem("events_pruned", "Some of what happened then is not kept any more.", extras)
        cursor = None if outcome.after is None else write_cursor("replay", *outcome.after)
        return reply.json(wire.ReplayReply(events=outcome.events, next_cursor=cursor))

    return Ask(subscribing.replay.call(ask.workspace, id, body.first, body.until, after, SCAN), render)


def publications(ask: Request) -> Ask[list[Told]]:
    """Publications that are pending, blocked or parked."""
    most, after = query.limit(ask), query.cursor(ask, "publications", MICROSECONDS, UUID)
    state: Any = query.one_of(ask, "state", "pending", "blocked", "parked")
    if state is None:
        problem.stop("bad_query", "Say which: state is pending, blocked or parked.", parameter="state")

    def render(found: list[Told]) -> Answer:
        return reply.listing(ask, page(found, most, "publications", _place_of), _told)

    call = subscribing.publications.call(
        ask.workspace, state, None if after is None else (after[0], after[1]), most + 1
    )
    return Ask(call, render)


def _place_of(found: Told) -> tuple[str, str]:
    return str((found.made_at - EPOCH) // MICROSECOND), found.id


def _told(found: Told) -> wire.PublicationReply:
    return wire.PublicationReply(
        publication_id=found.id,
        subscription_id=found.subscription,
        target=_place(found.target),
        aggregate_id=found.aggregate_id,
        aggregate_revision=found.aggregate_revision,
        state=found.state,
        attempts=found.attempts,
        created_at=reply.instant(found.made_at),
        next_attempt_at=None if found.next_at is None else reply.instant(found.next_at),
        settled_at=None if found.settled_at is None else reply.instant(found.settled_at),
        reason=found.why,
    )


def retry(ask: Request) -> Ask[flow.SteerOutcome]:
    """Let a blocked or parked publication be tried now."""
    return Ask(subscribing.retry.call(ask.workspace, ask.params["id"]), _steered)


def skip(ask: Request) -> Ask[flow.SteerOutcome]:
    """Never publish it; what waits behind it goes on."""
    return Ask(subscribing.skip.call(ask.workspace, ask.params["id"]), _steered)


def retry_parked(ask: Request) -> Ask[retrying.RetryAllOutcome]:
    """Let what is parked be tried again, if it is as many as was said; without a number it is counted."""
    body = decode.body(ask, wire.RetryParkedBody)

    def render(outcome: retrying.RetryAllOutcome) -> Answer:
        if isinstance(outcome, retrying.ParkedChanged):
            return Problem("count_changed", f"{outcome.count} are parked now.", {"count": outcome.count})
        left = outcome.count - outcome.retried
        return reply.json(wire.RetryParkedReply(count=outcome.count, retried=outcome.retried, left=left))

    return Ask(retrying.retry_parked.call(ask.workspace, body.subscription_id, body.expect_count), render)


def _steered(outcome: flow.SteerOutcome) -> Answer:
    match outcome:
        case flow.Steered(found):
            return reply.json(_told(found), resource=f"publication:{found.id}")
        case flow.Settled(state):
            return Problem("publication_settled", f"The publication is {state}.", {"state": state})
        case Missing():
            return problem.MISSING


def refused(outcome: Refusal) -> Problem:
    """The problem that a refusal is."""
    match outcome:
        case flow.WritersOpen():
            why = (
                "Transactions that write events have been open for a while, and the first subscription waits for them."
            )
            return Problem("writers_open", f"{why} Send the same again.", headers=SOON)
        case flow.Ending():
            why = "What was on its way to the subscription of this id that was deleted is still being skipped."
            return Problem("subscription_ending", why, headers=SOON)
        case flow.SubscriptionsFull():
            most = limits.SUBSCRIPTIONS_MAX
            return Problem("subscriptions_full", f"A workspace has at most {most} subscriptions.", {"limit": most})
        case Missing(last_revision):
            extras = {} if last_revision is None else {"last_revision": last_revision}
            return Problem("condition_false", "There is no subscription of this id and revision.", extras)
        case RevisionConflict() | StaleFence():
            return problem.refused(outcome)
        case _:
            raise AssertionError(f"{type(outcome).__name__} is no refusal of subscriptions")
