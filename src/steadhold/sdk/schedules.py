"""schedules: one logical run for each instant, whatever restarts, edits and servers there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

import msgspec

from steadhold.kit import exact
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.schedule_shapes import Backfill, Covered, Preview, PreviewItem, Run, Schedule, Window
from steadhold.sdk.words import (
    UNSET,
    Unset,
    an_id,
    at,
    change,
    guarded,
    if_match,
    instant,
    members,
    pages,
    put_if,
    raw_json,
    read,
)

__all__ = ["Backfill", "Covered", "Preview", "PreviewItem", "Run", "Schedule", "SchedulesRoom", "When", "Window"]

Gap: TypeAlias = Literal["run_after", "skip"]
Fold: TypeAlias = Literal["first", "second", "both"]
Policy: TypeAlias = Literal["skip", "latest", "all"]
Overlap: TypeAlias = Literal["skip", "coalesce", "enqueue"]


class When(TypedDict, total=False):
    """When a schedule is due: as the arguments of `put` that have these names."""

    cron: str | None
    time_zone: str | None
    every_seconds: int | None
    at: datetime | None
    gap: Gap | None
    fold: Fold | None
    missed: Policy | None
    window_seconds: int | None
    max_runs: int | None
    starts_at: datetime | None
    ends_at: datetime | None
    paused: bool


class SchedulesRoom(Room[Mode]):
    """`client.schedules`."""

    @verb
    def put(
        self,
        id: str,
        job_type: str,
        input: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        input_ref: str | None = None,
        inputs: Sequence[str] = (),
        priority: int | None = None,
        deadline_seconds: float | None = None,
        tags: Sequence[str] = (),
        cron: str | None = None,
        time_zone: str | None = None,
        every_seconds: int | None = None,
        at: datetime | None = None,
        gap: Gap | None = None,
        fold: Fold | None = None,
        missed: Policy | None = None,
        window_seconds: int | None = None,
        max_runs: int | None = None,
        overlap: Overlap | None = None,
        sequential: bool = False,
        jitter_seconds: int | None = None,
        starts_at: datetime | None = None,
        ends_at: datetime | None = None,
        paused: bool = False,
        freshness_seconds: int | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Schedule]:
        """Submit a job at each instant: of `cron` in a `time_zone`, `every_seconds`, or once `at` a moment.

        Without `if_revision` it creates. The same again changes nothing. What is left out has its default.

        Raises:
            RevisionConflict: it has another revision, or (creating) there is one. StaleFence, OutcomeUnknown.
            Problem: `bad_cron`, `bad_time_zone`, `bad_schedule`, `never_due`. ValueError: `id` is no Id.
        """
        job = members(
            type=job_type,
            input=_input(input, raw),
            input_ref=input_ref,
            inputs=list(inputs) or None,
            priority=priority,
            deadline_seconds=deadline_seconds,
            tags=list(tags) or None,
        )
        spec = _spec(
            {"job": job}, overlap=overlap, sequential=sequential or None, jitter_seconds=jitter_seconds,
            freshness_seconds=freshness_seconds, cron=cron, time_zone=time_zone, every_seconds=every_seconds, at=at,
            gap=gap, fold=fold, missed=missed, window_seconds=window_seconds, max_runs=max_runs, starts_at=starts_at,
            ends_at=ends_at, paused=paused,
        )  # fmt: skip
        return (yield from _put(id, spec, if_revision, fences, operation_id))

    @verb
    def put_event(
        self,
        id: str,
        inbox: str,
        type: str,
        data: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        schema_version: int | None = None,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
        **when: Unpack[When],
    ) -> Script[Schedule]:
        """Send an event to an inbox at each instant; `data` come as the member of that name of the event's own.

        Raises:
            RevisionConflict, StaleFence, OutcomeUnknown, Problem: as for `put`, and `target_unknown`: there is no
            such inbox. ValueError: `id` is no Id.
        """
        event = members(inbox=inbox, type=type, schema_version=schema_version, data=_input(data, raw))
        return (yield from _put(id, _spec({"inbox": event}, **when), if_revision, fences, operation_id))

    @verb
    def put_spec(
        self,
        id: str,
        spec: Mapping[str, Any] | bytes,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Schedule]:
        """As `put`, with the members as the server reads them, or their JSON: `get(id).spec` with a change, say.

        Raises:
            RevisionConflict, StaleFence, OutcomeUnknown, Problem: as for `put`.
        """
        body = spec if isinstance(spec, bytes) else exact.encode(dict(spec))
        return (yield from _put(id, body, if_revision, fences, operation_id))

    @verb
    def get(self, id: str) -> Script[Schedule]:
        """Read a schedule.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", at("schedules", id))), Schedule)

    @flow
    def list(self) -> Stream[Schedule]:
        """Every schedule, by id."""
        yield from pages(lambda cursor: at("schedules", cursor=cursor), Schedule)

    @verb
    def delete(
        self, id: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[int]:
        """Delete revision `if_revision`; answers the deletion's own. What was due before is recorded and runs.

        Raises:
            NotFound: there is none. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        headers = if_match(if_revision)
        target = at("schedules", id)
        return (yield change("DELETE", target, operation_id=operation_id, fences=fences, headers=headers)).revision

    @verb
    def preview(self, id: str, *, start: datetime | None = None, count: int | None = None) -> Script[Preview]:
        """The next instants from `start` or from now on, with what a change of the clock moves or leaves out.

        Raises:
            NotFound: there is none.
        """
        said: dict[str, Any] = {"from": start, "count": count}  # `from` is no name in Python
        return read((yield Send("GET", at("schedules", id, "preview", **said))), Preview)

    @flow
    def runs(self, id: str) -> Stream[Run]:
        """What became of its instants, the newest first; of a deleted schedule, too."""
        yield from pages(lambda cursor: at("schedules", id, "runs", cursor=cursor), Run)

    @verb
    def trigger(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Run]:
        """Run now, as far as overlap allows; the answer says what came of it.

        Raises:
            NotFound: there is none. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        return (yield from guarded(at("schedules", id, "trigger"), None, Run, fences, operation_id, if_revision))

    @verb
    def backfill(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Backfill]:
        """Run the instants from `start` on and before `end` that nothing was recorded of.

        Raises:
            NotFound: there is none. RevisionConflict, StaleFence, OutcomeUnknown.
            Problem: `backfill_too_large`, `runs_pruned`.
        """
        body = {"from": instant(start), "to": instant(end)}
        return (yield from guarded(at("schedules", id, "backfill"), body, Backfill, fences, operation_id, if_revision))

    @verb
    def pause(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Schedule]:
        """Let no instant run any more; what waits goes on.

        Raises:
            NotFound: there is none. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        return (yield from guarded(at("schedules", id, "pause"), None, Schedule, fences, operation_id, if_revision))

    @verb
    def resume(
        self,
        id: str,
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Schedule]:
        """Let instants run again from now on; those of the pause are skipped.

        Raises:
            NotFound: there is none. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        return (yield from guarded(at("schedules", id, "resume"), None, Schedule, fences, operation_id, if_revision))


def _spec(target: Mapping[str, Any], **said: Any) -> dict[str, Any]:
    """The members of a spec; the moments among them as they are sent."""
    dst = members(gap=said.pop("gap", None), fold=said.pop("fold", None))
    late = {"missed": "policy", "window_seconds": "window_seconds", "max_runs": "max_runs"}
    missed = members(**{name: said.pop(word, None) for word, name in late.items()})
    moments = {name: _moment(said.pop(name, None)) for name in ("at", "starts_at", "ends_at")}
    paused = said.pop("paused", False) or None
    return members(dst=dst or None, missed=missed or None, paused=paused, target=target, **moments, **said)


def _input(value: JsonValue | Unset, raw: bytes | None) -> msgspec.Raw | None:
    return None if isinstance(value, Unset) and raw is None else msgspec.Raw(raw_json(value, raw))


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else instant(moment)


def _put(
    id: str,
    spec: Mapping[str, Any] | bytes,
    if_revision: int | None,
    fences: Sequence[FenceRef],
    operation_id: str | None,
) -> Script[Schedule]:
    target = at("schedules", an_id(id))
    got = yield change("PUT", target, spec, operation_id=operation_id, fences=fences, headers=put_if(if_revision))
    return read(got, Schedule)
