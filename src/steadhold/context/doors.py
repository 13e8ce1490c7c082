"""context over HTTP: what its doors ask and answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from steadhold.context import answers, incoming, model, plans, reading, references, uploads
from steadhold.context.answers import refused
from steadhold.context.wire import (
    MoveBody,
    MovedReply,
    UsageReply,
)
from steadhold.kit import limits, paths
from steadhold.kit.page import page
from steadhold.kit.plan import Refusal
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Pull, Request, Steps, Stop, Taking, Wait

NO_REVISION = 2**62


def put(ask: Request) -> Taking[model.WriteOutcome]:
    """Replace the revision named by If-Match, or create where If-None-Match: * says so; large bodies by pieces."""
    path, expected, said = path_of(ask), conditions.put(ask), incoming.declared(ask)
    length = ask.headers.get("content-length", "")
    size = int(length) if length.isdecimal() else None
    target = incoming.Target(ask.workspace, path, expected, _content_type(ask), ask.fresh, ask.fences, size)
    render = put_render(path, expected)
    touches = (("context", path),)

    def steps() -> Steps:
        hashes = incoming.hashes_for(said)
        came = yield from incoming.gather(target, incoming.body, hashes)
        if isinstance(came, Refusal):
            if ask.operation is None:
                return refused(came)
            while isinstance((yield Pull(limits.CONTEXT_CHUNK_BYTES)), bytes):
                pass  # whether it is a repetition is only known by all of it
            return Ask(uploads.refuse.call(ask.workspace, came), refused)
        if algorithm := incoming.mismatch(said, hashes):
            return Problem("digest_mismatch", f"The bytes that came have another {algorithm} than the one declared.")
        return Ask(came, render, touches=touches)

    return Taking(steps, target.after)


def delete(ask: Request) -> Ask[model.WriteOutcome]:
    """Delete the revision named by If-Match."""
    path, expected = path_of(ask), conditions.exact_match(ask)

    def render(outcome: model.WriteOutcome) -> Answer:
        return reply.no_content(outcome.revision) if isinstance(outcome, model.Written) else refused(outcome)

    call = plans.delete.call(ask.workspace, path, expected, ask.fences)
    return Ask(call, render, touches=(("context", path),))


def get(ask: Request) -> Ask[Any]:
    """The stored bytes; `revision=` older ones, `view=revisions` those kept, `wait_seconds=` the next change."""
    path = path_of(ask)
    if query.one_of(ask, "view", "revisions"):
        return _revisions(ask, path)
    revision = query.whole(ask, "revision", low=1)
    if revision is not None:
        call = reading.get_revision.call(ask.workspace, path, revision)
        return Ask(call, lambda outcome: answers.stored(ask, path, outcome))
    wait: Wait[model.Stored | model.Missing] | None = conditions.watch(ask, ("context", path), _revision_of)
    return Ask(reading.get.call(ask.workspace, path), lambda outcome: answers.stored(ask, path, outcome), wait)


def listing(ask: Request) -> Ask[list[model.Entry]]:
    """Files under a prefix of whole segments, in byte order."""
    most, under, within = query.limit(ask), query.prefix(ask), ask.reach("context:read")
    after = query.cursor(ask, "context", str)

    def render(found: list[model.Entry]) -> Answer:
        return reply.listing(ask, page(found, most, "context", lambda entry: (entry.path,)), answers.entry)

    return Ask(reading.names.call(ask.workspace, under, after[0] if after else "", most + 1, within), render)


def move(ask: Request) -> Ask[model.MoveOutcome]:
    """Move a file to a path without one; its id and history stay."""
    expected, body = conditions.exact_match(ask), decode.body(ask, MoveBody)
    for pointer, path in (("/from", body.source), ("/to", body.target)):
        if why := paths.context_path_fault(path):
            problem.stop("bad_name", why, pointer=pointer)
        permitted(ask, "context:write", path)

    def render(outcome: model.MoveOutcome) -> Answer:
        if not isinstance(outcome, model.Moved):
            return refused(outcome)
        made = MovedReply(path=body.target, id=outcome.id, revision=outcome.revision)
        return reply.json(made, revision=outcome.revision, resource=f"context:{body.target}")

    call = plans.move.call(ask.workspace, body.source, body.target, expected, ask.fences)
    return Ask(call, render, touches=(("context", body.source), ("context", body.target)))


def usage(ask: Request) -> Ask[model.Usage]:
    """What the workspace's files use, and what of it they may."""

    def render(found: model.Usage) -> Answer:
        return reply.json(
            UsageReply(
                files=found.files,
                bytes=found.bytes,
                revisions=found.revisions,
                reserved=found.reserved,
                bytes_max=found.bytes_max,
                names_max=found.names_max,
            )
        )

    return Ask(reading.usage.call(ask.workspace), render)


