"""state over HTTP: bytes in, the same bytes out, and a condition on every write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from email.utils import format_datetime
from typing import assert_never

from steadhold import private
from steadhold.kit import fields, limits
from steadhold.kit.page import page
from steadhold.kit.sealed import MEDIA_TYPE, OPENING
from steadhold.private import doors as envelopes
from steadhold.state import model, plans
from steadhold.state.batches import outcomes_of, puts_and_gets
from steadhold.state.wire import BatchBody, BatchReply, EntryItem, RevisionItem, WrittenReply
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Headers, Problem, Reply, Request, Route, Wait

JSON = "application/json"
NO_REVISION = 2**62


def put(ask: Request) -> Ask[model.WriteOutcome]:
    """Replace the revision named by If-Match, or create where If-None-Match: * says so."""
    name, expected, body = query.path(ask, "name"), conditions.put(ask), _body(ask)

    def render(outcome: model.WriteOutcome) -> Answer:
        if isinstance(outcome, model.Written):
            status = 201 if expected is None else 200
            made = WrittenReply(name=name, revision=outcome.revision)
            return reply.json(made, status, revision=outcome.revision, resource=f"state:{name}")
        if isinstance(outcome, model.Missing):
            return nothing_to_replace(outcome)
        return refused(outcome)

    call = plans.put.call(ask.workspace, name, body, expected, ask.fences)
    return Ask(call, render, touches=(("state", name),))


def _body(ask: Request) -> bytes:
    """Exact JSON, or an envelope: which of them may lie there is decided where it is written."""
    if not ask.body.startswith(OPENING):
        return decode.exact(ask)
    if fault := model.body_fault(ask.body):
        problem.stop("plaintext_refused", fault)
    return ask.body


def delete(ask: Request) -> Ask[model.WriteOutcome]:
    """Delete the revision named by If-Match."""
    name, expected = query.path(ask, "name"), conditions.exact_match(ask)

    def render(outcome: model.WriteOutcome) -> Answer:
        if isinstance(outcome, model.Written):
            return reply.no_content(outcome.revision)
        if isinstance(outcome, model.Missing):
            return absent(outcome)
        return refused(outcome)

    call = plans.delete.call(ask.workspace, name, expected, ask.fences)
    return Ask(call, render, touches=(("state", name),))


def get(ask: Request) -> Ask[model.Stored | model.Missing] | Ask[model.Reading] | Ask[list[model.Revision]]:
    """The stored bytes; `revision=` an older one, `view=revisions` those kept, `wait_seconds=` the next change."""
    name = query.path(ask, "name")
    if query.one_of(ask, "view", "revisions"):
        return _revisions(ask, name)
    revision = query.whole(ask, "revision", low=1)
    if revision is not None:
        return Ask(plans.get_revision.call(ask.workspace, name, revision), lambda outcome: _stored(ask, outcome))
    wait: Wait[model.Stored | model.Missing] | None = conditions.watch(ask, ("state", name), _revision_of)
    return Ask(plans.get.call(ask.workspace, name), lambda outcome: _stored(ask, outcome), wait)


def _revision_of(outcome: model.Stored | model.Missing) -> int | None:
    return outcome.revision if isinstance(outcome, model.Stored) else None


def listing(ask: Request) -> Ask[list[model.Entry]]:
    """Names under a prefix of whole segments, in byte order."""
    most, under, within = query.limit(ask), query.prefix(ask), ask.reach("state:read")
    after = query.cursor(ask, "state", str)

    def render(found: list[model.Entry]) -> Answer:
        return reply.listing(ask, page(found, most, "state", lambda entry: (entry.name,)), _entry)

    call = plans.names.call(ask.workspace, under, after[0] if after else "", most + 1, within)
    return Ask(call, render)


def batch(ask: Request) -> Ask[model.BatchOutcome]:
    """Many writes and readings, an outcome each; what one came to changes nothing for the others."""
    items = puts_and_gets(decode.body(ask, BatchBody).items)
    _refuse_beyond_scope(ask, items)

    def render(found: model.BatchOutcome) -> Answer:
        match found:
            case model.StaleFence():
                return refused(found)
            case model.NothingWritten(outcomes):
                return reply.json(BatchReply(outcomes=outcomes_of(items, outcomes)))
            case list():
                return reply.json(BatchReply(outcomes=outcomes_of(items, found)))
            case _:
                assert_never(found)

    touched = tuple(("state", item.name) for item in items if isinstance(item, model.Put))
    return Ask(plans.batch.call(ask.workspace, items, ask.fences), render, touches=touched)


def _refuse_beyond_scope(ask: Request, items: Sequence[model.Put | model.Get]) -> None:
    for item in items:
        scope = "state:read" if isinstance(item, model.Get) else "state:write"
        if not ask.permits(scope, item.name):
            problem.stop("missing_scope", f"This key lacks the scope {scope} for {item.name!a}.", scope=scope)


def refused(outcome: model.WriteOutcome) -> Problem:
    """Say why a write changed nothing."""
    match outcome:
        case model.StorageExhausted():
            return Problem(outcome.code, outcome.detail, outcome.extras, outcome.headers)
        case model.RevisionConflict() | model.Missing() | model.StaleFence():
            return problem.refused(outcome)
        case private.PlaintextRefused() | private.EnvelopeMismatch() | private.NotPrivate():
            return envelopes.refused(outcome)
        case model.Written():
            raise AssertionError("a write that won is no refusal")
        case _:
            assert_never(outcome)


def nothing_to_replace(outcome: model.Missing) -> Problem:
    """Answer for a write whose If-Match names a revision of what holds nothing: its condition is false."""
    extras = {} if outcome.last_revision is None else {"last_revision": outcome.last_revision}
    return Problem("condition_false", "This name holds nothing that could be replaced; create it, or leave it.", extras)


def absent(outcome: model.Missing) -> Problem:
    """Answer for a name that holds nothing, with its last revision if it ever did."""
    if outcome.last_revision is None:
        return problem.MISSING
    return Problem(
        problem.MISSING.code,
        "This name holds nothing now, or never had this revision; its last one is named.",
        {"last_revision": outcome.last_revision},
    )


def _stored(ask: Request, outcome: model.Stored | model.Missing | model.Pruned) -> Answer:
    match outcome:
        case model.Missing():
            return absent(outcome)
        case model.Pruned(oldest):
            return Problem(
                "revision_pruned",
                "This revision is not kept any more.",
                {} if oldest is None else {"oldest_revision": oldest},
            )
        case model.Stored():
            if conditions.unchanged(ask, outcome.revision):
                return reply.not_modified(outcome.revision)
            headers = described(outcome.digest, outcome.written_at)
            kind = MEDIA_TYPE if outcome.body.startswith(OPENING) else JSON
            return Reply(200, outcome.body, kind, headers, outcome.revision)
        case _:
            assert_never(outcome)


def described(digest: bytes, written_at: datetime) -> Headers:
    """The headers that describe stored bytes."""
    return (
        ("Repr-Digest", fields.write_digest(digest)),
        ("Last-Modified", format_datetime(written_at.replace(microsecond=0), usegmt=True)),
    )


def _revisions(ask: Request, name: str) -> Ask[list[model.Revision]]:
    most = query.limit(ask)
    before = query.cursor(ask, "state.revisions", int)

    def render(found: list[model.Revision]) -> Answer:
        if not found and before is None:
            return problem.MISSING
        return reply.listing(ask, page(found, most, "state.revisions", lambda kept: (kept.revision,)), _kept)

    call = plans.revisions.call(ask.workspace, name, before[0] if before else NO_REVISION, most + 1)
    return Ask(call, render)


def _entry(entry: model.Entry) -> EntryItem:
    return EntryItem(
        name=entry.name,
        revision=entry.revision,
        bytes=entry.bytes,
        digest=entry.digest.hex(),
        changed_at=reply.instant(entry.changed_at),
    )


def _kept(kept: model.Revision) -> RevisionItem:
    return RevisionItem(
        revision=kept.revision,
        bytes=kept.bytes,
        digest=kept.digest.hex(),
        written_at=reply.instant(kept.written_at),
        deleted=kept.deleted,
    )


WRITES = ("condition_required", "condition_inexact", "condition_false", "stale_fence", "storage_exhausted", "bad_json")
SEALED = envelopes.PROBLEMS

ROUTES = (
    Route(
        "GET",
        "/v1/state/{name:path}",
        get,
        "state:read",
        "Read the stored bytes",
        scoped="name",
        answers=(JSON, MEDIA_TYPE),
        headers=("if-none-match",),
        query=("revision", "view", "wait_seconds", "limit", "cursor"),
        problems=("revision_pruned",),
    ),
    Route(
        "PUT",
        "/v1/state/{name:path}",
        put,
        "state:write",
        "Write under a condition",
        scoped="name",
        headers=("if-match", "if-none-match", "fence"),
        receipt="optional",
        body="raw",
        media=(JSON, MEDIA_TYPE),
        body_bytes_max=limits.STATE_BYTES_MAX,
        gives=WrittenReply,
        problems=(*WRITES, *SEALED),
    ),
    Route(
        "DELETE",
        "/v1/state/{name:path}",
        delete,
        "state:write",
        "Delete under a condition",
        scoped="name",
        headers=("if-match", "fence"),
        receipt="optional",
        status=204,
        problems=WRITES[:-2],
    ),
    Route(
        "GET",
        "/v1/state",
        listing,
        "state:read",
        "List names",
        narrows=True,
        query=("prefix", "limit", "cursor"),
        gives=EntryItem,
    ),
    Route(
        "POST",
        "/v1/state:batch",
        batch,
        "state:write",
        "Read and write many names",
        narrows=True,
        headers=("fence",),
        receipt="optional",
        body="json",
        takes=BatchBody,
        gives=BatchReply,
        problems=("stale_fence", "storage_exhausted", "bad_name", "condition_required"),
    ),
    *envelopes.doors("state", plans.readable),
)
