"""jobs over HTTP: what each outcome is as an answer, alone or as one of many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import UNSET, Raw

from steadhold import access, context
from steadhold.context import answers as files
from steadhold.jobs import gives, model, outcomes, reading
from steadhold.jobs.gives import CheckpointItem, ItemReply, JobReply
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal
from steadhold.web import problem, reply
from steadhold.web.ask import Problem
from steadhold.web.codes import PROBLEMS

T = TypeVar("T")

_SAID: dict[type[Any], Callable[[Any], Problem]] = {
    StaleFence: problem.refused,
    RevisionConflict: problem.refused,
    Missing: problem.refused,
    access.NotEntitled: lambda r: Problem(r.code, r.detail, r.extras, r.headers),
    access.QueueFull: lambda r: Problem(r.code, r.detail, r.extras, r.headers),
    outcomes.KeyConflict: lambda r: Problem(
        "key_conflict", "A live job with other content holds this key.", {"job_id": r.id}
    ),
    outcomes.InvalidInput: lambda r: Problem(
        "invalid_input",
        "The input does not fit the type's schema.",
        {"faults": [{"pointer": pointer, "message": message} for pointer, message in r.faults]},
    ),
    context.Unresolved: files.refused,
    outcomes.JobEnded: lambda r: Problem("job_ended", f"The job has ended: {r.state}.", {"state": r.state}),
    outcomes.EvidenceRequired: lambda r: Problem(
        "evidence_required", "Say evidence_at, the time of the oldest evidence used.", _not_before(r)
    ),
    outcomes.StaleEvidence: lambda r: Problem(
        "stale_evidence", "The oldest evidence used is older than the job allows; it still runs.", _not_before(r)
    ),
    outcomes.CancelNotRequested: lambda _: Problem(
        "cancel_not_requested", "Nobody asked to cancel this job, so there is nothing to confirm; it still runs."
    ),
    outcomes.CancelStands: lambda _: Problem(
        "cancel_requested", "Somebody asked to cancel this job, so it may not begin to wait; it still runs."
    ),
    outcomes.NothingToAwait: lambda r: Problem(
        "unknown_subject", f"There is no {r.subject} to wait for.", {"subject": r.subject}
    ),
    outcomes.StagesFull: lambda _: Problem("stages_full", "The job has as many checkpoints as one may have."),
    outcomes.CheckpointConflict: lambda r: Problem(
        "checkpoint_conflict",
        "The stage is committed with other content, which stays.",
        {"stage": r.stage, "digest": r.digest.hex()},
    ),
    outcomes.JobNotEnded: lambda r: Problem("job_not_ended", f"The job is {r.state}.", {"state": r.state}),
    outcomes.SignalsFull: lambda r: Problem(
        "signals_full", f"The job keeps {r.kept} signals that it has not taken.", {"kept": r.kept}
    ),
    outcomes.CountChanged: lambda r: Problem(
        "count_changed", f"The filter means {r.count} jobs now.", {"count": r.count}
    ),
    outcomes.TooMany: lambda r: Problem(
        "filter_too_wide", f"The filter means more than {r.allowed} jobs; narrow it.", {"allowed": r.allowed}
    ),
}


def _not_before(refusal: outcomes.EvidenceRequired | outcomes.StaleEvidence) -> dict[str, str]:
    return {"evidence_not_before": reply.instant(refusal.not_before)}


def refused(outcome: Refusal) -> Problem:
    """The problem that a refusal is. `tests/jobs/test_model.py` holds the table complete."""
    return _SAID[type(outcome)](outcome)


def refused_item(id: str | None, outcome: Refusal) -> ItemReply:
    """A refusal as one of many."""
    said = refused(outcome)
    return ItemReply(status=PROBLEMS[said.code].status, job_id=id, code=said.code, detail=said.detail)


def raw(content: bytes | None) -> Raw | Any:
    """Exact bytes as a member; None leaves it out."""
    return UNSET if content is None else Raw(content)


def settled(outcome: outcomes.Settled) -> JobReply:
    """Where a settlement left a job."""
    return JobReply(
        job_id=outcome.id,
        state=outcome.state,
        revision=outcome.revision,
        run_at=reply.maybe_instant(outcome.run_at),
        woke=raw(outcome.woke),
    )


def submitted(outcome: outcomes.Submitted | outcomes.Existing) -> JobReply:
    """Where an admission left a job."""
    if isinstance(outcome, outcomes.Existing):
        return JobReply(job_id=outcome.id, state=outcome.state, revision=outcome.revision)
    return JobReply(
        job_id=outcome.id,
        state="accepted",
        revision=outcome.revision,
        configuration_revision=outcome.configuration_revision,
        run_at=reply.instant(outcome.run_at),
        root_job_id=outcome.id,
    )


def retried(outcome: outcomes.Retried) -> JobReply:
    """The new job of a retry."""
    return JobReply(
        job_id=outcome.id,
        state="accepted",
        revision=outcome.revision,
        configuration_revision=outcome.configuration_revision,
        run_at=reply.instant(outcome.run_at),
        retry_of=outcome.retry_of,
        root_job_id=outcome.root_job_id,
    )


def claimed(job: outcomes.Claimed) -> gives.ClaimedJob:
    """A claimed job."""
    return gives.ClaimedJob(
        job_id=job.id,
        type=job.type,
        fence=job.fence,
        revision=job.revision,
        attempt=job.attempt,
        lease_seconds=job.lease_seconds,
        lease_expires_at=reply.instant(job.lease_expires_at),
        root_job_id=job.root_job_id,
        configuration_revision=job.configuration_revision,
        priority=job.priority,
        input_digest=job.input_digest.hex(),
        stages=[gives.StageName(stage=stage, digest=digest.hex()) for stage, digest in job.stages],
        input=raw(job.input),
        input_ref=job.input_ref,
        inputs=raw(job.inputs),
        configuration=raw(job.configuration),
        run_at=reply.instant(job.run_at),
        deadline_at=reply.maybe_instant(job.deadline_at),
        timeout_at=reply.maybe_instant(job.timeout_at),
        evidence_not_before=reply.maybe_instant(job.evidence_not_before),
        correlation_id=job.correlation_id,
        trace=job.trace,
    )


def checkpoint(kept: outcomes.Checkpoint) -> CheckpointItem:
    """A committed stage."""
    return CheckpointItem(
        stage=kept.stage,
        digest=kept.digest.hex(),
        result_ref=kept.result_ref,
        fence=kept.fence,
        job_id=kept.job_id,
        committed_at=reply.instant(kept.committed_at),
        input_digest=None if kept.input_digest is None else kept.input_digest.hex(),
        result=raw(kept.result),
    )


def job(view: reading.View) -> gives.Job:
    """A job as it is shown: the members of the union, and what surrounds them."""
    match view.job():
        case model.Completed(result_ref=reference):
            return gives.CompletedJob(**_shared(view), result_ref=reference)
        case model.Failed(error_code=code):
            return gives.FailedJob(**_shared(view), error_code=code)
        case model.Accepted():
            return gives.AcceptedJob(**_shared(view))
        case model.Running():
            return gives.RunningJob(**_shared(view))
        case model.Waiting():
            return gives.WaitingJob(**_shared(view))
        case model.Cancelled():
            return gives.CancelledJob(**_shared(view))


def _shared(view: reading.View) -> dict[str, Any]:
    return {
        "job_id": view.id,
        "type": view.type,
        "revision": view.revision,
        "configuration_revision": view.configuration_revision,
        "root_job_id": view.root_job_id,
        "priority": view.priority,
        "attempt": view.attempt,
        "attempts_max": view.attempts_max,
        "stages": view.stages,
        "created_at": reply.instant(view.created_at),
        "run_at": reply.instant(view.run_at),
        "input_digest": view.input_digest.hex(),
        "tags": (view.tags or "").split(),
        "effects": [gives.EffectOf(effect_id=e.effect_id, execution=e.execution, open=e.open) for e in view.effects],
        "failure": _failure(view),
        "cancel_requested": _cancel_requested(view),
        "coverage": raw(view.coverage),
        "waiting": raw(view.awaits),
        "progress": raw(view.progress),
        "inputs": raw(view.inputs),
        "fence": view.fence or None,
        "worker": view.worker,
        "retry_of": view.retry_of,
        "claimed_at": reply.maybe_instant(view.claimed_at),
        "timeout_at": reply.maybe_instant(view.timeout_at),
        "deadline_at": reply.maybe_instant(view.deadline_at),
        "ended_at": reply.maybe_instant(view.ended_at),
        "evidence_not_before": reply.maybe_instant(view.evidence_not_before),
        "evidence_at": reply.maybe_instant(view.evidence_at),
        "unique_key": view.unique_key,
        "concurrency_key": view.concurrency_key,
        "correlation_id": view.correlation_id,
        "trace": view.trace,
        "input_ref": view.input_ref,
    }


def _failure(view: reading.View) -> gives.Failure | None:
    if view.error_code is None:
        return None
    return gives.Failure(error_code=view.error_code, klass=view.error_class, message=view.error_message)


def _cancel_requested(view: reading.View) -> gives.CancelRequest | None:
    if view.cancel_requested_at is None:
        return None
    return gives.CancelRequest(
        at=reply.instant(view.cancel_requested_at), by=view.cancel_by or "", reason=view.cancel_reason
    )


def items(found: Sequence[T], item: Callable[[T], ItemReply]) -> gives.BatchReply:
    """Answers of many."""
    return gives.BatchReply(outcomes=[item(each) for each in found])


def item_of(status: int, job: JobReply) -> ItemReply:
    """An answer about a job as one of many."""
    return ItemReply(
        status=status,
        job_id=job.job_id,
        state=job.state,
        revision=job.revision,
        run_at=job.run_at,
        configuration_revision=job.configuration_revision,
        retry_of=job.retry_of,
        root_job_id=job.root_job_id,
        woke=job.woke,
    )
