"""inboxes over HTTP."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final, assert_never

from steadhold.inboxes import plans, reading, telling
from steadhold.inboxes import refusing as no
from steadhold.inboxes.consumer_doors import ROUTES as CONSUMERS
from steadhold.inboxes.door_routes import door_routes
from steadhold.inboxes.model import (
    KEPT_SECONDS,
    Appended,
    AppendOutcome,
    Inbox,
    KeyPruned,
    Mismatch,
    NoInbox,
    Page,
    ReadOutcome,
    Retention,
    Written,
)
from steadhold.inboxes.streaming import STREAMS
from steadhold.inboxes.wire import (
    AppendedReply,
    EventBody,
    InboxBody,
    InboxReply,
    LineBody,
    LineReply,
    PageReply,
    RetentionReply,
    WrittenReply,
)
from steadhold.kit import limits
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import page
from steadhold.kit.seal import UNSEALED, Sealing
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request, Route, Wait
from steadhold.web.problem import stop

PutOutcome = Written | RevisionConflict | Missing


def put(ask: Request) -> Ask[PutOutcome]:
    """Make an inbox, or change what it keeps."""
    name, expected = ask.params["inbox"], conditions.put(ask)
    keeps = decode.body(ask, InboxBody).retention
    if why := telling.name_fault(name):
        stop("bad_name", why)

    def render(outcome: PutOutcome) -> Answer:
        if isinstance(outcome, Written):
            made = WrittenReply(name=name, revision=outcome.revision)
            status = 201 if expected is None else 200
            return reply.json(made, status, revision=outcome.revision, resource=f"inbox:{name}")
        return no.replaced(outcome)

    retention = Retention(keeps.max_age_seconds, keeps.max_events, keeps.max_bytes)
    return Ask(plans.put.call(ask.workspace, name, retention, expected), render, touches=(("inbox", name),))


def get(ask: Request) -> Ask[Inbox | Missing]:
    """Read an inbox as it stands."""

    def render(outcome: Inbox | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        return reply.json(_inbox(outcome), revision=outcome.revision)

    return Ask(plans.get.call(ask.workspace, ask.params["inbox"]), render)


def delete(ask: Request) -> Ask[PutOutcome]:
    """Delete an inbox with all that it holds."""
    name, expected = ask.params["inbox"], conditions.exact_match(ask)

    def render(outcome: PutOutcome) -> Answer:
        return reply.no_content(outcome.revision) if isinstance(outcome, Written) else problem.refused(outcome)

    call = plans.delete.call(ask.workspace, name, expected)
    return Ask(call, render, touches=(("inbox", name),))


def listing(ask: Request) -> Ask[list[Inbox]]:
    """List inboxes."""
    most, after = query.limit(ask), query.cursor(ask, "inboxes", str)

    def render(found: list[Inbox]) -> Answer:
        return reply.listing(ask, page(found, most, "inboxes", lambda box: (box.name,)), _inbox)

    call = plans.inboxes.call(ask.workspace, after[0] if after else "", most + 1, ask.reach("inboxes:read"))
    return Ask(call, render)


def _inbox(found: Inbox) -> InboxReply:
    keeps = found.retention
    return InboxReply(
        name=found.name,
        revision=found.revision,
        retention=RetentionReply(
            max_age_seconds=keeps.max_age_seconds, max_events=keeps.max_events, max_bytes=keeps.max_bytes
        ),
        epoch=found.epoch,
        first_retained=found.first_retained,
        last_sequence=found.last_sequence,
        bytes=found.bytes,
        made_at=reply.instant(found.made_at),
    )


def append(ask: Request) -> Ask[Any]:
    """Append an event, or (NDJSON) one a line."""
    name, kind, type = ask.params["inbox"], reading.media(ask), query.text(ask, "type")
    if kind == reading.NDJSON and type is None:
        return _batch(ask, name)
    if ask.operation is None:
        stop("key_required", "The event has no key: send it as Idempotency-Key.")
    if type is not None:
        if not type or len(type) > limits.ID_CHARS_MAX:
            stop("bad_query", f"type has 1 to {limits.ID_CHARS_MAX} characters.", parameter="type")
        event = reading.raw_event(ask, ask.operation, type)
    elif kind == reading.JSON:
        event = reading.event(ask.operation, decode.body(ask, EventBody))
    else:
        stop("unsupported_media_type", "Send the event as JSON; or its data as any type, and ?type= of the event.")
    return Ask(plans.append_one.call(ask.workspace, name, event), _appended, touches=(("inbox", name),))


def append_item(ask: Request) -> Ask[AppendOutcome]:
    """Append an event whose key is a member, as one of several changes."""
    body = decode.body(ask, LineBody)
    call = plans.append_one.call(ask.workspace, ask.params["inbox"], reading.event(body.key, body))
    several = replace(call, subject="")  # a commit may append many events to one inbox
    return Ask(several, _appended, touches=(("inbox", ask.params["inbox"]),))


def _appended(outcome: AppendOutcome) -> Answer:
    match outcome:
        case Appended():
            return _place(outcome)
        case Mismatch() | NoInbox():
            return no.refused(outcome)
        case _:
            assert_never(outcome)


def _place(found: Appended) -> Reply:
    told = AppendedReply(
        sequence=found.sequence,
        epoch=found.epoch,
        event_id=found.event_id,
        accepted_at=reply.instant(found.accepted_at),
        duplicate=found.duplicate,
    )
    return reply.json(told, 200 if found.duplicate else 201)


def _batch(ask: Request, name: str) -> Ask[list[Appended | Mismatch] | NoInbox]:
    if ask.operation is not None:
        stop("bad_header", "Each line of a batch has its own key: send no Idempotency-Key.")
    lines = reading.lines(ask)
    items = [line for line in lines if not isinstance(line, tuple)]

    def render(outcome: list[Appended | Mismatch] | NoInbox) -> Answer:
        if isinstance(outcome, NoInbox):
            return problem.MISSING
        placed = iter(zip(items, outcome, strict=True))
        told = [no.line(*line) if isinstance(line, tuple) else _line(*next(placed)) for line in lines]
        return Reply(200, b"".join([b"%b\n" % reply.encode(one) for one in told]), reading.NDJSON)

    return Ask(plans.append.call(ask.workspace, name, items), render, touches=(("inbox", name),))


def _line(item: Any, outcome: Appended | Mismatch) -> LineReply:
    if isinstance(outcome, Mismatch):
        return no.line(item.key, no.refused(outcome))
    return LineReply(
        key=item.key,
        status=200 if outcome.duplicate else 201,
        sequence=outcome.sequence,
        epoch=outcome.epoch,
        event_id=outcome.event_id,
        duplicate=outcome.duplicate,
    )


def receipt(ask: Request, kept_seconds: float = KEPT_SECONDS) -> Ask[Appended | Missing | KeyPruned]:
    """Tell what was accepted under a key."""

    def render(outcome: Appended | Missing | KeyPruned) -> Answer:
        match outcome:
            case Appended():
                told = _place(outcome)
                return Reply(200, told.body.replace(b',"duplicate":true', b""))
            case Missing():
                return problem.MISSING
            case KeyPruned():
                return Problem("operation_expired", "The key is older than keys are known: nobody can say.")
            case _:
                assert_never(outcome)

    known_as = f"client:{ask.params['key']}"
    return Ask(plans.receipt.call(ask.workspace, ask.params["inbox"], known_as, kept_seconds), render)


def read(ask: Request) -> Ask[ReadOutcome]:
    """Read what follows a position; with `wait_seconds` as soon as something does."""
    seconds = query.wait_seconds(ask)
    call = _reading(ask)

    def render(outcome: ReadOutcome) -> Answer:
        return Reply(200, reading.page(outcome)) if isinstance(outcome, Page) else no.refused(outcome)

    wait = Wait[ReadOutcome](seconds, ("inbox", ask.params["inbox"]), _news) if seconds else None
    return Ask(call, render, wait)


def _news(outcome: ReadOutcome) -> bool:
    return not isinstance(outcome, Page) or bool(outcome.events or outcome.gaps)


def _reading(ask: Request) -> Any:
    epoch, after = query.text(ask, "epoch"), query.whole(ask, "after")
    if after is not None and epoch is None:
        stop("epoch_required", "A position is an epoch and a number: send both, as you have read them.")
    return plans.read.call(ask.workspace, ask.params["inbox"], epoch, after, query.limit(ask))


def export(ask: Request) -> Ask[ReadOutcome]:
    """A page as lines, for whoever keeps a copy; `Link` leads to the next one."""
    name = ask.params["inbox"]

    def render(outcome: ReadOutcome) -> Answer:
        if not isinstance(outcome, Page):
            return no.refused(outcome)
        here = (("steadhold-epoch", outcome.epoch), ("steadhold-next-after", str(outcome.next_after)))
        more = ()
        if outcome.next_after < outcome.last_sequence:
            target = (
                f"/v1/inboxes/{name}/export?epoch={outcome.epoch}&after={outcome.next_after}&limit={query.limit(ask)}"
            )
            more = (("link", f'<{target}>; rel="next"'),)
        return Reply(200, reading.exported(outcome), reading.NDJSON, (*here, *more))

    return Ask(_reading(ask), render)


CHANGES: Final = ("condition_required", "condition_inexact", "condition_false")
POSITIONS: Final = ("epoch_required", "inbox_restored", "beyond_head")

_OWN: Final = (
    Route("PUT", "/v1/inboxes/{inbox}", put, "inboxes:configure", "Make or change an inbox", scoped="inbox",
          headers=("if-match", "if-none-match"), receipt="optional", body="json", takes=InboxBody,
          gives=WrittenReply, problems=(*CHANGES, "bad_name")),
    Route("GET", "/v1/inboxes/{inbox}", get, "inboxes:read", "Read an inbox", scoped="inbox", gives=InboxReply),
    Route("DELETE", "/v1/inboxes/{inbox}", delete, "inboxes:configure", "Delete an inbox with its events",
          scoped="inbox", headers=("if-match",), receipt="optional", status=204, problems=CHANGES),
    Route("GET", "/v1/inboxes", listing, "inboxes:read", "List inboxes", narrows=True, gives=InboxReply,
          query=("limit", "cursor")),
    Route("POST", "/v1/inboxes/{inbox}/events", append, "inboxes:append", "Append events", scoped="inbox", body="raw",
          takes=EventBody, gives=AppendedReply, status=201, query=("type",), answers=(reading.JSON, reading.NDJSON),
          problems=("key_required", "operation_mismatch")),
    Route("GET", "/v1/inboxes/{inbox}/events", read, "inboxes:read", "Read what follows a position", scoped="inbox",
          gives=PageReply, query=("epoch", "after", "limit", "wait_seconds"), problems=POSITIONS),
    Route("GET", "/v1/inboxes/{inbox}/export", export, "inboxes:read", "Read events as lines", scoped="inbox",
          query=("epoch", "after", "limit"), answers=(reading.NDJSON,), problems=POSITIONS),
    Route("GET", "/v1/inboxes/{inbox}/receipts/{key}", receipt, "inboxes:read", "Read what was accepted under a key",
          scoped="inbox", gives=AppendedReply, problems=("operation_expired",)),
    *STREAMS,
    *CONSUMERS,
)  # fmt: skip


def routes(kept_seconds: float, sealing: Sealing = UNSEALED, base: str = "") -> tuple[Route, ...]:
    """The doors of inboxes of a server that keeps keys this long, seals by these and is known outside as `base`."""
    told = partial(receipt, kept_seconds=kept_seconds)
    own = [replace(route, handle=told) if route.handle is receipt else route for route in _OWN]
    return (*own, *door_routes(sealing, base))


ROUTES: Final = routes(float(KEPT_SECONDS))
