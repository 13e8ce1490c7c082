"""The door over HTTP: a worker's verbs through the SDK, and their answers as the jobs plans would give them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeVar, assert_never

import msgspec
from msgspec.structs import asdict

from steadhold import AsyncClient, Problem, SteadholdError
from steadhold.context import Unresolved
from steadhold.jobs.model import Complete, ConfirmCancel, Fail, Release, Said, Settlement, Wait
from steadhold.jobs.outcomes import (
    Beat,
    Beaten,
    CancelNotRequested,
    CancelStands,
    Checkpoint,
    CheckpointConflict,
    Checkpointed,
    Claimed,
    EvidenceRequired,
    JobEnded,
    NothingToAwait,
    Settled,
    StagesFull,
    StaleEvidence,
)
from steadhold.jobs.plans import EPOCH, CheckpointOutcome
from steadhold.jobs.settling import SettleOutcome
from steadhold.jobs.waiting import named
from steadhold.kit.limits import CLAIM_ITEMS_MAX
from steadhold.kit.outcome import Missing, StaleFence
from steadhold.worker.door import Ask, DoorRefused, DoorShut, Jammed, Stage
from steadhold.worker.effects_door import EffectsDoor
from steadhold.worker.effects_over_http import EffectsOverHttp

T = TypeVar("T")

GIVE_UP_SECONDS: Final = 5.0
"""The SDK's own tries of one request; whoever asked tries again as long as the lease stands."""

REFUSED: Final[Mapping[str, Callable[[str, Any], SettleOutcome]]] = {
    "stale_fence": lambda job_id, _: StaleFence(f"job:{job_id}"),
    "job_ended": lambda job_id, item: JobEnded(job_id, item.state or "completed"),
    "cancel_requested": lambda job_id, _: CancelStands(job_id),
    "cancel_not_requested": lambda job_id, _: CancelNotRequested(job_id),
    "evidence_required": lambda _job_id, _: EvidenceRequired(EPOCH),
    "stale_evidence": lambda _job_id, _: StaleEvidence(EPOCH),
    "unknown_subject": lambda _job_id, item: NothingToAwait(item.detail or "such thing"),
    "unknown_reference": lambda _job_id, item: Unresolved(item.detail or ""),
    "stages_full": lambda job_id, _: StagesFull(job_id),
    "not_found": lambda _job_id, _: Missing(),
}


class OverHttp:
    """Claims wait at the server. Verbs answer for themselves, so a lost answer is asked for again."""

    wakes = True
    claim_max = CLAIM_ITEMS_MAX

    def __init__(self, client: AsyncClient) -> None:
        self._client, self._jobs = client, client.jobs
        self.effects: EffectsDoor = EffectsOverHttp(client, _asked)

    async def claim(self, ask: Ask) -> list[Claimed]:
        """Take jobs, waiting for some. A lost answer is found again under the claim's key."""
        asked = self._jobs.claim(
            ask.worker,
            ask.types,
            versions=ask.versions,
            limit=ask.limit,
            lease_seconds=ask.lease_seconds,
            wait_seconds=ask.wait_seconds,
            give_up_seconds=GIVE_UP_SECONDS,
            operation_id=ask.key,
        )
        try:
            return [_claimed(job) for job in await _asked(asked)]
        except Problem as problem:
            raise DoorRefused(str(problem)) from problem

    async def heartbeat_many(self, beats: Sequence[Beat]) -> Sequence[Beaten | StaleFence]:
        """Renew leases."""
        grants = [(beat.id, beat.fence, beat.progress) for beat in beats]
        items = await _asked(self._jobs.heartbeat_many(grants, give_up_seconds=GIVE_UP_SECONDS))
        return [_beaten(beat, item) for beat, item in zip(beats, items, strict=True)]

    async def checkpoint(self, stage: Stage) -> CheckpointOutcome:
        """Commit a stage."""
        asked = self._jobs.checkpoint(
            stage.id,
            stage.name,
            stage.fence,
            raw=stage.result,
            input_digest=None if stage.input_digest is None else stage.input_digest.hex(),
            give_up_seconds=GIVE_UP_SECONDS,
        )
        try:
            kept = await _asked(asked)
        except Problem as problem:
            match problem.code:
                case "stale_fence" | "not_found":
                    return StaleFence(f"job:{stage.id}")
                case "checkpoint_conflict":
                    return CheckpointConflict(stage.name, bytes.fromhex(str(problem.extras.get("digest", ""))))
                case "stages_full":
                    return StagesFull(stage.id)
                case _:
                    raise
        return Checkpointed(stage.name, bytes.fromhex(kept.digest), kept.result_ref or "", kept.revision or 0)

    async def stage(self, id: str, name: str) -> Checkpoint | Missing:
        """Read a committed stage."""
        try:
            kept = await _asked(self._jobs.checkpoint_of(id, name))
        except Problem as problem:
            if problem.code != "not_found":
                raise
            return Missing()
        return Checkpoint(
            kept.stage,
            bytes.fromhex(kept.digest),
            None if kept.input_digest is None else bytes.fromhex(kept.input_digest),
            _bytes(kept.raw),
            kept.result_ref or "",
            kept.fence or 0,
            kept.job_id or id,
            kept.committed_at or EPOCH,
        )

    async def settle_many(self, settlements: Sequence[Settlement], *, patient: bool = False) -> Sequence[SettleOutcome]:
        """Settle, one answer each. How long a row that is held is waited for, the server decides."""
        del patient
        items = [{"job_id": s.id, "fence": s.fence, "outcome": _outcome(s.said)} for s in settlements]
        answers = await _asked(self._jobs.settle_many(items, give_up_seconds=GIVE_UP_SECONDS))
        return [_settled(s.id, answer) for s, answer in zip(settlements, answers, strict=True)]

    async def listen(self, woken: Callable[[str], None]) -> None:
        """Nothing to listen to: the server answers a waiting claim as soon as there is something."""
        del woken
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()


