"""The verbs of a worker but the last: claim, keep alive, commit a stage. (`settling` holds the last.)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta

from steadhold import context, events, fences
from steadhold.fences import Granted, Renewal, Wanted
from steadhold.jobs import model, moving, relying, stages
from steadhold.jobs.model import Count, Result
from steadhold.jobs.moving import SQL
from steadhold.jobs.outcomes import (
    Beat,
    Beaten,
    CheckpointConflict,
    Checkpointed,
    Claimed,
    Progress,
    StagesFull,
)
from steadhold.kit import limits
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import STAGES_MAX
from steadhold.kit.outcome import RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, each, operation, rows, single_operation
from steadhold.kit.rules import Fence, Id, Length, Moment, Reference, Uuid
from steadhold.kit.sql import Item, Row

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ALL_BYTES: Final = 2**62
UNLIMITED: Final[Mapping[str, int]] = MappingProxyType({})

Types: TypeAlias = Annotated[Sequence[Id], Meta(max_length=limits.CLAIM_TYPES_MAX)]
Claims: TypeAlias = Annotated[int, Meta(ge=1, le=limits.CLAIM_ITEMS_MAX)]

CheckpointOutcome: TypeAlias = (
    Checkpointed | CheckpointConflict | StagesFull | context.Unresolved | RevisionConflict | StaleFence
)


class Picked(msgspec.Struct, frozen=True, gc=False):
    """A ready job that this claim has locked, with the limits it counts towards."""

    id: str
    revision: int
    type: str
    concurrency_key: str | None
    type_max: int | None
    key_max: int
    lease_seconds: float
    fence: int

    def limits(self) -> Mapping[str, int]:
        """The keys of its slots, and how many each has."""
        if self.concurrency_key is None and self.type_max is None:
            return UNLIMITED
        limits: dict[str, int] = {}
        if self.concurrency_key is not None:
            limits[f"key:{self.concurrency_key}"] = 1 if self.concurrency_key.startswith(model.OURS) else self.key_max
        if self.type_max is not None:
            limits[f"type:{self.type}"] = self.type_max
        return limits


@single_operation
def claim(
    workspace: str,
    worker: Id,
    types: Types,
    limit: Claims,
    lease_seconds: Length | None = None,
    *,
    versions: Sequence[Id] = (),
    floor: Moment = EPOCH,
    key: Id | None = None,
    inputs_bytes_max: int = ALL_BYTES,
) -> Plan[list[Claimed]]:
    """Take up to `limit` ready jobs of these types, by priority (0 first), `run_at` and id; each under a new fence.

    `lease_seconds` may only shorten the lease of a job's configuration. Under the same `key` the claim answers
    what it still holds and takes nothing more. `floor` is a hint: jobs due before it are passed over, so whoever
    gives one also claims without it every few seconds. Inputs beyond `inputs_bytes_max` together are not in the
    answer: such a job has neither `input` nor `input_ref`, and is for `with_inputs`.
    """
    if key is not None and not (yield from rows(SQL.claim_once, workspace=workspace, key=key)):
        return (yield from _still_held(workspace, key))
    ask = {
        "workspace": workspace, "worker": worker, "types": list(dict.fromkeys(types)), "lease_seconds": lease_seconds,
        "versions": list(versions), "floor": floor, "key_max": model.DEFAULTS.concurrency.key_max,
        "inputs_bytes_max": inputs_bytes_max,
    }  # fmt: skip
    got: list[Claimed] = []
    while len(got) < limit:
        taken, picked = yield from _take(ask, limit - len(got))
        admitted = yield from _within_limits(workspace, picked)
        got += sorted(taken + (yield from _start(ask, admitted)), key=_turn) if picked else taken
        if len(admitted) == len(picked) or not (taken or admitted):
            break
    if key is not None and got:
        taken = {"jobs": [job.id for job in got], "fences": [job.fence for job in got]}
        yield from rows(SQL.claim_took, workspace=workspace, key=key, **taken)
    elif key is not None:
        yield from rows(SQL.claim_nothing, workspace=workspace, key=key)
    return got


def _take(ask: Item, places: int) -> Plan[tuple[list[Claimed], list[Picked]]]:
    """Start what counts towards no limit, and pick the others."""
    found = yield from rows(SQL.take, limit=places, **ask)
    started = [Claimed(*row[:-3]) for row in found if row[3] is not None]
    taken = yield from _filled(ask["workspace"], started)
    return taken, [_picked(row) for row in found if row[3] is None]


def _picked(row: Row) -> Picked:
    id, fence, length_seconds, _, revision, _, type = row[:7]
    concurrency_key, type_max, key_max = row[-3:]
    return Picked(id, revision, type, concurrency_key, type_max, key_max, length_seconds, fence)


def _turn(job: Claimed) -> tuple[int, datetime, str]:
    return job.priority, job.run_at, job.id


def _within_limits(workspace: str, picked: Sequence[Picked]) -> Plan[list[Picked]]:
    """Keep, in order, the jobs that find a slot under each of their limits."""
    limits = {key: allowed for job in picked for key, allowed in job.limits().items()}
    if not limits:
        return list(picked)
    items = [{"workspace": workspace, "key": key} for key in sorted(limits)]
    yield from each(SQL.turn, items)
    counted = yield from each(SQL.slots, items)
    free = {item["key"]: limits[item["key"]] - hand[0][0] for item, hand in zip(items, counted, strict=True)}
    kept: list[Picked] = []
    for job in picked:
        keys = job.limits()
        if all(free[key] > 0 for key in keys):
            kept.append(job)
            for key in keys:
                free[key] -= 1
    return kept


def _start(ask: Item, picked: Sequence[Picked]) -> Plan[list[Claimed]]:
    """Grant each job to the worker and move it; what was granted under which fence is its history's."""
    workspace, worker = ask["workspace"], ask["worker"]
    grants = yield from _grant(workspace, worker, picked)
    taken = [(job, grants[job.id]) for job in picked if job.id in grants]
    yield from each(SQL.occupy, [
        {"workspace": workspace, "key": key, "id": job.id, "fence": grant.fence}
        for job, grant in taken for key in job.limits()
    ])  # fmt: skip
    hands = yield from each(SQL.start, [_started(ask, job, grant) for job, grant in taken])
    got = [
        Claimed(job.id, grant.fence, grant.length_seconds, grant.until, *hand[0])
        for (job, grant), hand in zip(taken, hands, strict=True)
    ]
    yield from events.record(workspace, [
        moving.recorded(job.id, job.revision, "running", {
            "cause": "claim", "attempt": job.attempt, "fence": job.fence, "worker": worker})
        for job in got
    ])  # fmt: skip
    return (yield from _filled(workspace, got))


