"""jobs: what a worker says. All of it answers for itself: said again, with the same content, it answers the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

import msgspec

from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, verb
from steadhold.sdk.job_shapes import Beat, Checkpoint, Claimed, Class, Coverage, Item, Settled
from steadhold.sdk.words import UNSET, Unset, at, change, if_match, instant, members, raw_json, read

T = TypeVar("T")
Renewal: TypeAlias = tuple[str, int] | tuple[str, int, bytes | None]
"""A lease to renew: the job's id and the fence, and the job's progress as JSON bytes where there is any to tell."""


class _Jobs(msgspec.Struct):
    jobs: list[Claimed]


class _Items(msgspec.Struct):
    outcomes: list[Item]


class Work(Room[Mode]):
    """The verbs of whoever holds a job's fence.

    Each may raise `StaleFence` (the job is another's now: stop), `JobEnded`, `NotFound` and `OutcomeUnknown`.
    `give_up_seconds` bounds the retries of one call, for those who must not hang on to a lease.
    """

    @verb
    def claim(
        self,
        worker: str,
        types: Sequence[str],
        *,
        versions: Sequence[str] = (),
        limit: int = 1,
        lease_seconds: float | None = None,
        wait_seconds: float = 0.0,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[list[Claimed]]:
        """Take up to `limit` jobs of these types, waiting up to `wait_seconds` (at most 30) for the first.

        A lost answer is asked for again under the same operation id, and gives what is still held under it.
        """
        body = members(
            worker=worker, types=list(types), versions=list(versions) or None, limit=limit,
            lease_seconds=lease_seconds, wait_seconds=wait_seconds or None,
        )  # fmt: skip
        target = at("jobs:claim")
        found = yield from _said(target, body, _Jobs, fences, operation_id, give_up_seconds, wait_seconds=wait_seconds)
        return found.jobs

    @verb
    def heartbeat(
        self,
        job_id: str,
        fence: int,
        *,
        progress: JsonValue | Unset = UNSET,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Beat]:
        """Renew the lease of a job, and learn whether somebody asked to cancel it. `progress` is shown to readers."""
        body = {"fence": fence, **_json("progress", progress, None)}
        target = at("jobs", job_id, "heartbeat")
        return (yield from _said(target, body, Beat, fences, operation_id, give_up_seconds))

    @verb
    def heartbeat_many(
        self,
        grants: Sequence[Renewal],
        *,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[list[Item]]:
        """Renew many leases, with an outcome each."""
        body = {"items": [_beat(grant) for grant in grants]}
        return (yield from _said(at("jobs:heartbeat"), body, _Items, fences, operation_id, give_up_seconds)).outcomes

    @verb
    def checkpoint(
        self,
        job_id: str,
        stage: str,
        fence: int,
        result: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        result_ref: str | None = None,
        input_digest: str | None = None,
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Checkpoint]:
        """Commit a stage for good. The same content again is the same checkpoint.

        Raises:
            CheckpointConflict: the stage is committed with other content.
        """
        body = members(fence=fence, result_ref=result_ref, input_digest=input_digest, **_json("result", result, raw))
        target = at("jobs", job_id, "checkpoints", stage)
        return (
            yield from _said(
                target, body, Checkpoint, fences, operation_id, give_up_seconds, method="PUT", if_revision=if_revision
            )
        )

    @verb
    def complete(
        self,
        job_id: str,
        fence: int,
        result: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        result_ref: str | None = None,
        coverage: Coverage | None = None,
        evidence_at: datetime | None = None,
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Settled]:
        """End a job: its computation is done. Without any result, it is null.

        Raises:
            EvidenceFault: the job says how old its evidence may be; `evidence_at` is the oldest that was used.
        """
        if raw is None and result_ref is None and isinstance(result, Unset):
            result = None
        outcome = members(
            state="completed", result_ref=result_ref, coverage=coverage,
            evidence_at=None if evidence_at is None else instant(evidence_at), **_json("result", result, raw),
        )  # fmt: skip
        return (yield from _settle(job_id, fence, outcome, give_up_seconds, operation_id, if_revision, fences))

    @verb
    def fail(
        self,
        job_id: str,
        fence: int,
        error_code: str,
        message: str = "",
        *,
        klass: Class = "transient",
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Settled]:
        """Say that the attempt failed. `klass` decides whether there is another, and the answer says so."""
        outcome = {"state": "failed", "error_code": error_code, "message": message, "class": klass}
        return (yield from _settle(job_id, fence, outcome, give_up_seconds, operation_id, if_revision, fences))

    @verb
    def confirm_cancel(
        self,
        job_id: str,
        fence: int,
        *,
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Settled]:
        """Say that the work stopped, as somebody asked."""
        outcome = {"state": "cancelled"}
        return (yield from _settle(job_id, fence, outcome, give_up_seconds, operation_id, if_revision, fences))

    @verb
    def wait_for(
        self,
        job_id: str,
        fence: int,
        stage: str,
        awaited: Mapping[str, Any],
        *,
        until: datetime | None = None,
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Settled]:
        """Hand a job back until a fact holds; what happened becomes checkpoint `stage`.

        `awaited` is one of {"timer": seconds}, {"signal": name}, {"job": id}, {"approval": id}, {"inbox": name,
        "after": {"epoch", "sequence"}, "match"?: {"type"?, "aggregate_id"?, "correlation_id"?}} and others that
        capabilities list.
        Where the fact holds already, the answer's state is "running" and `woke` says what happened.

        Raises:
            CancelRequested: the job is still running; stop the work and confirm.
        """
        outcome = members(
            state="waiting", stage=stage, until=None if until is None else instant(until), **{"for": dict(awaited)}
        )
        return (yield from _settle(job_id, fence, outcome, give_up_seconds, operation_id, if_revision, fences))

    @verb
    def release(
        self,
        job_id: str,
        fence: int,
        *,
        after_seconds: float = 0.0,
        if_revision: int | None = None,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Settled]:
        """Hand a job back untouched, to be run after some seconds. Costs no attempt."""
        outcome = members(state="accepted", after_seconds=after_seconds or None)
        return (yield from _settle(job_id, fence, outcome, give_up_seconds, operation_id, if_revision, fences))

    @verb
    def settle_many(
        self,
        items: Sequence[Mapping[str, Any]],
        *,
        give_up_seconds: float | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[list[Item]]:
        """Settle many jobs, each {"job_id", "fence", "outcome"} as on the wire, with an outcome each."""
        body = {"items": [dict(item) for item in items]}
        return (yield from _said(at("jobs:settle"), body, _Items, fences, operation_id, give_up_seconds)).outcomes


def _beat(grant: Renewal) -> dict[str, Any]:
    progress = grant[2] if len(grant) == 3 else None
    return {"job_id": grant[0], "fence": grant[1], **_json("progress", UNSET, progress)}


def _settle(
    job_id: str,
    fence: int,
    outcome: Mapping[str, Any],
    give_up_seconds: float | None,
    operation_id: str | None,
    if_revision: int | None,
    fences: Sequence[FenceRef],
) -> Script[Settled]:
    body, target = {"fence": fence, "outcome": outcome}, at("jobs", job_id, "settle")
    return (yield from _said(target, body, Settled, fences, operation_id, give_up_seconds, if_revision=if_revision))


def _said(
    target: str,
    body: Mapping[str, Any],
    into: type[T],
    fences: Sequence[FenceRef],
    operation_id: str | None,
    give_up_seconds: float | None,
    *,
    method: str = "POST",
    wait_seconds: float = 0.0,
    if_revision: int | None = None,
) -> Script[T]:
    sent = change(
        method, target, body, operation_id=operation_id, identity="own", wait_seconds=wait_seconds,
        give_up_seconds=give_up_seconds, fences=fences, headers=if_match(if_revision),
    )  # fmt: skip
    return read((yield sent), into)


def _json(name: str, value: JsonValue | Unset, raw: bytes | None) -> dict[str, msgspec.Raw]:
    """A member of user JSON, byte for byte, or none."""
    if raw is None and isinstance(value, Unset):
        return {}
    return {name: msgspec.Raw(raw_json(value, raw))}
