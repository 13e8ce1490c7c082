"""The instants of a cadence: the next, the last, those between, and why local times moved or fall out.

Where a zone's clocks are set, an interval expression (minute or hour begins with ``*``) follows real
time; a fixed one runs once for each local time: what a jump passes over runs at its end or not, what
comes twice runs at its first pass, its second, or both (contract: schedules, cron dialect; the rule
of Debian's cron). Nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from steadhold.schedules.cron import Cron
from steadhold.schedules.zones import EPOCH, SECOND, Span, ZoneFault, backward, forward, tables_version, zone

__all__ = [
    "ByCron", "Cadence", "Every", "Fold", "Gap", "Instant", "Once", "Skipped", "ZoneFault",
    "between", "counted", "next_after", "preview", "previous", "tables_version", "zone",
]  # fmt: skip

Gap: TypeAlias = Literal["run_after", "skip"]
Fold: TypeAlias = Literal["first", "second", "both"]


@dataclass(frozen=True, slots=True)
class ByCron:
    """The instants at which a zone's clocks show a time that the expression matches."""

    cron: Cron
    zone: ZoneInfo
    gap: Gap = "run_after"
    """What a fixed expression does for local times that a clock jumps over."""
    fold: Fold = "first"
    """In which pass a fixed expression runs for local times that come twice."""


@dataclass(frozen=True, slots=True)
class Every:
    """``anchor`` and every ``seconds`` after it."""

    seconds: int
    anchor: datetime


@dataclass(frozen=True, slots=True)
class Once:
    """One instant."""

    at: datetime


Cadence: TypeAlias = ByCron | Every | Once


@dataclass(frozen=True, slots=True)
class Instant:
    """When something is due."""

    at: datetime
    """In UTC."""
    local: datetime
    """The same in the zone, in the right pass of a fold; in UTC for a cadence without zone."""
    moved: Literal["gap", "fold"] | None = None
    """``gap``: due when clocks jumped over its local time. ``fold``: the second pass of its local time."""
    asked: datetime | None = None
    """The local time, without offset, that a gap passed over."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Local times, without offset, that a fixed expression leaves out or no clock shows."""

    local: datetime
    """The first of them."""
    why: Literal["gap", "first_pass", "second_pass"]
    """``gap``: clocks jumped over them. Otherwise they came twice, and run in the other pass."""
    last: datetime
    """The last of them: all between that the expression matches are meant."""


def next_after(cadence: Cadence, after: datetime) -> Instant | None:
    """The first instant later than ``after``; None when there is none, or none within 50 years."""
    match cadence:
        case ByCron():
            return _cron_after(cadence, _floor(after))
        case Every():
            return _nth(cadence, _passed(cadence, after))
        case Once(at):
            return _plain(at) if at > after else None


