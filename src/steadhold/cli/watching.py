"""A job as it changes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steadhold.kit import fields
from steadhold.sdk.grammar import Script, Send
from steadhold.sdk.jobs import Job
from steadhold.sdk.words import WAIT_SECONDS, at, read

if TYPE_CHECKING:
    from steadhold.sdk.client import Client


def changes(client: Client, job_id: str, seconds: float | None) -> Iterator[Job]:
    """What a job is now, and then each time that it changed, until it has ended or `seconds` are over."""
    ends_at = None if seconds is None else time.monotonic() + seconds
    job = client.play(_look(job_id, None, 0.0))
    while job is not None:
        yield job
        if job.ended:
            return
        job = _next(client, job_id, job.revision, ends_at)


def _next(client: Client, job_id: str, since: int, ends_at: float | None) -> Job | None:
    while True:
        left = WAIT_SECONDS if ends_at is None else min(WAIT_SECONDS, ends_at - time.monotonic())
        if left <= 0:
            return None
        job = client.play(_look(job_id, since, left))
        if job is not None:
            return job


def _look(job_id: str, since: int | None, wait_seconds: float) -> Script[Job | None]:
    headers = {} if since is None else {"if-none-match": fields.etag(since)}
    got = yield Send("GET", at("jobs", job_id, wait_seconds=wait_seconds or None), headers, wait_seconds=wait_seconds)
    return None if got.status == 304 else read(got, Job)
