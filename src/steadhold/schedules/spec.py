"""What a schedule is told to do, and when: its spec, the cadence that it says, and what of a run follows from it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from uuid import UUID, uuid5

import msgspec

from steadhold.kit.ids import uuid7
from steadhold.kit.limits import MISSED_RUNS_MAX
from steadhold.schedules import cron, instants
from steadhold.schedules.instants import ByCron, Cadence, Every, Fold, Gap, Instant, Once
from steadhold.schedules.zones import EPOCH

Policy: TypeAlias = Literal["skip", "latest", "all"]
Overlap: TypeAlias = Literal["skip", "coalesce", "enqueue"]

TICK: Final = timedelta(microseconds=1)
"""The smallest step of a clock: instants are asked for behind or before one."""

REMEMBERED_BYTES_MAX: Final = 2_048

TRIGGERS: Final = UUID("6f2b1f0e-3c1d-5a83-9d0c-8a5be2f4c7d1")


class Job(msgspec.Struct, frozen=True):
    """The job that each run submits. `input` is exact JSON, or `input_ref` names it."""

    type: str
    input: bytes | None = b"null"
    input_ref: str | None = None
    inputs: tuple[str, ...] = ()
    priority: int = 5
    deadline_seconds: float | None = None
    tags: tuple[str, ...] = ()


class Event(msgspec.Struct, frozen=True):
    """The event that each run sends to an inbox: beside what it says of its run, `data`, which are exact JSON bytes."""

    inbox: str
    type: str
    data: bytes = b"null"
    schema_version: int = 1


class Unfit(ValueError):
    """A member of a spec does not fit the others; `code` is how the doors call it, `more` what they say beside."""

    def __init__(self, member: str, why: str, code: str = "bad_schedule", **more: object) -> None:
        super().__init__(why)
        self.member, self.code, self.more = member, code, more


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """When and what: a job, or an event, which says overlap "enqueue" and nothing that is about jobs. Exactly one of
    `cron` (with a time zone), `every_seconds` and `at`; instants are whole seconds.

    Instants lie from `starts_at` on and before `ends_at`; an interval is counted from `starts_at`, or from 1970.
    """

    job: Job | None = None
    event: Event | None = None
    cron: str | None = None
    every_seconds: int | None = None
    at: datetime | None = None
    time_zone: str | None = None
    gap: Gap = "run_after"
    fold: Fold = "first"
    missed: Policy = "latest"
    window_seconds: int = 3_600
    max_runs: int = MISSED_RUNS_MAX
    overlap: Overlap = "coalesce"
    sequential: bool = False
    jitter_seconds: int = 0
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    paused: bool = False
    freshness_seconds: int | None = None

    def __post_init__(self) -> None:
        """Refuse a spec whose target it does not fit."""
        if (self.job is None) == (self.event is None):
            raise Unfit("target", "A schedule starts a job, or sends an event: say exactly one of them.")
        if self.event is None:
            return
        if self.event.type.startswith("schedule."):
            raise Unfit("target/inbox/type", "Types that begin with schedule. tell of runs: choose another.")
        if self.overlap != "enqueue":
            raise Unfit("overlap", 'An event has no end that another could wait for: its overlap is "enqueue".')
        for name in ("sequential", "jitter_seconds", "freshness_seconds"):
            if getattr(self, name):
                raise Unfit(name, f"{name} is about jobs: leave it out where a run is an event.")

    @property
    def one_at_a_time(self) -> bool:
        """Whether its jobs wait for each other under the schedule's own concurrency key."""
        return self.overlap == "coalesce" or self.sequential


class NotKnownHere(ValueError):
    """A spec that a server of another version, or with other zone tables, has taken."""


def stored(spec: Spec) -> bytes:
    """The bytes that a spec is kept as."""
    return msgspec.json.encode(spec)


def read(body: bytes) -> Spec:
    """The spec that these bytes are. Small ones are remembered; the others would fill the memory."""
    return _read(body) if len(body) <= REMEMBERED_BYTES_MAX else _decode(body)


_decode: Final = msgspec.json.Decoder(Spec).decode
_read: Final = lru_cache(maxsize=16_384)(_decode)


