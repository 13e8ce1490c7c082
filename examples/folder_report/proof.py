"""What the server knows of a run, and whether all of it is as it was promised."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from telling import many, size
from walking import real

from steadhold import Client
from steadhold.sdk.job_shapes import Checkpoint, Job

Commit: TypeAlias = tuple[str, int]
"""A stage, and the fence under which it was committed."""

Counted: TypeAlias = tuple[int, int]
"""Files, and their bytes."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What stood when the first worker was killed: its fence, and the digest of each stage that was kept."""

    fence: int
    kept: dict[str, str]


@dataclass(slots=True)
class Seen:
    """What happened before the reader's eyes."""

    resumed: bool
    plain: Counted
    killed: Killed | None = None
    late: list[str] = field(default_factory=list[str])
    receipts: list[str] = field(default_factory=list[str])
    winners: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What the server has kept of the job: its history, its stages and its report."""

    job: Job
    workers: dict[int, str]
    commits: list[Commit]
    stages: dict[str, Checkpoint]
    report: dict[str, Any]

    def chunks(self, fence: int | None = None) -> list[dict[str, Any]]:
        """What was read, in chunks; under one fence, if it is given."""
        return [
            kept.result
            for stage, kept in self.stages.items()
            if stage.startswith("chunk-") and fence in {None, kept.fence}
        ]

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Who did what under which fence."""
        yield "fence", "worker", "walk", "chunks", "files", "bytes", "merge and store"
        for fence, worker in self.workers.items():
            mine = [stage for stage, under in self.commits if under == fence]
            files, read = counted(self.chunks(fence))
            kinds = [sum(stage.startswith(kind) for stage in mine) for kind in ("walk-", "chunk-")]
            last = " and ".join(stage for stage in mine if stage in {"merge", "store"}) or "-"
            yield str(fence), worker, *map(str, kinds), f"{files:,}", size(read), last


def kept_of(client: Client, job_id: str, name: str) -> Kept:
    """Read everything that the server has kept of a job that stored its report under `name`."""
    workers: dict[int, str] = {}
    commits: list[Commit] = []
    for event in client.jobs.events(job_id):
        if event.type == "job.running":
            workers[event.data["fence"]] = event.data["worker"]
        elif event.type == "job.checkpointed":
            commits.append((event.data["stage"], event.data["fence"]))
    stages = {kept.stage: kept for kept in client.jobs.checkpoints(job_id)}
    return Kept(client.jobs.get(job_id), workers, commits, stages, client.state.get(name).value)


def counted(parts: Sequence[dict[str, Any]]) -> Counted:
    """Files and bytes that were read in some chunks."""
    sizes = [size for part in parts for size in part["sizes"] if size is not None]
    return len(sizes), sum(sizes)


def plain_walk(folder: str, skip: Sequence[str]) -> Counted:
    """Count a folder by the standard library's own walk, to compare."""
    files = read = 0
    for at, folders, names in os.walk(real(folder)):
        folders[:] = [name for name in folders if name not in {part.encode() for part in skip}]
        for name in names:
            try:
                found = os.lstat(at + b"/" + name)
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode):
                files, read = files + 1, read + found.st_size
    return files, read


def promises(seen: Seen, kept: Kept, plain_again: Counted) -> Iterator[tuple[bool, str]]:
    """Each promise of the demo, and whether it held."""
    yield from _once(seen, kept)
    report = kept.report
    read = counted(kept.chunks())
    listed = sum(len(page.result["files"]) for stage, page in kept.stages.items() if stage.startswith("walk-"))
    yield (
        listed == report["found"] and read == (report["files"], report["bytes"]),
        f"List, chunks and report count the same: {many(report['files'], 'file')}, {size(report['bytes'])}.",
    )
    if seen.plain != plain_again or seen.resumed:
        yield True, "The folder may have changed since it was listed, so nothing is compared with a walk of it now."
    else:
        unread = report["unread"]["count"]
        same = (report["found"], report["bytes"]) == seen.plain or (unread > 0 and report["found"] <= seen.plain[0])
        yield same, f"A plain walk of the folder counts {many(seen.plain[0], 'file')}, {size(seen.plain[1])}."
    covered = kept.job.coverage
    yield (
        covered is not None and (covered.expected, covered.covered) == (report["found"], report["files"]),
        f"The job is {kept.job.state}, and its coverage is {covered.state if covered else 'unknown'}.",
    )
    yield (
        seen.receipts == ["committed", "abandoned"],
        f"Of two changes without an answer, one was {' and one '.join(seen.receipts)}: never in between.",
    )
    yield seen.winners == 1, f"Of two writers of one revision, {seen.winners} won."


def _once(seen: Seen, kept: Kept) -> Iterator[tuple[bool, str]]:
    """Nothing done twice, nothing lost, nobody overruled."""
    names = [stage for stage, _ in kept.commits]
    yield (
        kept.job.state == "completed" and len(names) == len(set(names)) and set(names) == set(kept.stages),
        f"Every stage was committed once: {many(len(kept.stages), 'stage')}, {many(len(names), 'commit')}.",
    )
    fences = [fence for _, fence in kept.commits]
    order = ", ".join(str(fence) for fence in sorted(set(fences)))
    yield fences == sorted(fences), f"Fences only rose while stages were committed: {order}."
    if seen.killed is not None:
        now = {stage: kept.stages[stage].digest for stage in seen.killed.kept if stage in kept.stages}
        yield (
            now == seen.killed.kept,
            f"What was kept when the first worker was killed is as it was, byte for byte: {many(len(now), 'stage')}.",
        )
        yield (
            set(seen.late) <= {"stale_fence", "job_ended"},
            f"{many(len(seen.late), 'late message')} under a fence of before: all refused.",
        )
