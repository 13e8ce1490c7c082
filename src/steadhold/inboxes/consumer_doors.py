"""Consumers over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from steadhold.fences import Released, Renewed
from steadhold.inboxes import consuming
from steadhold.inboxes import refusing as no
from steadhold.inboxes.consuming import AckOutcome
from steadhold.inboxes.model import (
    Acknowledged,
    BeyondHead,
    Consumer,
    ConsumerLeased,
    Leased,
    NoConsumer,
    NoInbox,
    Restored,
    Start,
    Written,
    subject_of,
)
from steadhold.inboxes.wire import (
    AcknowledgeBody,
    AcknowledgedReply,
    ConsumerBody,
    ConsumerReply,
    FenceBody,
    LeaseBody,
    LeaseReply,
    PlaceBody,
    RangeItem,
    RenewBody,
    WrittenReply,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.page import page
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Request, Route
from steadhold.web.problem import stop

PutOutcome = Written | RevisionConflict | Missing | NoInbox | Restored | BeyondHead
PATH: Final = "/v1/inboxes/{inbox}/consumers/{name}"


def put(ask: Request) -> Ask[PutOutcome]:
    """Make a consumer, or let one begin further on."""
    inbox, name, expected = ask.params["inbox"], ask.params["name"], conditions.put(ask)
    said = decode.body(ask, ConsumerBody).start
    start = Start("position", said.epoch, said.sequence) if isinstance(said, PlaceBody) else Start(said)

    def render(outcome: PutOutcome) -> Answer:
        match outcome:
            case Written(revision):
                made = WrittenReply(name=name, revision=revision)
                status = 201 if expected is None else 200
                return reply.json(made, status, revision=revision, resource=f"consumer:{inbox}/{name}")
            case Missing() | RevisionConflict():
                return no.replaced(outcome)
            case _:
                return no.refused(outcome)

    return Ask(consuming.put_consumer.call(ask.workspace, inbox, name, start, expected), render)


def get(ask: Request) -> Ask[Consumer | Missing]:
    """Read a consumer as it stands."""

    def render(outcome: Consumer | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        return reply.json(_consumer(outcome), revision=outcome.revision)

    return Ask(consuming.get_consumer.call(ask.workspace, ask.params["inbox"], ask.params["name"]), render)


def delete(ask: Request) -> Ask[Written | RevisionConflict | Missing]:
    """Delete a consumer."""
    inbox, name, expected = ask.params["inbox"], ask.params["name"], conditions.exact_match(ask)

    def render(outcome: Written | RevisionConflict | Missing) -> Answer:
        return reply.no_content(outcome.revision) if isinstance(outcome, Written) else problem.refused(outcome)

    return Ask(consuming.delete_consumer.call(ask.workspace, inbox, name, expected), render)


def listing(ask: Request) -> Ask[list[Consumer] | NoInbox]:
    """List the consumers of an inbox."""
    most, after = query.limit(ask), query.cursor(ask, "consumers", str)

    def render(found: list[Consumer] | NoInbox) -> Answer:
        if isinstance(found, NoInbox):
            return no.refused(found)
        return reply.listing(ask, page(found, most, "consumers", lambda one: (one.name,)), _consumer)

    call = consuming.consumers.call(ask.workspace, ask.params["inbox"], after[0] if after else "", most + 1)
    return Ask(call, render)


def _consumer(found: Consumer) -> ConsumerReply:
    return ConsumerReply(
        inbox=found.inbox,
        name=found.name,
        revision=found.revision,
        epoch=found.epoch,
        position=found.position,
        lag=found.lag,
        gaps=[RangeItem(from_=found.gap[0], to=found.gap[1])] if found.gap else [],
        holder=found.holder,
        expires_at=reply.maybe_instant(found.until),
    )


def acknowledge(ask: Request) -> Ask[AckOutcome]:
    """Say that everything up to a position is done."""
    body, inbox, name = decode.body(ask, AcknowledgeBody), ask.params["inbox"], ask.params["name"]
    subject, held = subject_of(inbox, name), ask.fences
    if body.fence is not None:
        if any(ref.subject == subject for ref in held):
            stop("bad_member", "Say the fence of the consumer in the body or in Fence, not in both.", pointer="/fence")
        held = (*held, FenceRef(subject, body.fence))

    def render(outcome: AckOutcome) -> Answer:
        if isinstance(outcome, Acknowledged):
            return reply.json(AcknowledgedReply(epoch=outcome.epoch, position=outcome.position))
        return no.refused(outcome)

    call = consuming.acknowledge.call(
        ask.workspace, inbox, name, body.epoch, body.sequence, accept_gap_through=body.accept_gap_through,
        fences_held=held,
    )  # fmt: skip
    return Ask(replace(call, subject=subject), render)


def lease(ask: Request) -> Ask[Leased | ConsumerLeased | NoConsumer | StaleFence]:
    """Have a consumer alone."""
    body = decode.body(ask, LeaseBody)

    def render(outcome: Leased | ConsumerLeased | NoConsumer | StaleFence) -> Answer:
        if not isinstance(outcome, Leased):
            return no.refused(outcome)
        until = reply.instant(outcome.until)
        told = LeaseReply(fence=outcome.fence, lease_seconds=outcome.lease_seconds, expires_at=until)
        return reply.json(told)

    key = ask.operation or ask.fresh
    where = (ask.params["inbox"], ask.params["name"])
    return Ask(consuming.lease.call(ask.workspace, *where, body.owner, body.lease_seconds, key), render)


def renew(ask: Request) -> Ask[Renewed | StaleFence]:
    """Have the consumer for longer."""
    body = decode.body(ask, RenewBody)

    def render(outcome: Renewed | StaleFence) -> Answer:
        if isinstance(outcome, StaleFence):
            return no.refused(outcome)
        length = (outcome.until - outcome.server_time).total_seconds()
        until = reply.instant(outcome.until)
        return reply.json(LeaseReply(fence=body.fence, lease_seconds=length, expires_at=until))

    where = (ask.params["inbox"], ask.params["name"])
    return Ask(consuming.renew.call(ask.workspace, *where, body.fence, body.lease_seconds), render)


def release(ask: Request) -> Ask[Released | StaleFence]:
    """Give the consumer back."""
    body = decode.body(ask, FenceBody)

    def render(outcome: Released | StaleFence) -> Answer:
        return no.refused(outcome) if isinstance(outcome, StaleFence) else reply.no_content()

    return Ask(consuming.release.call(ask.workspace, ask.params["inbox"], ask.params["name"], body.fence), render)


def _verb(
    verb: str, handle: Any, summary: str, takes: Any, gives: Any, problems: tuple[str, ...], **more: Any
) -> Route:
    return Route(
        "POST", f"{PATH}/{verb}", handle, "inboxes:acknowledge", summary, scoped="inbox", body="json", takes=takes,
        gives=gives, problems=problems, **more,
    )  # fmt: skip


CHANGES: Final = ("condition_required", "condition_inexact", "condition_false")
ACK: Final = ("inbox_restored", "beyond_head", "gap_not_accepted", "stale_fence")

ROUTES: Final = (
    Route("PUT", PATH, put, "inboxes:configure", "Make a consumer", scoped="inbox",
          headers=("if-match", "if-none-match"), receipt="optional", body="json", takes=ConsumerBody,
          gives=WrittenReply, problems=(*CHANGES, "inbox_restored", "beyond_head")),
    Route("GET", PATH, get, "inboxes:read", "Read a consumer", scoped="inbox", gives=ConsumerReply),
    Route("DELETE", PATH, delete, "inboxes:configure", "Delete a consumer", scoped="inbox",
          headers=("if-match",), receipt="optional", status=204, problems=CHANGES),
    Route("GET", "/v1/inboxes/{inbox}/consumers", listing, "inboxes:read", "List consumers", scoped="inbox",
          gives=ConsumerReply, query=("limit", "cursor")),
    _verb("acknowledge", acknowledge, "Say what is done", AcknowledgeBody, AcknowledgedReply, ACK, headers=("fence",)),
    _verb("lease", lease, "Have a consumer alone", LeaseBody, LeaseReply, ("consumer_leased", "stale_fence")),
    _verb("renew", renew, "Have it for longer", RenewBody, LeaseReply, ("stale_fence",)),
    _verb("release", release, "Give it back", FenceBody, None, ("stale_fence",), status=204),
)  # fmt: skip
