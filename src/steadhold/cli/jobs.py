"""`steadhold jobs`: submit, read, watch and steer."""

from __future__ import annotations

import time
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Measure, Whole, limited
from steadhold.cli.bodies import Verb, body, given
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.exits import NOT_FOUND, ONGOING, Said, waiting
from steadhold.cli.show import Out, printed, raw
from steadhold.cli.untaken import QUIET_SECONDS, seen_or_told, waits_for_a_worker
from steadhold.cli.when import moment

if TYPE_CHECKING:
    from steadhold.sdk.client import Client
    from steadhold.sdk.job_shapes import Job

COLUMNS: Final = ("job_id", "type", "state", "attempt", "created_at", "run_at")
STATES: Final = ("accepted", "running", "waiting", "completed", "failed", "cancelled")


@click.group()
def jobs() -> None:
    """Durable jobs: each ends exactly once, completed, failed or cancelled."""


@jobs.command(cls=Verb)
@click.argument("type")
@body("INPUT", required=False)
@click.option("--input-ref", metavar="REF", help="A reference to the input, instead of it.")
@click.option("--priority", type=Whole(0, 9), metavar="0…9", help="0 goes first. [default: 5]")
@click.option("--run-at", type=moment, metavar="TIME", help="Not before this, as in 2026-11-29T16:00:00Z.")
@click.option("--unique-key", metavar="ID", help="At most one live job holds it.")
@click.option("--concurrency-key", metavar="ID", help="Jobs of one key run after each other.")
@click.option("--deadline-seconds", type=Measure(min=0), metavar="N", help="Failed if it has not ended then.")
@click.option("--tag", "tags", multiple=True, help="Several may be given.")
@click.option("--correlation-id", metavar="ID")
@click.option("--wait", is_flag=True, help="Wait until it has ended, as `jobs watch` does.")
@click.option("--for", "seconds", type=Measure(min=0), metavar="SECONDS",
              help="Wait at most so long: exit code 8 then, and the job goes on.")  # fmt: skip
@named
@printed
@changes
def submit(
    client: Client, type: str, input: str | None, file: str | None, wait: bool, seconds: float | None,  # noqa: FBT001
    out: Out, **said: Any,
) -> None:  # fmt: skip
    """Admit a job of TYPE. INPUT is a JSON text, kept as the bytes it is; `-` reads standard input."""
    submitted = client.jobs.submit(type, raw=given("INPUT", input, file), **said)
    out.one(submitted)
    if wait or seconds is not None:
        with waiting(_goes_on(submitted.job_id)):
            _watched(client, submitted.job_id, seconds, out)


@jobs.command()
@click.option("--state", type=click.Choice(STATES))
@click.option("--type", metavar="TYPE")
@click.option("--tag")
@click.option("--unique-key", metavar="ID")
@click.option("--created-after", type=moment, metavar="TIME")
@click.option("--created-before", type=moment, metavar="TIME")
@limited(100)
@printed
@asks
def ls(client: Client, limit: int, out: Out, **which: Any) -> None:
    """List jobs, the newest first."""
    out.many(islice(client.jobs.list(**which), limit), COLUMNS)


@jobs.command()
@click.argument("job_id")
@printed
@asks
def show(client: Client, job_id: str, out: Out) -> None:
    """Show a job: everything but its input and its result."""
    out.one(client.jobs.get(job_id))


@jobs.command()
@click.argument("job_id")
@asks
def result(client: Client, job_id: str) -> None:
    """Write the result of a completed job. Its bytes on standard output are exactly those that were stored."""
    from steadhold.sdk.errors import NotFound

    try:
        raw([client.jobs.result(job_id).raw])
    except NotFound:
        job = client.jobs.get(job_id)
        said = f"its result is {job.result_ref}" if job.result_ref else "it has no result"
        raise Said(f"Job {job_id} is {job.state}, and {said}.", NOT_FOUND) from None


@jobs.command()
@click.argument("job_id")
@asks
def input(client: Client, job_id: str) -> None:
    """Write the input of a job. Its bytes on standard output are exactly those that were stored."""
    raw([client.jobs.input(job_id).raw])