def resolve(ask: Request) -> Ask[model.Resolved]:
    """The bytes of a reference, also of a revision that is not kept any more while somebody relies on it."""
    text = query.text(ask, "reference")
    if text is None:
        problem.stop("bad_query", "Name a reference: ?reference=.", parameter="reference")
    named = model.reference(text)
    if named is None:
        why = model.reference_fault(text) or ""
        problem.stop("bad_query", why, parameter="reference")
    permitted(ask, "context:read", named.path)

    def render(outcome: model.Resolved) -> Answer:
        if isinstance(outcome, model.Content):
            return answers.content(ask, named.path, outcome, named.revision, None)
        return refused(outcome)

    return Ask(references.resolve.call(ask.workspace, text), render)


def put_render(path: str, expected: int | None) -> Callable[[model.PutOutcome], Answer]:
    """How a write is answered."""

    def render(outcome: model.PutOutcome) -> Answer:
        if isinstance(outcome, model.Written):
            made = answers.written(path, outcome)
            status = 201 if expected is None else 200
            return reply.json(made, status, revision=outcome.revision, resource=f"context:{path}")
        if isinstance(outcome, model.Missing):
            return answers.nothing_to_replace(outcome)
        return refused(outcome)

    return render


def permitted(ask: Request, scope: str, path: str) -> None:
    """Stop a request whose key may not do this to a path."""
    if not ask.permits(scope, path):
        problem.stop("missing_scope", f"This key lacks the scope {scope} for {path!a}.", scope=scope)


def readable(ask: Request, texts: Iterable[str]) -> None:
    """Stop a request that refers to files which its key may not read. What is no reference to one is left to others."""
    for text in texts:
        if (named := model.reference(text)) is not None:
            permitted(ask, "context:read", named.path)


def path_of(ask: Request) -> str:
    """A path of the address. What is none cannot exist: a reading answers 404, a write says what is wrong."""
    found = query.path(ask, "path")
    if why := paths.context_path_fault(found):
        raise Stop(problem.MISSING if ask.method in {"GET", "HEAD"} else Problem("bad_name", why))
    return found


def _content_type(ask: Request) -> str:
    kind = ask.headers.get("content-type", model.OCTETS)
    if why := model.content_type_fault(kind):
        problem.stop("bad_header", why)
    return kind


def _revision_of(outcome: model.Stored | model.Missing) -> int | None:
    return outcome.revision if isinstance(outcome, model.Stored) else None


def _revisions(ask: Request, path: str) -> Ask[list[model.Revision]]:
    most = query.limit(ask)
    before = query.cursor(ask, "context.revisions", int)

    def render(found: list[model.Revision]) -> Answer:
        if not found and before is None:
            return problem.MISSING
        return reply.listing(ask, page(found, most, "context.revisions", lambda one: (one.revision,)), answers.kept)

    call = reading.revisions.call(ask.workspace, path, before[0] if before else NO_REVISION, most + 1)
    return Ask(call, render)
