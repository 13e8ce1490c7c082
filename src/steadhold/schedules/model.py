"""What is to be decided about instants: which of them run, which are skipped and why, and what a run answers for.

Everything here is pure. A pass reads where a schedule stands, asks `settle`, and writes what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

import msgspec

from steadhold.kit.limits import SCHEDULE_LATE_SECONDS_MAX
from steadhold.schedules import spec as specs
from steadhold.schedules.instants import Instant
from steadhold.schedules.spec import TICK, Spec

Kind: TypeAlias = Literal["schedule", "backfill", "manual"]
Outcome: TypeAlias = Literal["started", "waiting", "coalesced", "skipped", "failed"]
Reason: TypeAlias = Literal["missed", "missed_window", "superseded", "cap", "overlap", "paused"]

LATE: Final = timedelta(seconds=SCHEDULE_LATE_SECONDS_MAX)
COVERS_MAX: Final = 100
"""Spans that a run lists of what it stands for; the oldest are told as one beyond that."""


class Span(msgspec.Struct, frozen=True):
    """Consecutive instants, the first and the last of them, and how many they are."""

    first: datetime
    last: datetime
    count: int


class Place(msgspec.Struct, frozen=True):
    """A run whose job nobody has claimed: it may be moved, with all that it stands for."""

    scheduled_at: datetime
    manual: bool
    job_id: str
    trigger_id: str
    window_start: datetime
    covers: tuple[Span, ...] = ()
    again: int = 0

    def stands_for(self) -> tuple[Span, ...]:
        """What it covers, and itself."""
        return (*self.covers, Span(self.scheduled_at, self.scheduled_at, 1))


class Range(msgspec.Struct, frozen=True):
    """The row of skipped instants that was written last: it grows while instants are skipped for its reason."""

    reason: Reason
    first: datetime
    last: datetime
    count: int


class Standing(msgspec.Struct, frozen=True):
    """Where a schedule stands: since when its spec holds, what may still grow, who waits, who has not ended."""

    since: datetime
    range: Range | None = None
    waiting: tuple[Place, ...] = ()
    busy: bool = False


class Fresh(msgspec.Struct, frozen=True):
    """An instant that may run. `window_start` is where the interval begins that it answers for by itself."""

    scheduled_at: datetime
    local: str
    window_start: datetime
    manual: bool = False
    covers: tuple[Span, ...] = ()


class Skip(msgspec.Struct, frozen=True):
    """Instants that do not run. `grows`: they follow the range that was written last, for the same reason."""

    reason: Reason
    span: Span
    local: str
    grows: bool = False
    manual: bool = False


class Start(msgspec.Struct, frozen=True):
    """A run that gets a job. It answers for itself, for fresh instants it absorbs and for runs whose place it takes."""

    fresh: Fresh
    window_start: datetime
    covers: tuple[Span, ...] = ()
    absorbs: tuple[Fresh, ...] = ()
    replaces: tuple[Place, ...] = ()


class Widen(msgspec.Struct, frozen=True):
    """A run that waits already, and is newer than the fresh instants: it stands for them too, by another job."""

    place: Place
    window_start: datetime
    covers: tuple[Span, ...]
    absorbs: tuple[Fresh, ...]
    replaces: tuple[Place, ...] = ()


Decision: TypeAlias = Skip | Start | Widen


class Settlement(msgspec.Struct, frozen=True):
    """What becomes of everything that was due, and up to where it is settled then."""

    decisions: tuple[Decision, ...]
    cursor: datetime
    next_at: datetime | None


def settle(spec: Spec, cursor: datetime, now: datetime, standing: Standing) -> Settlement:
    """Decide about every instant behind `cursor` that is due at `now`: each is in exactly one decision.

    The work is bounded by `missed.max_runs` and by how many instants are still on time, however long nobody looked.
    """
    after, until = specs.bounded(spec, cursor, now)
    decisions = _decided(spec, after, until, now, standing) if until > after else ()
    reached = max([cursor, *map(last_of, decisions)])
    following = None if spec.paused else specs.next_after(spec, reached)
    return Settlement(grown(decisions, standing.range), reached, following.at if following else None)


def last_of(decision: Decision) -> datetime:
    """The last of the due instants that a decision is about."""
    if isinstance(decision, Skip):
        return decision.span.last
    return (decision.fresh if isinstance(decision, Start) else decision.absorbs[-1]).scheduled_at


def newest(decision: Start | Widen) -> datetime:
    """The newest instant that a run stands for."""
    return decision.fresh.scheduled_at if isinstance(decision, Start) else decision.place.scheduled_at


def taken(decision: Start | Widen) -> int:
    """How many jobs that wait are taken back once its own is admitted."""
    return len(decision.replaces) + isinstance(decision, Widen)


def _decided(spec: Spec, after: datetime, until: datetime, now: datetime, standing: Standing) -> tuple[Decision, ...]:
    if spec.paused:
        return tuple(_skips(spec, "paused", after, until))
    line = min(max(after, now - LATE), until)  # what lies behind it is on time
    on_time = list(specs.between(spec, line, until))
    late = _caught_up(spec, after, line, now, on_time=bool(on_time))
    edge = late[0].at - TICK if late else line
    skipped = _missed(spec, after, edge, now)
    runs = [fresh(spec, one, standing.since) for one in (*late, *on_time)]
    stands_for = [skip.span for skip in skipped if skip.reason == "superseded"]
    if runs and stands_for:
        runs[0] = _covering(spec, runs[0], stands_for, standing.since)
    return (*skipped, *overlapped(spec, runs, standing))


def _caught_up(spec: Spec, after: datetime, line: datetime, now: datetime, *, on_time: bool) -> list[Instant]:
    """The missed instants that run all the same: by policy the newest, or the newest few."""
    most = {"skip": 0, "latest": 0 if on_time else 1, "all": spec.max_runs}[spec.missed]
    oldest = max(after, _horizon(spec, now))
    found: list[Instant] = []
    before = line + TICK
    while len(found) < most and (one := specs.previous(spec, before)) is not None and one.at > oldest:
        found.append(one)
        before = one.at
    return found[::-1]


def _horizon(spec: Spec, now: datetime) -> datetime:
    return now - timedelta(seconds=spec.window_seconds)


def _missed(spec: Spec, after: datetime, edge: datetime, now: datetime) -> list[Skip]:
    """The missed instants up to `edge`, none of which runs."""
    first = specs.next_after(spec, after)
    if first is None or first.at > edge:
        return []  # mostly so
    if spec.missed == "skip":
        return list(_skips(spec, "missed", after, edge))
    horizon = min(max(after, _horizon(spec, now)), edge)
    newer: Reason = "superseded" if spec.missed == "latest" else "cap"
    return [*_skips(spec, "missed_window", after, horizon), *_skips(spec, newer, horizon, edge)]


def _skips(spec: Spec, reason: Reason, after: datetime, until: datetime) -> Iterable[Skip]:
    if until <= after:
        return
    first, last = specs.next_after(spec, after), specs.previous(spec, until + TICK)
    if first is not None and last is not None and first.at <= until:
        yield Skip(reason, Span(first.at, last.at, specs.counted(spec, after, until)), specs.local_of(first))


def fresh(spec: Spec, instant: Instant, since: datetime) -> Fresh:
    """An instant of a spec, with the window that it answers for."""
    return Fresh(instant.at, specs.local_of(instant), specs.window_start(spec, instant.at, since))


def manual(spec: Spec, now: datetime, since: datetime) -> Fresh:
    """A run that somebody asks for now; it answers for the time since the last instant."""
    zone = specs.next_after(spec, now) or specs.previous(spec, now)
    local = now.astimezone(zone.local.tzinfo if zone else UTC)
    return Fresh(now, local.isoformat(timespec="seconds"), specs.window_start(spec, now, since), manual=True)


def _covering(spec: Spec, run: Fresh, spans: Sequence[Span], since: datetime) -> Fresh:
    start = specs.window_start(spec, spans[0].first, since)
    return msgspec.structs.replace(run, window_start=start, covers=tuple(spans))


def overlapped(spec: Spec, runs: Sequence[Fresh], standing: Standing) -> tuple[Decision, ...]:
    """Let fresh instants run, in their order, as far as what runs already allows."""
    if not runs:
        return ()
    if spec.overlap == "coalesce":
        return (_coalesced(spec, runs, standing.waiting),)
    if spec.overlap == "enqueue":
        return tuple(map(_alone, runs))
    held_up = runs if standing.busy else runs[1:]
    begun = () if standing.busy else (_alone(runs[0]),)
    return (*begun, *map(_held_up, _following(held_up)))


def _following(runs: Sequence[Fresh]) -> list[list[Fresh]]:
    """Runs that follow each other directly, together: what lies between others was recorded before."""
    found: list[list[Fresh]] = []
    for run in runs:
        if found and found[-1][-1].scheduled_at == run.window_start:
            found[-1].append(run)
        else:
            found.append([run])
    return found


def _held_up(runs: Sequence[Fresh]) -> Skip:
    span = Span(runs[0].scheduled_at, runs[-1].scheduled_at, len(runs))
    return Skip("overlap", span, runs[0].local, manual=runs[0].manual)


def _alone(run: Fresh) -> Start:
    return Start(run, run.window_start, run.covers)


def _coalesced(spec: Spec, runs: Sequence[Fresh], waiting: Sequence[Place]) -> Start | Widen:
    """One place to wait in: the newest instant takes it, and stands for all others."""
    ahead = max(waiting, key=lambda place: place.scheduled_at, default=None)
    run = runs[-1]
    others = [span for place in waiting if place is not ahead for span in place.stands_for()]
    if ahead is not None and ahead.scheduled_at > run.scheduled_at:
        spans = merged(spec, [*others, *ahead.covers, *_spans(runs)])
        rest = tuple(place for place in waiting if place is not ahead)
        start = min(_starts(runs, waiting))
        return Widen(ahead, start, spans, tuple(runs), rest)
    mine = ahead.stands_for() if ahead is not None else ()
    spans = merged(spec, [*others, *mine, *_spans(runs[:-1]), *run.covers])
    return Start(run, min(_starts(runs, waiting)), spans, tuple(runs[:-1]), tuple(waiting))


def _spans(runs: Iterable[Fresh]) -> list[Span]:
    return [span for run in runs for span in (*run.covers, Span(run.scheduled_at, run.scheduled_at, 1))]


def _starts(runs: Iterable[Fresh], waiting: Iterable[Place]) -> list[datetime]:
    return [*(run.window_start for run in runs), *(place.window_start for place in waiting)]


def merged(spec: Spec, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order: those that follow each other directly told as one, and the oldest of too many, too."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: span.first):
        before = specs.previous(spec, span.first) if found else None
        if before is not None and before.at == found[-1].last:
            found[-1] = _together(found[-1], span)
        else:
            found.append(span)
    while len(found) > COVERS_MAX:
        found[:2] = [_together(*found[:2])]
    return tuple(found)


def _together(one: Span, next: Span) -> Span:
    return Span(one.first, max(one.last, next.last), one.count + next.count)


def grown(decisions: Sequence[Decision], range: Range | None) -> tuple[Decision, ...]:
    """The same decisions, where the first continues the range that was written last."""
    if not decisions or range is None:
        return tuple(decisions)
    first = decisions[0]
    if not isinstance(first, Skip) or first.manual or first.reason != range.reason:
        return tuple(decisions)
    return (msgspec.structs.replace(first, grows=True), *decisions[1:])
