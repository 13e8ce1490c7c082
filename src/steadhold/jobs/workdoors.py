"""jobs over HTTP: a worker's verbs, and those that steer jobs."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from steadhold.context.doors import readable
from steadhold.jobs import answers, doors, gives, outcomes, plans, saying, settling, steering, takes
from steadhold.jobs.model import Release, Settlement
from steadhold.jobs.outcomes import Beat, Beaten, Cancelling, Claimed, KeyConflict, Retried
from steadhold.jobs.settling import SettleOutcome
from steadhold.jobs.steering import BulkOutcome
from steadhold.kit import limits
from steadhold.kit.outcome import StaleFence
from steadhold.kit.plan import Call
from steadhold.web import ask as web
from steadhold.web import conditions, decode, problem, reply
from steadhold.web.ask import Answer, Ask, Request


def claim(ask: Request) -> Ask[list[Claimed]]:
    """Take jobs, or wait for some; a claim whose client has gone is taken back."""
    body = decode.body(ask, takes.ClaimBody)
    wanted = (body.worker, body.types, body.limit, body.lease_seconds)
    call = plans.claim.call(ask.workspace, *wanted, versions=body.versions, key=ask.operation)

    def render(got: list[Claimed]) -> Answer:
        return reply.json(gives.ClaimReply(jobs=[answers.claimed(job) for job in got]))

    def undo(got: list[Claimed]) -> Call[Any] | None:
        back = [Settlement(job.id, job.fence, Release()) for job in got]
        return settling.settle_all.call(ask.workspace, back) if back else None

    first, *rest = [("jobs", type) for type in body.types]
    wait: web.Wait[list[Claimed]] | None = None
    if body.wait_seconds:
        wait = web.Wait(body.wait_seconds, first, bool, (*rest, doors.CLAIMABLE), alone=True)
    return Ask(call, render, wait, undo=undo)


def heartbeat(ask: Request) -> Ask[Beaten | StaleFence]:
    """Renew one lease."""
    body, id = decode.body(ask, takes.BeatBody), ask.params["id"]

    def render(outcome: Beaten | StaleFence) -> Answer:
        return problem.refused(outcome) if isinstance(outcome, StaleFence) else reply.json(_beaten(outcome))

    return Ask(plans.heartbeat.call(ask.workspace, id, body.fence, _progress(body)), render)


def heartbeat_batch(ask: Request) -> Ask[list[Beaten | StaleFence]]:
    """Renew many leases, one outcome each."""
    found = decode.body(ask, takes.BeatBatch).items
    beats = [Beat(item.job_id, item.fence, _progress(item)) for item in found]

    def render(outcomes: list[Beaten | StaleFence]) -> Answer:
        pairs = list(zip(beats, outcomes, strict=True))
        return reply.json(answers.items(pairs, lambda pair: _beat_item(*pair)))

    return Ask(plans.heartbeat_all.call(ask.workspace, beats), render)


def _progress(body: takes.BeatBody) -> bytes | None:
    if body.progress is UNSET:
        return None
    return doors.content(body.progress, None, "progress", limits.PROGRESS_BYTES_MAX)


def _beaten(outcome: Beaten) -> gives.BeatReply:
    return gives.BeatReply(
        job_id=outcome.id,
        lease_expires_at=reply.instant(outcome.lease_expires_at),
        server_time=reply.instant(outcome.server_time),
        cancel_requested=outcome.cancel_requested,
    )


def _beat_item(beat: Beat, outcome: Beaten | StaleFence) -> gives.ItemReply:
    if isinstance(outcome, StaleFence):
        return answers.refused_item(beat.id, outcome)
    said = _beaten(outcome)
    return gives.ItemReply(
        status=200,
        job_id=beat.id,
        lease_expires_at=said.lease_expires_at,
        server_time=said.server_time,
        cancel_requested=said.cancel_requested,
    )


def checkpoint(ask: Request) -> Ask[plans.CheckpointOutcome]:
    """Commit a stage: 201, or 200 with what is committed already."""
    body, id = decode.body(ask, takes.CheckpointBody), ask.params["id"]
    readable(ask, [body.result_ref or ""])
    call = plans.checkpoint.call(
        ask.workspace,
        id,
        body.fence,
        ask.params["stage"],
        doors.content(body.result, body.result_ref, "result", limits.JOB_RESULT_BYTES_MAX),
        result_ref=body.result_ref,
        input_digest=None if body.input_digest is None else bytes.fromhex(body.input_digest),
        revision=conditions.maybe_match(ask),
    )

    def render(outcome: plans.CheckpointOutcome) -> Answer:
        if not isinstance(outcome, outcomes.Checkpointed):
            return answers.refused(outcome)
        said = gives.CheckpointReply(
            stage=outcome.stage,
            digest=outcome.digest.hex(),
            result_ref=outcome.result_ref,
            revision=outcome.revision,
        )
        return reply.json(said, 200 if outcome.again else 201)

    return Ask(call, render, touches=(("job", id),))


def settle(ask: Request) -> Ask[SettleOutcome]:
    """Say what became of a job."""
    body, id = decode.body(ask, takes.SettleBody), ask.params["id"]
    settlement = Settlement(id, body.fence, saying.said(body.outcome, ask), conditions.maybe_match(ask))

    def render(outcome: SettleOutcome) -> Answer:
        if isinstance(outcome, outcomes.Settled):
            return reply.json(answers.settled(outcome), revision=outcome.revision)
        return answers.refused(outcome)

    return Ask(settling.settle.call(ask.workspace, settlement), render, touches=(("job", id), doors.CLAIMABLE))


def settle_batch(ask: Request) -> Ask[list[SettleOutcome]]:
    """Settle many jobs, one outcome each."""
    found = decode.body(ask, takes.SettleBatch).items
    settlements = [Settlement(item.job_id, item.fence, saying.said(item.outcome, ask)) for item in found]

    def item(pair: tuple[Settlement, SettleOutcome]) -> gives.ItemReply:
        settlement, outcome = pair
        if isinstance(outcome, outcomes.Settled):
            return answers.item_of(200, answers.settled(outcome))
        return answers.refused_item(settlement.id, outcome)

    def render(outcomes: list[SettleOutcome]) -> Answer:
        return reply.json(answers.items(list(zip(settlements, outcomes, strict=True)), item))

    touched = tuple(("job", settlement.id) for settlement in settlements)
    return Ask(settling.settle_all.call(ask.workspace, settlements), render, touches=(*touched, doors.CLAIMABLE))


def cancel(ask: Request) -> Ask[steering.CancelOutcome]:
    """Cancel a job, or ask whoever runs it to stop: 202 where it is only asked."""
    body, id = decode.body(ask, takes.CancelBody), ask.params["id"]
    call = steering.cancel.call(ask.workspace, id, ask.who.subject, body.reason, revision=conditions.maybe_match(ask))

    def render(outcome: steering.CancelOutcome) -> Answer:
        if not isinstance(outcome, Cancelling):
            return answers.refused(outcome)
        said = gives.CancelReply(
            outcome=outcome.outcome, job_id=outcome.id, state=outcome.state, revision=outcome.revision
        )
        status = 202 if outcome.outcome == "requested" else 200
        return reply.json(said, status, revision=outcome.revision, resource=f"job:{id}")

    return Ask(call, render, touches=(("job", id),))


def retry(ask: Request) -> Ask[steering.RetryOutcome]:
    """Admit an ended job anew."""
    decode.body(ask, takes.AgainBody)
    call = steering.retry.call(ask.workspace, ask.params["id"], ask.fresh, revision=conditions.maybe_match(ask))

    def render(outcome: steering.RetryOutcome) -> Answer:
        if not isinstance(outcome, Retried):
            return answers.refused(outcome)
        headers = (("location", f"/v1/jobs/{outcome.id}"),)
        return reply.json(
            answers.retried(outcome), 202, revision=outcome.revision, resource=f"job:{outcome.id}", headers=headers
        )

    return Ask(call, render, touches=(doors.CLAIMABLE,))


def signal(ask: Request) -> Ask[steering.SignalOutcome]:
    """Tell a job something."""
    body, id = decode.body(ask, takes.SignalBody), ask.params["id"]
    data = None if body.data is UNSET else doors.content(body.data, None, "data", limits.SIGNAL_DATA_BYTES_MAX)
    call = steering.signal.call(ask.workspace, id, body.name, data, revision=conditions.maybe_match(ask))

    def render(outcome: steering.SignalOutcome) -> Answer:
        if not isinstance(outcome, outcomes.Signalled):
            return answers.refused(outcome)
        said = gives.SignalReply(job_id=outcome.id, revision=outcome.revision)
        return reply.json(said, 202, revision=outcome.revision, resource=f"job:{id}")

    return Ask(call, render, touches=(("job", id),))


def cancel_all(ask: Request) -> Ask[BulkOutcome]:
    """Cancel what a filter means."""
    body = decode.body(ask, takes.BulkBody)
    call = steering.cancel_all.call(
        ask.workspace, doors.narrowed(body.filter), body.expect_count, ask.who.subject, body.reason
    )
    return Ask(call, _bulk)


def retry_all(ask: Request) -> Ask[BulkOutcome]:
    """Retry what a filter means."""
    body = decode.body(ask, takes.BulkBody)
    new = doors.ids(ask.fresh, steering.BULK_MAX)
    call = steering.retry_all.call(ask.workspace, doors.narrowed(body.filter), body.expect_count, new)
    return Ask(call, _bulk, touches=(doors.CLAIMABLE,))


def _bulk(outcome: BulkOutcome) -> Answer:
    match outcome:
        case outcomes.Counted(count):
            return reply.json(gives.BulkReply(count=count))
        case outcomes.Steered(found):
            return reply.json(gives.BulkReply(count=len(found), outcomes=[_steered(each) for each in found]))
        case outcomes.CountChanged() | outcomes.TooMany():
            return answers.refused(outcome)


def _steered(outcome: Cancelling | Retried | outcomes.NotReadmitted) -> gives.ItemReply:
    if isinstance(outcome, Retried):
        return answers.item_of(202, answers.retried(outcome))
    if not isinstance(outcome, Cancelling):
        return answers.refused_item(outcome.id if isinstance(outcome, KeyConflict) else None, outcome)
    return gives.ItemReply(
        status=202 if outcome.outcome == "requested" else 200,
        job_id=outcome.id,
        state=outcome.state,
        revision=outcome.revision,
        outcome=outcome.outcome,
    )
