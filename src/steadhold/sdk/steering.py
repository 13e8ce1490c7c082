"""jobs: cancelling, retrying and telling them something."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, verb
from steadhold.sdk.job_shapes import Cancelling, Counted, Submitted
from steadhold.sdk.words import UNSET, Unset, at, change, guarded, if_match, made, members, raw_json, read


class Steering(Room[Mode]):
    """The verbs of whoever steers jobs from outside."""

    @verb
    def cancel(
        self,
        job_id: str,
        *,
        reason: str | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Cancelling]:
        """Cancel a job, or ask its worker to: `requested` may still lose to completion. Saying it again is harmless."""
        body = members(reason=reason)
        condition = if_match(if_revision)
        sent = change(
            "POST", at("jobs", job_id, "cancel"), body, fences=fences, operation_id=operation_id, headers=condition
        )
        return read((yield sent), Cancelling)

    @verb
    def retry(
        self,
        job_id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Submitted]:
        """Submit an ended job anew, with its configuration, inputs and committed checkpoints.

        Raises:
            JobNotEnded. KeyConflict: another job holds its `unique_key`. NotEntitled, QueueFull. OutcomeUnknown.
        """
        condition = if_match(if_revision)
        sent = change(
            "POST", at("jobs", job_id, "retry"), {}, fences=fences, operation_id=operation_id, headers=condition
        )
        return read((yield sent), Submitted)

    @verb
    def signal(
        self,
        job_id: str,
        name: str,
        data: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[None]:
        """Tell a job something. It is kept until the job waits for this name.

        Raises:
            JobEnded. Problem "signals_full": the job keeps as many as it may. OutcomeUnknown.
        """
        body: dict[str, Any] = {"name": name}
        if raw is not None or not isinstance(data, Unset):
            body["data"] = msgspec.Raw(raw_json(data, raw))
        yield from made(
            change("POST", at("jobs", job_id, "signal"), body, fences=fences, operation_id=operation_id), 202
        )

    @verb
    def cancel_many(
        self,
        filter: Mapping[str, Any],
        *,
        expect_count: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Counted]:
        """Cancel all jobs that match, if they are `expect_count`; without it, only count them.

        Raises:
            CountChanged. OutcomeUnknown.
        """
        body = members(filter=dict(filter), expect_count=expect_count)
        return (yield from guarded(at("jobs:cancel"), body, Counted, fences, operation_id))

    @verb
    def retry_many(
        self,
        filter: Mapping[str, Any],
        *,
        expect_count: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Counted]:
        """Retry all jobs that match, if they are `expect_count`; without it, only count them.

        Raises:
            CountChanged. OutcomeUnknown.
        """
        body = members(filter=dict(filter), expect_count=expect_count)
        return (yield from guarded(at("jobs:retry"), body, Counted, fences, operation_id))
