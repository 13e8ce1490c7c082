"""Which specs can be kept: the library refuses what the doors refuse. What is kept already is not tested again."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from steadhold.jobs.model import Priority, Tags
from steadhold.kit import limits
from steadhold.kit.ids import NO_NUL
from steadhold.kit.rules import Id, Moment, Reference, Rule, Seconds, json_fault
from steadhold.schedules import cron, instants
from steadhold.schedules.spec import Event, Job, Spec, Unfit

Kind: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX, pattern=NO_NUL)]
Version: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
Span: TypeAlias = Annotated[int, Meta(ge=1, le=limits.SCHEDULE_SECONDS_MAX)]
Runs: TypeAlias = Annotated[int, Meta(ge=1, le=limits.MISSED_RUNS_MAX)]
Jitter: TypeAlias = Annotated[int, Meta(ge=0, le=limits.JITTER_SECONDS_MAX)]
Inputs: TypeAlias = Annotated[tuple[Reference, ...], Meta(max_length=limits.JOB_INPUTS_MAX - 1)]
"""A run's job has one more, which says of which run it is."""


class _Job(Job, frozen=True):
    type: Id
    input_ref: Reference | None = None
    inputs: Inputs = ()
    priority: Priority = 5
    deadline_seconds: Seconds | None = None
    tags: Tags = ()


class _Event(Event, frozen=True):
    inbox: Id
    type: Kind
    schema_version: Version = 1


class _Spec(Spec, frozen=True, kw_only=True):
    job: _Job | None = None
    event: _Event | None = None
    every_seconds: Span | None = None
    at: Moment | None = None
    window_seconds: Span = 3_600
    max_runs: Runs = limits.MISSED_RUNS_MAX
    jitter_seconds: Jitter = 0
    starts_at: Moment | None = None
    ends_at: Moment | None = None
    freshness_seconds: Span | None = None


def fault(spec: Spec) -> str | None:
    """Why a spec cannot be kept, as a sentence; None where it can."""
    try:
        msgspec.convert(spec, _Spec, from_attributes=True)
    except msgspec.ValidationError as wrong:
        return f"{wrong}."
    if found := _unfit(spec):
        return f"{found.member}: {found}" if found.member else str(found)
    return _content_fault(spec)


def _content_fault(spec: Spec) -> str | None:
    if spec.event is not None:
        wrong = json_fault(limits.SCHEDULE_EVENT_BYTES_MAX, spec.event.data)
        return wrong and f"event.data: {wrong}"
    assert spec.job is not None, "a spec has a job or an event"
    if spec.job.input is None:
        return None
    if spec.job.input_ref is not None and spec.job.input != b"null":
        return "job: There is input or an input_ref, and not both."
    wrong = json_fault(limits.JOB_INPUT_BYTES_MAX, spec.job.input)
    return wrong and f"job.input: {wrong}"


def fit(spec: Spec) -> Spec:
    """The spec, whose members are within their bounds; `Unfit` is raised where they contradict each other."""
    if found := _unfit(spec):
        raise found
    return spec


def _unfit(spec: Spec) -> Unfit | None:
    if sum(said is not None for said in (spec.cron, spec.every_seconds, spec.at)) != 1:
        return Unfit("", "Say exactly one of cron, every_seconds and at.")
    if spec.sequential and spec.overlap != "enqueue":
        return Unfit("sequential", 'Only overlap "enqueue" can be sequential.')
    if spec.starts_at is not None and spec.ends_at is not None and spec.starts_at >= spec.ends_at:
        return Unfit("ends_at", "`ends_at` has to lie after `starts_at`.")
    for name, moment in (("at", spec.at), ("starts_at", spec.starts_at), ("ends_at", spec.ends_at)):
        if moment is not None and moment.microsecond:
            return Unfit(name, "Instants are whole seconds.")
    if spec.cron is not None:
        return _cron(spec.cron, spec.time_zone)
    if spec.time_zone is not None:
        return Unfit("time_zone", "time_zone says how cron is read; without cron leave it out.")
    return None


def _cron(text: str, time_zone: str | None) -> Unfit | None:
    parsed = cron.parse(text)
    if isinstance(parsed, cron.CronFault):
        return Unfit("cron", parsed.why, "bad_cron", field=parsed.field, position=parsed.position)
    if time_zone is None:
        why = "cron needs time_zone: a name such as Europe/Berlin, or UTC."
        return Unfit("time_zone", why, "bad_time_zone")
    zone = instants.zone(time_zone)
    return Unfit("time_zone", zone.why, "bad_time_zone") if isinstance(zone, instants.ZoneFault) else None


Keepable: TypeAlias = Annotated[Spec, Rule(fault)]
"""A spec that can be kept."""