async def _asked(answer: Awaitable[T]) -> T:
    try:
        return await answer
    except Problem as problem:
        if problem.code == "busy":
            raise Jammed(str(problem)) from problem
        if problem.next in {"resend", "wait"} or problem.status >= 500:
            raise DoorShut(str(problem)) from problem
        raise
    except SteadholdError as error:
        raise DoorShut(str(error)) from error


def _bytes(raw: msgspec.Raw) -> bytes | None:
    return bytes(raw) or None


def _claimed(job: Any) -> Claimed:
    return Claimed(
        job.job_id,
        job.fence,
        job.lease_seconds,
        job.lease_expires_at,
        job.revision,
        job.root_job_id or job.job_id,
        job.type,
        job.configuration_revision,
        job.attempt,
        job.priority,
        len(job.stages),
        _bytes(job.input_raw),
        job.input_ref,
        bytes.fromhex(job.input_digest or ""),
        None if job.inputs is None else msgspec.json.encode(job.inputs),
        job.run_at or EPOCH,
        job.deadline_at,
        job.timeout_at,
        job.evidence_not_before,
        job.correlation_id,
        job.trace,
        None if job.configuration is None else msgspec.json.encode(job.configuration),
        tuple((kept.stage, bytes.fromhex(kept.digest)) for kept in job.stages),
    )


def _beaten(beat: Beat, item: Any) -> Beaten | StaleFence:
    if not item.ok:
        return StaleFence(f"job:{beat.id}")
    return Beaten(beat.id, item.lease_expires_at, item.server_time, bool(item.cancel_requested))


def _settled(id: str, item: Any) -> SettleOutcome:
    if item.ok:
        return Settled(id, item.state, item.revision or 0, item.run_at, _bytes(item.raw))
    if item.code in REFUSED:
        return REFUSED[item.code](id, item)
    if item.status >= 500 or item.status == 429:
        raise DoorShut(f"{item.status} {item.code}: {item.detail}")
    raise ValueError(f"What job {id} came to was refused: {item.status} {item.code}: {item.detail}")


def _outcome(said: Said) -> dict[str, Any]:
    """What a worker says, as it is said on the wire."""
    match said:
        case Complete():
            kept: dict[str, Any] = {"state": "completed"}
            if said.result_ref is not None:
                kept["result_ref"] = said.result_ref
            else:
                kept["result"] = msgspec.Raw(said.result or b"null")
            if said.coverage is not None:
                kept["coverage"] = {k: v for k, v in asdict(said.coverage).items() if v is not None}
            if said.evidence_at is not None:
                kept["evidence_at"] = said.evidence_at
            return kept
        case Fail(code, message, klass):
            return {"state": "failed", "error_code": code, "message": message, "class": klass}
        case ConfirmCancel():
            return {"state": "cancelled"}
        case Release(after_seconds):
            return {"state": "accepted", "after_seconds": after_seconds}
        case Wait(stage, awaited, until):
            waiting = {"state": "waiting", "stage": stage, "for": named(awaited)}
            return waiting if until is None else {**waiting, "until": until}
        case _:
            assert_never(said)
