"""jobs: submitting, reading and steering. What a worker says is in `work.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Got, Mode, Script, Send, Stream, flow, verb
from steadhold.sdk.job_shapes import (
    Checkpoint,
    Event,
    Item,
    Job,
    JobType,
    State,
    Submission,
    Submitted,
)
from steadhold.sdk.steering import Steering
from steadhold.sdk.watching import each_change, until_ended
from steadhold.sdk.words import (
    UNSET,
    Exact,
    Unset,
    at,
    change,
    guarded,
    instant,
    members,
    pages,
    put_if,
    raw_json,
    read,
    verified,
)
from steadhold.sdk.work import Work


class _Items(msgspec.Struct):
    outcomes: list[Item]


class JobsRoom(Work[Mode], Steering[Mode]):
    """`client.jobs`."""

    @verb
    def submit(
        self,
        type: str,
        input: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        input_ref: str | None = None,
        inputs: Sequence[str] = (),
        priority: int | None = None,
        run_at: datetime | None = None,
        unique_key: str | None = None,
        concurrency_key: str | None = None,
        deadline_seconds: float | None = None,
        evidence_not_before: datetime | None = None,
        tags: Sequence[str] = (),
        correlation_id: str | None = None,
        trace: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Submitted]:
        """Admit a job. Its input is a value, its JSON as `raw` bytes, or `input_ref`; null without any of them.

        Raises:
            KeyConflict: a live job holds `unique_key`, and was given something else. QueueFull, NotEntitled.
            InvalidInput: the input does not fit the type's schema. OutcomeUnknown.
        """
        body = _submission(
            Submission(
                type=type, input=input, raw=raw, input_ref=input_ref, inputs=inputs, priority=priority, run_at=run_at,
                unique_key=unique_key, concurrency_key=concurrency_key, deadline_seconds=deadline_seconds,
                evidence_not_before=evidence_not_before, tags=tags, correlation_id=correlation_id, trace=trace,
            )
        )  # fmt: skip
        got = yield change("POST", at("jobs"), body, fences=fences, operation_id=operation_id)
        submitted = read(got, Submitted)
        return submitted if got.status == 202 else msgspec.structs.replace(submitted, created=False)

    @verb
    def submit_many(
        self, jobs: Sequence[Submission], *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[list[Item]]:
        """Admit many jobs in one operation, an outcome each: what one came to changes nothing for the others."""
        body = {"items": [_submission(job) for job in jobs]}
        return (yield from guarded(at("jobs:batch"), body, _Items, fences, operation_id)).outcomes

    @verb
    def get(self, job_id: str) -> Script[Job]:
        """Read a job.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("jobs", job_id))), Job)

    @verb
    def wait(self, job_id: str, *, timeout_seconds: float | None = None) -> Script[Job]:
        """Wait until a job has ended, however it did.

        Raises:
            TimeoutError: it has not ended within `timeout_seconds`. NotFound.
        """
        otherwise = f"Job {job_id} has not ended"
        return (yield from until_ended("jobs", job_id, Job, timeout_seconds, otherwise))

    @flow
    def watch(self, job_id: str, *, since: int | None = None) -> Stream[Job]:
        """A job as it is now, then after each change that is seen, until it has ended.

        Changes that follow each other quickly may be passed over; the last one never is. `since` is a revision that
        you have already: it is not given again.

        Raises:
            NotFound.
        """
        yield from each_change("jobs", job_id, Job, since)

    @flow
    def list(
        self,
        *,
        state: State | None = None,
        type: str | None = None,
        unique_key: str | None = None,
        tag: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Stream[Job]:
        """Jobs, the newest first."""
        yield from pages(
            lambda cursor: at(
                "jobs", state=state, type=type, unique_key=unique_key, tag=tag, created_after=created_after,
                created_before=created_before, cursor=cursor,
            ),
            Job,
        )  # fmt: skip

    @verb
    def result(self, job_id: str) -> Script[Exact]:
        """The inline result of a completed job.

        Raises:
            NotFound: there is no such job, or it has no result of its own. BadAnswer.
        """
        return _exact(f"The result of job {job_id}", (yield Send("GET", at("jobs", job_id, "result"))))

    @verb
    def input(self, job_id: str) -> Script[Exact]:
        """The inline input of a job.

        Raises:
            NotFound: there is no such job, or a reference names its input. BadAnswer.
        """
        return _exact(f"The input of job {job_id}", (yield Send("GET", at("jobs", job_id, "input"))))

    @flow
    def events(self, job_id: str) -> Stream[Event]:
        """What happened to a job, in order."""
        yield from pages(lambda cursor: at("jobs", job_id, "events", cursor=cursor), Event)

    @flow
    def checkpoints(self, job_id: str) -> Stream[Checkpoint]:
        """The committed stages that a job sees: its own, and those of the jobs it retries."""
        yield from pages(lambda cursor: at("jobs", job_id, "checkpoints", cursor=cursor), Checkpoint)

    @verb
    def checkpoint_of(self, job_id: str, stage: str) -> Script[Checkpoint]:
        """Read one committed stage.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("jobs", job_id, "checkpoints", stage))), Checkpoint)

    @verb
    def get_type(self, type: str) -> Script[JobType]:
        """What a job type is held to.

        Raises:
            NotFound: it is not registered, so its jobs run under the defaults.
        """
        return read((yield Send("GET", at("job-types", type))), JobType)

    @verb
    def put_type(
        self, type: str, configuration: Mapping[str, Any], *, if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[JobType]:  # fmt: skip
        """Register a job type, or replace revision `if_revision` of it.

        Raises:
            RevisionConflict. OutcomeUnknown.
        """
        condition = put_if(if_revision)
        sent = change(
            "PUT", at("job-types", type), configuration, fences=fences, operation_id=operation_id, headers=condition
        )
        return read((yield sent), JobType)


def _exact(what: str, got: Got) -> Exact:
    verified(what, got)
    return Exact(got.body)


def _submission(job: Submission) -> dict[str, Any]:
    """A submission as it is sent: what was not said is left out."""
    said = members(**{name: getattr(job, name) for name in job.__struct_fields__ if name not in {"input", "raw"}})
    for name in ("run_at", "evidence_not_before"):
        if name in said:
            said[name] = instant(said[name])
    for name in ("inputs", "tags"):
        said[name] = list(said[name])
        if not said[name]:
            del said[name]
    if job.raw is not None or not isinstance(job.input, Unset):
        said["input"] = msgspec.Raw(raw_json(job.input, job.raw))
    return said