def previous(cadence: Cadence, before: datetime) -> Instant | None:
    """The last instant earlier than ``before``; None when there is none, or none within 50 years."""
    match cadence:
        case ByCron():
            return _cron_before(cadence, -((EPOCH - before) // SECOND))
        case Every():
            return _nth(cadence, -((cadence.anchor - before) // timedelta(seconds=cadence.seconds)) - 1)
        case Once(at):
            return _plain(at) if at < before else None


def between(cadence: Cadence, after: datetime, until: datetime) -> Iterator[Instant]:
    """Instants later than ``after`` and not later than ``until``, rising."""
    while (found := next_after(cadence, after)) and found.at <= until:
        yield found
        after = found.at


def counted(cadence: Cadence, after: datetime, until: datetime) -> int:
    """How many :func:`between` yields, without walking them; of a ``cron``, those of 50 years at most."""
    match cadence:
        case ByCron():
            return _cron_counted(cadence, _floor(after), _floor(until))
        case Every():
            return max(0, _passed(cadence, until) - _passed(cadence, after))
        case Once(at):
            return int(after < at <= until)


def preview(cadence: Cadence, after: datetime, count: int) -> list[Instant | Skipped]:
    """The next ``count`` instants, and among them the local times that are left out and why."""
    if not isinstance(cadence, ByCron):
        return list(islice(between(cadence, after, datetime.max.replace(tzinfo=UTC)), count))
    told: list[Instant | Skipped] = []
    for span in forward(cadence.zone, _floor(after)):
        for each in _told(cadence, span, _floor(after)):
            if count <= 0:
                return told
            told.append(each)
            count -= isinstance(each, Instant)
    return told


class _Window(NamedTuple):
    """Minutes of a span, on the local clock, in which an expression runs: ``high`` is the first after."""

    low: int
    high: int
    moved: int | None
    """The minute, before ``low``, for which it runs when the span begins."""


def _window(by: ByCron, span: Span) -> _Window:
    start, end = span.start + span.offset, span.end + span.offset
    low, high = _minute(start), _minute(end)
    if by.cron.interval:
        return _Window(low, high, None)
    if by.fold == "second":
        high = min(high, _minute(span.again))
    if by.fold == "first":
        low = max(low, _minute(span.seen))
    if by.gap == "run_after" and span.seen < start and (asked := by.cron.first(_minute(span.seen))) < low:
        return _Window(low, high, asked)
    return _Window(low, high, None)


def _cron_after(by: ByCron, after: int) -> Instant | None:
    asked, found = 0, -1  # found is the first match from asked on
    for span in forward(by.zone, after):
        low, high, moved = _window(by, span)
        if moved is not None and low * 60 - span.offset > after:
            return _instant(by, span, low, moved)
        low = max(low, (after + span.offset) // 60 + 1)
        if not asked <= low <= found:
            asked, found = low, by.cron.first(low)
        if found < high:
            return _instant(by, span, found)
    return None


def _cron_before(by: ByCron, before: int) -> Instant | None:
    found, asked = 1, 0  # found is the last match up to asked
    for span in backward(by.zone, before - 1):
        low, high, moved = _window(by, span)
        top = min(high - 1, (before - 1 + span.offset) // 60)
        if not found <= top <= asked:
            asked, found = top, by.cron.last(top)
        if found >= low:
            return _instant(by, span, found, moved if found == low else None)
        if moved is not None and low * 60 - span.offset < before:
            return _instant(by, span, low, moved)
    return None


def _cron_counted(by: ByCron, after: int, until: int) -> int:
    count = 0
    for span in forward(by.zone, after):
        if span.start > until:
            break
        low, high, moved = _window(by, span)
        from_, to = ((second + span.offset) // 60 + 1 for second in (after, until))
        count += by.cron.count(max(low, from_), min(high, to))
        count += moved is not None and from_ <= low < to and by.cron.first(low) != low
    return count


def _told(by: ByCron, span: Span, after: int) -> Iterator[Instant | Skipped]:
    """What a preview tells of one span: left out at its start, running, left out at its end."""
    start, end = _minute(span.start + span.offset), _minute(span.end + span.offset)
    low, high, moved = _window(by, span)
    now = (after + span.offset) // 60 + 1
    if moved is None and span.start > after:
        yield from _left_out(by, _minute(span.seen), start, "gap")
    yield from _left_out(by, max(start, now), low, "second_pass")
    if moved is not None and low >= now:
        yield _instant(by, span, low, moved)
        low += 1
    minute = by.cron.first(max(low, now))
    while minute < high:
        yield _instant(by, span, minute)
        minute = by.cron.first(minute + 1)
    yield from _left_out(by, max(high, now), end, "first_pass")


def _left_out(by: ByCron, low: int, high: int, why: Literal["gap", "first_pass", "second_pass"]) -> Iterator[Skipped]:
    if low < high and (first := by.cron.first(low)) < high:
        yield Skipped(_wall(first), why, _wall(by.cron.last(high - 1)))


def _instant(by: ByCron, span: Span, minute: int, moved: int | None = None) -> Instant:
    at = EPOCH + timedelta(seconds=minute * 60 - span.offset)
    local = at.astimezone(by.zone)
    if moved is not None:
        return Instant(at, local, "gap", _wall(moved))
    return Instant(at, local, "fold" if local.fold and not by.cron.interval else None)


def _plain(at: datetime) -> Instant:
    at = at.astimezone(UTC)
    return Instant(at, at)


def _nth(every: Every, n: int) -> Instant | None:
    try:
        return _plain(every.anchor + n * timedelta(seconds=every.seconds)) if n >= 0 else None
    except OverflowError:
        return None


def _passed(every: Every, until: datetime) -> int:
    """How many instants are not later than ``until``."""
    return max(0, (until - every.anchor) // timedelta(seconds=every.seconds) + 1)


def _floor(at: datetime) -> int:
    return (at - EPOCH) // SECOND


def _minute(second: int) -> int:
    """The first whole minute from a second on."""
    return -(-second // 60)


def _wall(minute: int) -> datetime:
    return (EPOCH + timedelta(minutes=minute)).replace(tzinfo=None)
