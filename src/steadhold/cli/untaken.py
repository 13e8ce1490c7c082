"""Who waits for a job is told when no worker takes it, and how to start one."""

from __future__ import annotations

import shlex
import time
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from steadhold.kit.legible import legible

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.job_shapes import Job

QUIET_SECONDS: Final = 1.0
"""How long nothing may happen before that is said. A worker that waits claims a job sooner."""
LOOKED_AT_MAX: Final = 100
CLAIMABLE: Final = "accepted"


def seen_or_told(client: Client, job: Job, seconds: float) -> Job | None:
    """The job after its next change; None where there was none in `seconds`, and then why not is told."""
    from steadhold.sdk.job_shapes import Job
    from steadhold.sdk.watching import look

    changed = client.play(look("jobs", job.job_id, Job, job.revision, seconds))
    if changed is None:
        click.echo(why(job, _running(client)), err=True)
    return changed


def waits_for_a_worker(job: Job) -> bool:
    """Whether it could be claimed now, as far as is known here."""
    return job.state == CLAIMABLE and (job.run_at is None or job.run_at.timestamp() <= time.time())


def why(job: Job, running: list[str]) -> str:
    """That nobody has taken a job, of which types jobs are running, and what starts a worker."""
    kind = legible(job.type)
    others = ", ".join(legible(one) for one in sorted(set(running) - {job.type}))
    if job.type in running:
        known = f"Jobs of type {kind} are running, so its workers may have their hands full"
    else:
        known = f"No job of type {kind} is running" + (f"; workers are at work on: {others}" if others else "")
    return (
        f"No worker has taken job {job.job_id} yet. {known}.\n"
        f'Next: In another terminal, where a MODULE.py has @worker.job("{kind}") on its WORKER: '
        f"`steadhold work MODULE:WORKER{_where()}`. This goes on waiting; Ctrl-C leaves the job as it is."
    )


def _running(client: Client) -> list[str]:
    return [job.type for job in islice(client.jobs.list(state="running"), LOOKED_AT_MAX)]


def _where() -> str:
    """The options that the worker needs as well, because they were given here."""
    ctx = click.get_current_context(silent=True)
    told = {} if ctx is None else ctx.params
    return "".join(
        f" --{name.replace('_', '-')} {shlex.quote(told[name])}" for name in ("url", "api_key_file") if told.get(name)
    )
