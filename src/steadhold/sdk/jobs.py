"""jobs: submitting, reading and steering. What a worker says is in `work.py`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from steadhold.kit import fields
from steadhold.kit.exact import JsonValue
from steadhold.sdk.grammar import Got, Mode, Script, Send, Stream, flow, verb
from steadhold.sdk.job_shapes import (
    Cancelling,
    Checkpoint,
    Counted,
    Event,
    Item,
    Job,
    JobType,
    State,
    Submission,
    Submitted,
)
from steadhold.sdk.words import (
    UNSET,
    WAIT_SECONDS,
    Exact,
    Unset,
    at,
    change,
    if_match,
    instant,
    members,
    pages,
    put_if,
    raw_json,
    read,
    verified,
)
from steadhold.sdk.work import Work

CLOCK: Final[Callable[[], float]] = time.monotonic


class _Items(msgspec.Struct):
    outcomes: list[Item]


class JobsRoom(Work[Mode]):
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
        got = yield change("POST", at("jobs"), body, operation_id=operation_id)
        submitted = read(got, Submitted)
        return submitted if got.status == 202 else msgspec.structs.replace(submitted, created=False)

    @verb
    def submit_many(self, jobs: Sequence[Submission], *, operation_id: str | None = None) -> Script[list[Item]]:
        """Admit many jobs in one operation, an outcome each: what one came to changes nothing for the others."""
        body = {"items": [_submission(job) for job in jobs]}
        return read((yield change("POST", at("jobs:batch"), body, operation_id=operation_id)), _Items).outcomes

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
        ends_at = None if timeout_seconds is None else CLOCK() + timeout_seconds
        job = read((yield Send("GET", at("jobs", job_id))), Job)
        while not job.ended:
            left = WAIT_SECONDS if ends_at is None else min(WAIT_SECONDS, ends_at - CLOCK())
            if left <= 0:
                raise TimeoutError(f"Job {job_id} is still {job.state} after {timeout_seconds} seconds.")
            target = at("jobs", job_id, wait_seconds=left)
            got = yield Send("GET", target, {"if-none-match": fields.etag(job.revision)}, wait_seconds=left)
            job = job if got.status == 304 else read(got, Job)
        return job

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
    def cancel(
        self,
        job_id: str,
        *,
        reason: str | None = None,
        if_revision: int | None = None,
        operation_id: str | None = None,
    ) -> Script[Cancelling]:
        """Cancel a job, or ask its worker to: `requested` may still lose to completion. Saying it again is harmless."""
        body = members(reason=reason)
        condition = if_match(if_revision)
        sent = change("POST", at("jobs", job_id, "cancel"), body, operation_id=operation_id, headers=condition)
        return read((yield sent), Cancelling)

    @verb
    def retry(
        self, job_id: str, *, if_revision: int | None = None, operation_id: str | None = None
    ) -> Script[Submitted]:
        """Submit an ended job anew, with its configuration, inputs and committed checkpoints.

        Raises:
            JobNotEnded. KeyConflict: another job holds its `unique_key`. OutcomeUnknown.
        """
        condition = if_match(if_revision)
        sent = change("POST", at("jobs", job_id, "retry"), {}, operation_id=operation_id, headers=condition)
        return read((yield sent), Submitted)

    @verb
    def signal(
        self,
        job_id: str,
        name: str,
        data: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        operation_id: str | None = None,
    ) -> Script[None]:
        """Tell a job something. It is kept until the job waits for this name.

        Raises:
            JobEnded. Problem "signals_full": the job keeps as many as it may. OutcomeUnknown.
        """
        body: dict[str, Any] = {"name": name}
        if raw is not None or not isinstance(data, Unset):
            body["data"] = msgspec.Raw(raw_json(data, raw))
        yield change("POST", at("jobs", job_id, "signal"), body, operation_id=operation_id)

    @verb
    def cancel_many(
        self, filter: Mapping[str, Any], *, expect_count: int | None = None, operation_id: str | None = None
    ) -> Script[Counted]:
        """Cancel all jobs that match, if they are `expect_count`; without it, only count them.

        Raises:
            CountChanged. OutcomeUnknown.
        """
        return (yield from _steer("jobs:cancel", filter, expect_count, operation_id))

    @verb
    def retry_many(
        self, filter: Mapping[str, Any], *, expect_count: int | None = None, operation_id: str | None = None
    ) -> Script[Counted]:
        """Retry all jobs that match, if they are `expect_count`; without it, only count them.

        Raises:
            CountChanged. OutcomeUnknown.
        """
        return (yield from _steer("jobs:retry", filter, expect_count, operation_id))

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
        operation_id: str | None = None,
    ) -> Script[JobType]:  # fmt: skip
        """Register a job type, or replace revision `if_revision` of it.

        Raises:
            RevisionConflict. OutcomeUnknown.
        """
        condition = put_if(if_revision)
        sent = change("PUT", at("job-types", type), configuration, operation_id=operation_id, headers=condition)
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


def _steer(
    target: str, filter: Mapping[str, Any], expect_count: int | None, operation_id: str | None
) -> Script[Counted]:
    body = members(filter=dict(filter), expect_count=expect_count)
    return read((yield change("POST", at(target), body, operation_id=operation_id)), Counted)
