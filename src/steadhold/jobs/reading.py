"""What jobs show of themselves. Nothing here locks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import msgspec

from steadhold.jobs import model, moving
from steadhold.jobs.model import Cancelled, Completed, Failed, Job, State
from steadhold.jobs.moving import SQL
from steadhold.jobs.outcomes import Checkpoint, Claimed
from steadhold.jobs.steering import Filter
from steadhold.kit.outcome import Missing
from steadhold.kit.page import Page, page
from steadhold.kit.plan import Plan, each, maybe, operation, rows
from steadhold.kit.rules import Bytes, Id, Limit, Uuid

LAST: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"


EFFECTS_SHOWN: Final = 1_000


@dataclass(frozen=True, slots=True)
class EffectOf:
    """An effect of a job, as its room says that it stands."""

    effect_id: str
    execution: str
    open: bool


@dataclass(frozen=True, slots=True)
class View:
    """A job as it was read: everything but its input and its result. The fields are columns of its row."""

    id: str
    state_code: int
    revision: int
    type: str
    configuration_revision: int
    root_job_id: str
    retry_of: str | None
    priority: int
    fence: int
    attempt: int
    attempts_max: int
    stages: int
    worker: str | None
    created_at: datetime
    run_at: datetime
    claimed_at: datetime | None
    timeout_at: datetime | None
    deadline_at: datetime | None
    ended_at: datetime | None
    evidence_not_before: datetime | None
    evidence_at: datetime | None
    unique_key: str | None
    concurrency_key: str | None
    tags: str | None
    correlation_id: str | None
    trace: str | None
    input_digest: bytes
    input_ref: str | None
    inputs: bytes | None
    awaits: bytes | None
    progress: bytes | None
    result_ref: str | None
    coverage: bytes | None
    error_code: str | None
    error_message: str | None
    error_class: str | None
    cancel_requested_at: datetime | None
    cancel_by: str | None
    cancel_reason: str | None
    effects: tuple[EffectOf, ...] = ()

    @property
    def state(self) -> State:
        """The name of its state."""
        return model.STATES[self.state_code]

    def job(self) -> Job:
        """The job as the union says it: what may be relied on in each state, and nothing else."""
        match self.state_code:
            case model.ACCEPTED:
                return model.Accepted(self.id)
            case model.RUNNING:
                return model.Running(self.id)
            case model.WAITING:
                return model.Waiting(self.id)
            case model.COMPLETED:
                assert self.result_ref is not None
                return Completed(self.id, self.result_ref)
            case model.FAILED:
                assert self.error_code is not None
                return Failed(self.id, self.error_code)
            case _:
                return Cancelled(self.id)


@dataclass(frozen=True, slots=True)
class Contents:
    """The bytes of a job: its input, and its result once it is completed; None where a reference names them."""

    input: bytes | None
    result: bytes | None
    result_ref: str | None
    input_digest: bytes


@operation
def get(workspace: str, id: Uuid) -> Plan[View | Missing]:
    """Read a job, with the effects of its line: its own, and those of the jobs that it retries or that retry it."""
    view = yield from maybe(SQL.look, View, workspace=workspace, id=id)
    return Missing() if view is None else (yield from _with_effects(workspace, [view]))[0]


def effects_of(workspace: str, roots: Sequence[str], limit: int = EFFECTS_SHOWN) -> Plan[dict[str, list[EffectOf]]]:
    """The effects of lines of jobs, by the job with which each began; those that are open first."""
    items = [{"workspace": workspace, "of": moving.subject(root), "limit": limit} for root in roots]
    hands = yield from each(SQL.effects_of, items)
    return {root: [EffectOf(*row) for row in hand] for root, hand in zip(roots, hands, strict=True)}


def _with_effects(workspace: str, views: Sequence[View]) -> Plan[list[View]]:
    found = yield from effects_of(workspace, list(dict.fromkeys(view.root_job_id for view in views)))
    return [replace(view, effects=tuple(found[view.root_job_id])) for view in views]


@operation
def contents(workspace: str, id: Uuid) -> Plan[Contents | Missing]:
    """Read a job's input and result, byte for byte."""
    return (yield from maybe(SQL.bytes_of, Contents, workspace=workspace, id=id)) or Missing()


@operation
def with_inputs(workspace: str, claimed: Sequence[Claimed]) -> Plan[list[Claimed]]:
    """Add inputs that a claim left out. It needs a transaction of its own: while its answer waits for whoever asked,
    which may have been halted, nothing is locked.
    """
    left_out = [job for job in claimed if job.input is None and job.input_ref is None]
    hands = yield from each(SQL.inputs, [{"workspace": workspace, "id": job.id} for job in left_out])
    found = {job.id: hand[0][0] for job, hand in zip(left_out, hands, strict=True) if hand}
    return [msgspec.structs.replace(job, input=found[job.id]) if job.id in found else job for job in claimed]


@operation
def jobs(workspace: str, which: Filter, before: Uuid | None, limit: Limit) -> Plan[Page[View]]:
    """List jobs, the newest first, before an id."""
    found = yield from rows(
        SQL.page,
        workspace=workspace,
        before=before or LAST,
        state=None if which.state is None else model.STATES.index(which.state),
        type=which.type,
        unique_key=which.unique_key,
        tag=which.tag,
        created_after=which.created_after,
        created_before=which.created_before,
        limit=limit + 1,
    )
    views = yield from _with_effects(workspace, [View(*row) for row in found])
    return page(views, limit, "jobs", lambda view: (view.id,))


@operation
def checkpoints(
    workspace: str, id: Uuid, after: str, limit: Limit, *, bytes_max: Bytes | None = None
) -> Plan[Page[Checkpoint] | Missing]:
    """List the committed stages that a job sees, its own and those of the jobs it retries, by name.

    With `bytes_max` a page ends with the stage that brings their results to it.
    """
    view = yield from maybe(SQL.look, View, workspace=workspace, id=id)
    if view is None:
        return Missing()
    asked = {"root": view.root_job_id, "after": after, "limit": limit + 1, "bytes": bytes_max}
    found = yield from rows(SQL.stages_page, workspace=workspace, **asked)
    stages = [Checkpoint(*row) for *row, _ in found]
    cut = bool(found) and found[0][-1] > len(found)
    return page(stages, limit, "checkpoints", lambda stage: (stage.stage,), cut=cut)


@operation
def checkpoint_of(workspace: str, id: Uuid, stage: Id) -> Plan[Checkpoint | Missing]:
    """Read one committed stage."""
    view = yield from maybe(SQL.look, View, workspace=workspace, id=id)
    if view is None:
        return Missing()
    return (yield from moving.stage_kept(workspace, view.root_job_id, stage)) or Missing()