def _grant(workspace: str, worker: str, picked: Sequence[Picked]) -> Plan[dict[str, Granted]]:
    """Grant jobs to the worker, by their ids. What was never claimed has no grant that could stand in the way."""
    grants: dict[str, Granted] = {}
    fresh = [job for job in picked if not job.fence]
    if fresh:
        first = yield from fences.first(workspace, [_wanted(worker, job) for job in fresh])
        grants = {job.id: grant for job, grant in zip(fresh, first, strict=True)}
    others = [job for job in picked if job.fence]
    if others:
        again = yield from fences.grant(workspace, [_wanted(worker, job) for job in others])
        grants |= {job.id: grant for job, grant in zip(others, again, strict=True) if isinstance(grant, Granted)}
    return grants


def _wanted(worker: str, job: Picked) -> Wanted:
    return Wanted(moving.subject(job.id), worker, max(job.lease_seconds, 0.001))


def _started(ask: Item, job: Picked, grant: Granted) -> dict[str, Any]:
    return {
        "workspace": ask["workspace"],
        "worker": ask["worker"],
        "inputs_bytes_max": ask["inputs_bytes_max"],
        "id": job.id,
        "held": job.revision,
        "fence": grant.fence,
        "until": grant.until,
        "length_seconds": grant.length_seconds,
        "slotted": bool(job.limits()),
    }