@jobs.command()
@click.argument("job_id")
@printed
@asks
def events(client: Client, job_id: str, out: Out) -> None:
    """List what happened to a job, in order."""
    out.many(client.jobs.events(job_id), ("aggregate_revision", "type", "occurred_at", "data"))


@jobs.command()
@click.argument("job_id")
@printed
@asks
def checkpoints(client: Client, job_id: str, out: Out) -> None:
    """List the committed stages of a job."""
    out.many(client.jobs.checkpoints(job_id), ("stage", "fence", "committed_at", "digest"))


@jobs.command()
@click.argument("job_id")
@click.option("--reason", help="A sentence for people.")
@named
@printed
@changes
def cancel(client: Client, job_id: str, reason: str | None, operation_id: str | None, out: Out) -> None:
    """Cancel a job, or ask its worker to.

    The outcome is cancelled, requested (it may still complete), or too_late. Saying it again is harmless.
    """
    out.one(client.jobs.cancel(job_id, reason=reason, operation_id=operation_id))


@jobs.command()
@click.argument("job_id")
@named
@printed
@changes
def retry(client: Client, job_id: str, operation_id: str | None, out: Out) -> None:
    """Submit an ended job anew. It has its input and its committed stages."""
    out.one(client.jobs.retry(job_id, operation_id=operation_id))


@jobs.command(cls=Verb)
@click.argument("job_id")
@click.argument("name")
@body("DATA", required=False)
@named
@changes
def signal(
    client: Client, job_id: str, name: str, data: str | None, file: str | None, operation_id: str | None
) -> None:  # fmt: skip
    """Tell a job something. It is kept until the job waits for NAME."""
    client.jobs.signal(job_id, name, raw=given("DATA", data, file), operation_id=operation_id)


@jobs.command()
@click.argument("job_id")
@click.option("--for", "seconds", type=Measure(min=0), metavar="SECONDS",
              help="Only print it once it has ended; exit code 8 after this long.")  # fmt: skip
@printed
@asks
def watch(client: Client, job_id: str, seconds: float | None, out: Out) -> None:
    """Print a job each time that it changed, until it has ended.

    Exit code 0 tells that it completed, 1 that it failed or was cancelled.
    """
    _watched(client, job_id, seconds, out)


def _watched(client: Client, job_id: str, seconds: float | None, out: Out) -> None:
    ends_at = inf if seconds is None else time.monotonic() + seconds
    job = _told(client.jobs.get(job_id), out, changes=seconds is None)
    if not job.ended and waits_for_a_worker(job):
        quiet = min(QUIET_SECONDS, max(0.0, ends_at - time.monotonic()))
        job = _told(seen_or_told(client, job, quiet) or job, out, changes=seconds is None, since=job.revision)
    if job.ended:
        return
    if seconds is None:
        for changed in client.jobs.watch(job_id, since=job.revision):
            _told(changed, out, changes=True)
    else:
        _told(_ended(client, job_id, seconds, ends_at), out, changes=True)


def _goes_on(job_id: str) -> str:
    return f"It goes on. `steadhold jobs watch {job_id}` waits for it again."


def _ended(client: Client, job_id: str, seconds: float, ends_at: float) -> Job:
    """The job once it has ended. Raises Said where it has not when `seconds` are over."""
    try:
        return client.jobs.wait(job_id, timeout_seconds=max(0.0, ends_at - time.monotonic()))
    except TimeoutError:
        raise Said(
            f"Job {job_id} has not ended within {seconds:g} seconds.",
            ONGOING,
            next=_goes_on(job_id),
        ) from None


def _told(job: Job, out: Out, *, changes: bool, since: int | None = None) -> Job:
    """Print a job that changed since a revision, or has ended. Raises Said where it ended otherwise than completed."""
    if job.revision != since and (changes or job.ended):
        out.each(job, ("revision", "state", "attempt", "stages", "progress"))
    if job.ended and job.state != "completed":
        why = f": {job.error_code}" if job.error_code else ""
        raise Said(f"Job {job.job_id} {'was cancelled' if job.state == 'cancelled' else 'failed'}{why}.")
    return job
