"""A report for each night: which jobs were submitted since the report before, and how they stand.

Run it with `steadhold work reporting:worker`, in this folder. It asks no clock what it reports on: the window comes
with the job, and windows of successive runs meet, so nothing is left out or told twice, however late a night is run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit
from zoneinfo import ZoneInfo

from steadhold import Client
from steadhold.kit.fields import FenceRef
from steadhold.sdk.job_shapes import Job
from steadhold.worker import Done, SyncContext, Worker

TYPE: Final = "nightly_report"

worker = Worker()


@dataclass(frozen=True)
class Window:
    """What a run answers for: from `start` on, and before `end`."""

    start: datetime
    end: datetime


@worker.job(TYPE)
def nightly_report(ctx: SyncContext, input: dict[str, Any]) -> Done:
    """Count once, store once: a run that is taken over goes on with what was counted, even if much has changed."""
    window = window_of(ctx.job.inputs)
    report = ctx.stage("count", lambda: count(window))
    name = f"{input['under']}/{night(window, input['time_zone'])}"
    ctx.stage("store", lambda: store(name, report, ctx.grant))
    return Done({"report": name}, evidence_at=datetime.fromisoformat(report["read_at"]))


def window_of(inputs: bytes | None) -> Window:
    """The window of a scheduled job: the last of its `inputs` names the schedule, the instant and the window."""
    assert inputs is not None, "this job was submitted by hand; trigger the schedule instead"
    said = parse_qs(urlsplit(json.loads(inputs)[-1]).query)
    return Window(*(datetime.fromisoformat(said[name][0]) for name in ("window_start", "window_end")))


def night(window: Window, time_zone: str) -> str:
    """The local date on which a window ends: there is one report for each."""
    return window.end.astimezone(ZoneInfo(time_zone)).date().isoformat()


def count(window: Window) -> dict[str, Any]:
    """Read the jobs of a window."""
    read_at = datetime.now(UTC)
    with Client() as client:
        jobs = client.jobs.list(created_after=window.start, created_before=window.end)
        return {
            "from": window.start.isoformat(),
            "to": window.end.isoformat(),
            "read_at": read_at.isoformat(),
            "jobs": tally(jobs),
        }


def tally(jobs: Iterable[Job]) -> dict[str, dict[str, int]]:
    """How many of each type are in each state. Reports are no news."""
    states: dict[str, Counter[str]] = {}
    for job in jobs:
        if job.type != TYPE:
            states.setdefault(job.type, Counter())[job.state] += 1
    return {type: dict(sorted(found.items())) for type, found in sorted(states.items())}


def store(name: str, report: dict[str, Any], grant: FenceRef) -> dict[str, Any]:
    """Store a report under its name, on condition that the job is still ours at that very moment."""
    with Client() as client:
        stored = client.state.update(name, lambda _: report, create=None, fences=[grant])
    return {"report": name, "revision": stored.revision}