def _filled(workspace: str, got: list[Claimed]) -> Plan[list[Claimed]]:
    """Add what most jobs lack, and no statement is asked for: a configuration of their own, and stages."""
    pinned = {(job.type, job.configuration_revision) for job in got if job.configuration_revision}
    resumed = [job for job in got if job.stage_count]
    if not pinned and not resumed:
        return got
    bodies = yield from moving.pinned_bodies(workspace, pinned)
    hands = yield from each(SQL.stages_of, [{"workspace": workspace, "root": job.root_job_id} for job in resumed])
    stages = {
        job.id: tuple((stage, digest) for stage, digest in hand) for job, hand in zip(resumed, hands, strict=True)
    }
    return [
        msgspec.structs.replace(
            job,
            configuration=bodies.get((job.type, job.configuration_revision)),
            stages=stages.get(job.id, ()),
        )
        for job in got
    ]


def _still_held(workspace: str, key: str) -> Plan[list[Claimed]]:
    """What an earlier claim under this key took, as far as its grants still run."""
    found = yield from rows(SQL.claim_holds, workspace=workspace, key=key)
    held: list[Claimed] = []
    for id, fence, *rest in found:
        grant = yield from fences.look(workspace, moving.subject(id))
        if grant is not None and grant.held and grant.until is not None and grant.fence == fence:
            held.append(Claimed(id, fence, grant.length_seconds, grant.until, *rest))
    return (yield from _filled(workspace, held))


@operation
def heartbeat_all(workspace: str, beats: Sequence[Beat]) -> Plan[list[Beaten | StaleFence]]:
    """Renew leases, one answer each. None outlives its attempt's timeout or its job's deadline; no revision rises."""
    hands = yield from each(SQL.beat, [{"workspace": workspace, "id": beat.id} for beat in beats])
    known = {beat.id: hand[0] for beat, hand in zip(beats, hands, strict=True) if hand}
    renewals = [Renewal(moving.subject(beat.id), beat.fence, known.get(beat.id, (False, None))[1]) for beat in beats]
    renewed = yield from fences.renew(workspace, renewals)
    answers: list[Beaten | StaleFence] = [
        answer
        if isinstance(answer, StaleFence)
        else Beaten(beat.id, answer.until, answer.server_time, known[beat.id][0])
        for beat, answer in zip(beats, renewed, strict=True)
    ]
    noted = [
        beat for beat, answer in zip(beats, answers, strict=True)
        if beat.progress is not None and isinstance(answer, Beaten)
    ]  # fmt: skip
    yield from moving.hold(workspace, [beat.id for beat in noted])
    yield from each(SQL.progress, [{"workspace": workspace, "id": b.id, "progress": b.progress} for b in noted])
    return answers


@operation
def heartbeat(workspace: str, id: Uuid, fence: Fence, progress: Progress | None = None) -> Plan[Beaten | StaleFence]:
    """Renew one lease. `progress` is exact JSON that the job shows."""
    return (yield from heartbeat_all.plan(workspace, [Beat(id, fence, progress)]))[0]


@operation
def checkpoint(
    workspace: str,
    id: Uuid,
    fence: Fence,
    stage: Id,
    result: Result | None = b"null",
    *,
    result_ref: Reference | None = None,
    input_digest: bytes | None = None,
    revision: Count | None = None,
) -> Plan[CheckpointOutcome]:
    """Commit a stage for ever. The same content again is the same checkpoint; other content is refused."""
    if stale := (yield from fences.require(workspace, [FenceRef(moving.subject(id), fence)])):
        return stale
    item = moving.stage_item(workspace, id, fence, stage, result, result_ref, input_digest)
    finds = yield from context.find(workspace, [result_ref or ""])
    wrote = False
    while True:
        held = (yield from moving.hold(workspace, [id])).get(id)
        if held is None or held.state != model.RUNNING or held.fence != fence:
            if wrote:
                yield from rows(SQL.unkeep, workspace=workspace, root=item["root"], stage=stage)
            return StaleFence(moving.subject(id))
        item["root"] = held.root
        if not wrote:
            if revision is not None and revision != held.revision:
                return RevisionConflict(held.revision)
            if kept := (yield from moving.stage_kept(workspace, held.root, stage)):
                return stages.again(kept, item, held.revision)
            if refused := StagesFull(id) if held.stages >= STAGES_MAX else context.unknown(finds, finds):
                return refused
            wrote = bool((yield from each(SQL.keep, [item]))[0])
        if wrote and (raised := (yield from moving.advance(workspace, held, stages=1))):
            yield from context.pin_found(workspace, finds, [(relying.of_line(held.root), text) for text in finds])
            return (yield from stages.committed(workspace, item, raised))