def cadence(spec: Spec) -> Cadence:
    """What a spec says of its instants.

    Raises:
        NotKnownHere: its expression or its time zone is none in this version; the doors find that before it is stored.
    """
    return _cadence(spec.cron, spec.time_zone, spec.gap, spec.fold, spec.every_seconds, spec.starts_at, spec.at)


@lru_cache(maxsize=4_096)
def _cadence(
    text: str | None,
    zone: str | None,
    gap: Gap,
    fold: Fold,
    every: int | None,
    start: datetime | None,
    at: datetime | None,
) -> Cadence:
    if text is not None:
        parsed, where = cron.parse(text), instants.zone(zone or "")
        if isinstance(parsed, cron.CronFault):
            raise NotKnownHere(parsed.why)
        if isinstance(where, instants.ZoneFault):
            raise NotKnownHere(where.why)
        return ByCron(parsed, where, gap, fold)
    if every is not None:
        return Every(every, start or EPOCH)  # so that it falls on whole hours and days
    if at is None:
        raise ValueError("a schedule says cron, every_seconds or at")
    return Once(at)


def next_after(spec: Spec, after: datetime) -> Instant | None:
    """The next instant of a spec behind a moment, within its bounds."""
    if spec.starts_at is not None:
        after = max(after, spec.starts_at - TICK)
    found = instants.next_after(cadence(spec), after)
    return None if found is None or (spec.ends_at is not None and found.at >= spec.ends_at) else found


def previous(spec: Spec, before: datetime) -> Instant | None:
    """The last instant of a spec before a moment, within its bounds."""
    if spec.ends_at is not None:
        before = min(before, spec.ends_at)
    found = instants.previous(cadence(spec), before)
    return None if found is None or (spec.starts_at is not None and found.at < spec.starts_at) else found


def between(spec: Spec, after: datetime, until: datetime) -> Iterator[Instant]:
    """The instants of a spec behind one moment and not behind another, within its bounds."""
    return instants.between(cadence(spec), *bounded(spec, after, until))


def counted(spec: Spec, after: datetime, until: datetime) -> int:
    """How many they are."""
    return instants.counted(cadence(spec), *bounded(spec, after, until))


def local_of(instant: Instant) -> str:
    """What the clock on the wall says at an instant, with its offset from UTC."""
    return instant.local.isoformat(timespec="seconds")


def window_start(spec: Spec, at: datetime, since: datetime) -> datetime:
    """Where the window of an instant begins: at the instant before it, or where the schedule does."""
    before = previous(spec, at)
    return before.at if before is not None else min(spec.starts_at or since, at)


def bounded(spec: Spec, after: datetime, until: datetime) -> tuple[datetime, datetime]:
    """The part of a span that lies between `starts_at` and `ends_at`; an empty one ends where it begins."""
    if spec.starts_at is not None:
        after = max(after, spec.starts_at - TICK)
    if spec.ends_at is not None:
        until = min(until, spec.ends_at - TICK)
    return after, max(after, until)


def trigger_id(id: str, what: datetime | str) -> str:
    """The identity of a run: it follows from the schedule and the instant, or from the operation that asked for it."""
    told = what if isinstance(what, str) else f"{what.astimezone(UTC).isoformat(timespec='microseconds')}"
    kind = "operation" if isinstance(what, str) else "instant"
    return str(uuid5(TRIGGERS, f"{id}\n{kind}\n{told}"))


def job_id(trigger: str, at: datetime, again: int = 0) -> str:
    """The id of a run's job: it follows from the run; `again` counts the jobs that stood for it before."""
    milliseconds = max(0, (at - EPOCH) // timedelta(milliseconds=1))
    return uuid7(milliseconds, hashlib.sha256(f"{trigger}/{again}".encode()).digest()[:10])


def delayed(spec: Spec, id: str, at: datetime) -> datetime | None:
    """When the job of an instant may begin, where jitter puts it off: never behind the next instant."""
    if not spec.jitter_seconds:
        return None
    following = next_after(spec, at)
    most = timedelta(seconds=spec.jitter_seconds)
    if following is not None:
        most = min(most, following.at - at)
    share = int.from_bytes(hashlib.sha256(f"{id}\n{at.timestamp():.0f}".encode()).digest()[:4]) / 2**32
    return at + most * share
