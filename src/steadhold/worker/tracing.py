"""The spans of a worker: a job was claimed, its handler runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from steadhold.jobs.model import Complete, ConfirmCancel, Fail, Release, Said, Wait
from steadhold.telemetry.spans import Facts, begin
from steadhold.worker.held import CLOCK, Held

OUTCOMES: Final = {
    Complete: "completed", Fail: "failed", ConfirmCancel: "cancelled", Release: "released", Wait: "waiting",
}  # fmt: skip


@contextmanager
def running(held: Held) -> Generator[Callable[[Said | None], None]]:
    """A run of a handler, as a span of the job's trace: current in the block, and told what the handler said."""
    job = held.job
    facts: Facts = {
        "steadhold.job.id": job.id,
        "steadhold.job.type": job.type,
        "steadhold.job.attempt": job.attempt,
        "steadhold.job.fence": job.fence,
    }
    claim = begin(f"claim {job.type}", "INTERNAL", job.trace, facts, _claimed_at(held))
    if claim is not None:
        claim.end()
    span = begin(f"job {job.type}", "CONSUMER", job.trace, facts)
    if span is None:
        yield _nobody
        return
    said: list[Said | None] = []
    try:
        with span.current():
            yield said.append
    finally:
        came = said[0] if said else None
        outcome = "lost" if held.lost else "waiting" if came is None else OUTCOMES[type(came)]
        code = came.error_code if isinstance(came, Fail) else None
        span.end(failed=code is not None, error__type=code, steadhold__job__outcome=outcome)


def _claimed_at(held: Held) -> float:
    """When it could be taken and was asked for; clocks differ, so it is not later than now."""
    now = time.time()
    return min(max(now - (CLOCK() - held.arrived), held.job.run_at.timestamp()), now)


def _nobody(_said: Said | None) -> None: ...
