"""From a body to a spec: what contradicts itself is refused before anything is looked at. And back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec import UNSET, Raw

from steadhold.jobs.doors import content
from steadhold.kit.limits import JOB_INPUT_BYTES_MAX, SCHEDULE_EVENT_BYTES_MAX
from steadhold.schedules import cron, fitting
from steadhold.schedules import spec as specs
from steadhold.schedules.spec import Event, Job, Spec
from steadhold.schedules.wire import Dst, InboxTarget, JobTarget, SpecBody
from steadhold.web import reply
from steadhold.web.problem import stop


def spec_of(body: SpecBody) -> Spec:
    """The spec that a body describes; Stop where it is none."""
    if body.cron is None and body.dst is not None:
        stop("bad_schedule", "dst says how cron is read; without cron leave it out.", pointer="/dst")
    try:
        return fitting.fit(Spec(**_members(body)))
    except specs.Unfit as unfit:
        stop(unfit.code, str(unfit), pointer=f"/{unfit.member}" if unfit.member else "", **unfit.more)


def _members(body: SpecBody) -> dict[str, Any]:
    target, dst = body.target, body.dst or Dst()
    return {
        "job": None if target.job is None else _job(target.job),
        "event": None if target.inbox is None else _event(target.inbox),
        "cron": None if body.cron is None else _as_kept(body.cron),
        "every_seconds": body.every_seconds,
        "at": _utc(body.at),
        "time_zone": body.time_zone,
        "gap": dst.gap,
        "fold": dst.fold,
        "missed": body.missed.policy,
        "window_seconds": body.missed.window_seconds,
        "max_runs": body.missed.max_runs,
        "overlap": body.overlap or ("coalesce" if target.inbox is None else "enqueue"),
        "sequential": body.sequential,
        "jitter_seconds": body.jitter_seconds,
        "starts_at": _utc(body.starts_at),
        "ends_at": _utc(body.ends_at),
        "paused": body.paused,
        "freshness_seconds": body.freshness_seconds,
    }


def _as_kept(text: str) -> str:
    parsed = cron.parse(text)
    return text if isinstance(parsed, cron.CronFault) else parsed.text


def _utc(moment: datetime | None) -> datetime | None:
    return None if moment is None else moment.astimezone(UTC)


def _job(job: JobTarget) -> Job:
    return Job(
        type=job.type,
        input=content(job.input, job.input_ref, "input", JOB_INPUT_BYTES_MAX),
        input_ref=job.input_ref,
        inputs=tuple(job.inputs),
        priority=job.priority,
        deadline_seconds=job.deadline_seconds,
        tags=tuple(dict.fromkeys(job.tags)),
    )


def _event(event: InboxTarget) -> Event:
    data = content(event.data, None, "data", SCHEDULE_EVENT_BYTES_MAX)
    return Event(event.inbox, event.type, b"null" if data is None else data, event.schema_version)


def body_of(spec: Spec) -> dict[str, Any]:
    """The members that a PUT of this spec sends; defaults are told, what was left out is not."""
    found: dict[str, Any] = {
        "cron": spec.cron,
        "every_seconds": spec.every_seconds,
        "at": reply.maybe_instant(spec.at),
        "time_zone": spec.time_zone,
        "dst": None if spec.cron is None else {"gap": spec.gap, "fold": spec.fold},
        "missed": {"policy": spec.missed, "window_seconds": spec.window_seconds, "max_runs": spec.max_runs},
        "overlap": spec.overlap,
        "sequential": spec.sequential,
        "jitter_seconds": spec.jitter_seconds,
        "starts_at": reply.maybe_instant(spec.starts_at),
        "ends_at": reply.maybe_instant(spec.ends_at),
        "paused": spec.paused,
        "freshness_seconds": spec.freshness_seconds,
        "target": _told(spec),
    }
    return {name: value for name, value in found.items() if value is not None}


def _told(spec: Spec) -> dict[str, Any]:
    if spec.event is not None:
        sent = spec.event
        told = InboxTarget(inbox=sent.inbox, type=sent.type, schema_version=sent.schema_version, data=Raw(sent.data))
        return {"inbox": told}
    assert spec.job is not None, "a schedule starts a job or sends an event"
    return {"job": _job_told(spec.job)}


def _job_told(job: Job) -> JobTarget:
    return JobTarget(
        type=job.type,
        input=UNSET if job.input is None else Raw(job.input),
        input_ref=job.input_ref,
        inputs=list(job.inputs),
        priority=job.priority,
        deadline_seconds=job.deadline_seconds,
        tags=list(job.tags),
    )
