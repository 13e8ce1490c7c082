"""commits over HTTP: conditions, which change nothing and are true at the moment of the commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from steadhold import approvals, context, events, inboxes, locks, state
from steadhold.approvals import answers as approvals_answers
from steadhold.approvals.wire import VerdictReply, VerifyBody
from steadhold.commits import holding, wire
from steadhold.context import answers as context_answers
from steadhold.context.doors import path_of
from steadhold.inboxes import Elsewhere, NoConsumer, Restored
from steadhold.inboxes import refusing as inboxes_refusing
from steadhold.jobs import answers as jobs_answers
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.state.routes import nothing_to_replace
from steadhold.web import conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request


def name(ask: Request) -> Ask[RevisionConflict | Missing | None]:
    """A name of state is at a revision, or holds nothing."""
    named, expected = query.path(ask, "name"), conditions.put(ask)
    decode.body(ask, wire.NothingMore)
    return Ask(state.require.call(ask.workspace, named, expected), _holds(expected, nothing_to_replace))


def file(ask: Request) -> Ask[RevisionConflict | Missing | None]:
    """A path of context is at a revision, or has no file."""
    named, expected = path_of(ask), conditions.put(ask)
    decode.body(ask, wire.NothingMore)
    render = _holds(expected, context_answers.nothing_to_replace)
    return Ask(context.require.call(ask.workspace, named, expected), render)


def _holds(
    expected: int | None, nothing: Callable[[Missing], Problem]
) -> Callable[[RevisionConflict | Missing | None], Answer]:
    def render(outcome: RevisionConflict | Missing | None) -> Answer:
        match outcome:
            case None:
                return Reply(200, revision=expected)
            case Missing():
                return nothing(outcome)
            case RevisionConflict():
                return problem.refused(outcome)

    return render


def job(ask: Request) -> Ask[StaleFence | RevisionConflict | Missing | None]:
    """A job runs under a fence, is at a revision, or both."""
    fence, revision = decode.body(ask, wire.JobBody).fence, conditions.maybe_match(ask)
    if fence is None and revision is None:
        problem.stop("condition_required", "Say what is required of the job: fence, if_match, or both.")

    def render(outcome: StaleFence | RevisionConflict | Missing | None) -> Answer:
        return Reply(200, revision=revision, fence=fence) if outcome is None else jobs_answers.refused(outcome)

    return Ask(holding.job.call(ask.workspace, ask.params["id"], fence=fence, revision=revision), render)


def lock(ask: Request) -> Ask[StaleFence | None]:
    """A lock is held under a fence."""
    fence = decode.body(ask, wire.HeldBody).fence

    def render(outcome: StaleFence | None) -> Answer:
        return Reply(200, fence=fence) if outcome is None else problem.refused(outcome)

    return Ask(locks.require.call(ask.workspace, ask.params["name"], fence), render)


def aggregate(ask: Request) -> Ask[RevisionConflict | Missing | None]:
    """An aggregate is at a revision."""
    expected = conditions.exact_match(ask)
    decode.body(ask, wire.NothingMore)

    def render(outcome: RevisionConflict | Missing | None) -> Answer:
        return Reply(200, revision=expected) if outcome is None else problem.refused(outcome)

    return Ask(events.require.call(ask.workspace, ask.params["id"], expected), render)


def consumer(ask: Request) -> Ask[NoConsumer | Restored | Elsewhere | None]:
    """A consumer stands at a position."""
    inbox, name = ask.params["inbox"], ask.params["name"]
    body = decode.body(ask, wire.PlaceBody)

    def render(outcome: NoConsumer | Restored | Elsewhere | None) -> Answer:
        return Reply(200) if outcome is None else inboxes_refusing.refused(outcome)

    call = inboxes.require.call(ask.workspace, inbox, name, body.epoch, body.position)
    return Ask(replace(call, subject=inboxes.subject_of(inbox, name)), render)


def approval(ask: Request) -> Ask[Any]:
    """Exactly this artifact is approved, and may be acted on."""
    body, revision = decode.body(ask, VerifyBody), conditions.maybe_match(ask)
    artifact = approvals.Artifact(body.reference, body.version, body.hash)
    call = approvals.require.call(ask.workspace, ask.params["id"], artifact, body.use_id, revision=revision)

    def render(outcome: Any) -> Answer:
        if isinstance(outcome, Refusal):
            return approvals_answers.refused(outcome)
        return reply.json(VerdictReply(approved=True, reason=outcome.reason))

    return Ask(call, render)
