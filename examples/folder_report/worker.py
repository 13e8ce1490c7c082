"""A durable job over a folder: a function and its stages. Nothing more is needed to survive being killed.

Run it yourself with `steadhold work worker:worker`, in this folder.
"""

from __future__ import annotations

import time
from typing import Any

import reading
import walking

from steadhold import Client
from steadhold.kit.fields import FenceRef
from steadhold.worker import Coverage, Done, Permanent, SyncContext, Worker

# Short, so that whoever watches need not wait long for another worker to take over. Else leave both as they are.
worker = Worker(lease_seconds=3, drain_seconds=1)


@worker.job("folder_report")
def folder_report(ctx: SyncContext, input: dict[str, Any]) -> Done:
    """Read a folder file by file and store what was found. A stage that returned is kept, and never run again."""
    folder = input["folder"]
    pages = walk(ctx, folder, input["skip"])
    try:
        names = walking.chunks(pages)
    except ValueError as error:
        raise Permanent("too_many_files", str(error)) from error
    ctx.progress({"stages": len(pages) + len(names) + 2})
    pause = input["watch_seconds"] / len(names)
    parts = [ctx.stage(f"chunk-{n:04}", read, folder, chunk, pause) for n, chunk in enumerate(names, 1)]
    report = ctx.stage("merge", lambda: reading.merge(folder, pages, names, parts))
    stored = ctx.stage("store", lambda: store(input["report"], report, ctx.grant))
    covered = Coverage("partial" if report["unread"]["count"] else "complete", report["found"], report["files"])
    return Done(stored, coverage=covered)


def walk(ctx: SyncContext, folder: str, skip: list[str]) -> list[dict[str, Any]]:
    """List a folder, a stage for each page of the list, so that not even that has to be begun again."""
    pages = [ctx.stage("walk-0001", walking.page, folder, skip, None)]
    while pages[-1]["more"]:
        pages.append(ctx.stage(f"walk-{len(pages) + 1:04}", walking.page, folder, skip, pages[-1]["last"]))
    return pages


def read(folder: str, names: list[str], pause_seconds: float) -> dict[str, Any]:
    """Read some files; then rest, because work that is over at once is nothing to watch."""
    part = reading.look(folder, names)
    time.sleep(pause_seconds)
    return part


def store(name: str, report: dict[str, Any], grant: FenceRef) -> dict[str, Any]:
    """Store the report under its name, on condition that the job is still ours at that very moment."""
    with Client() as client:
        stored = client.state.update(name, lambda _: report, create=None, fences=[grant])
    return {"report": name, "revision": stored.revision}
