"""Zones of the pinned tzdata package, and the spans of one offset that their time is made of.

The tables come from the package alone, whatever the system or ``PYTHONTZPATH`` offers, so that
every server of a house agrees on what 02:30 means; :func:`tables_version` says which they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import tzdata

from steadhold.kit.limits import CRON_SEARCH_YEARS_MAX

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
SECOND: Final = timedelta(seconds=1)
YEARS: Final = range(1900, 3000)
"""Instants of a zone are sought in these years only."""

_DAY = 86_400
_MARGIN = 2 * _DAY
"""More than any change of offset moves a clock: what happened this long ago repeats no local time."""


@dataclass(frozen=True, slots=True)
class ZoneFault:
    """``name`` is no zone of the tables, and ``why`` as a sentence."""

    name: str
    why: str


class Span(NamedTuple):
    """Seconds since 1970 from ``start`` up to ``end`` during which local time is UTC plus ``offset``.

    Local times before ``seen`` were there already, when a clock was set back at ``start``; ``seen``
    lies before the local start when the clock jumped over what is between. Local times from
    ``again`` on will be there again.
    """

    start: int
    end: int
    offset: int
    seen: int
    again: int


def zone(name: str) -> ZoneInfo | ZoneFault:
    """The zone of an IANA name, such as ``Europe/Riga``, in the pinned tables."""
    if name not in _names():
        return ZoneFault(name, "A zone is a name of the IANA tables, such as Europe/Riga or UTC; an offset is none.")
    return _zone(name)


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as table:
        return ZoneInfo.from_file(table, key=name)


def tables_version() -> str:
    """The version of the tables in use, as IANA names it: ``2026f``."""
    return tzdata.IANA_VERSION


def local(zone: ZoneInfo, second: int) -> datetime:
    """What the clocks of the zone show at a second since 1970, in the right pass of a fold."""
    return (EPOCH + timedelta(seconds=second)).astimezone(zone)


def forward(zone: ZoneInfo, second: int) -> Iterator[Span]:
    """Spans from the one that holds ``second`` on, for as many years as a search may take."""
    year = _year(second)
    for each in range(year, year + CRON_SEARCH_YEARS_MAX + 1):
        yield from (span for span in _spans(zone, each) if span.end > second)


def backward(zone: ZoneInfo, second: int) -> Iterator[Span]:
    """Spans from the one that holds ``second`` back, for as many years as a search may take."""
    year = _year(second)
    for each in range(year, year - CRON_SEARCH_YEARS_MAX - 1, -1):
        yield from (span for span in reversed(_spans(zone, each)) if span.start <= second)


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    return frozenset(files("tzdata").joinpath("zones").read_text().split())


def _year(second: int) -> int:
    """The year of a second, or the nearest that has spans."""
    return (EPOCH + timedelta(seconds=min(max(second, _begin(YEARS.start)), _begin(YEARS.stop) - 1))).year


@lru_cache
def _begin(year: int) -> int:
    return (datetime(year, 1, 1, tzinfo=UTC) - EPOCH) // SECOND


@lru_cache(maxsize=8192)
def _spans(zone: ZoneInfo, year: int) -> tuple[Span, ...]:
    if year not in YEARS:
        return ()
    begin, end = _begin(year), _begin(year + 1)
    changes = [begin - _MARGIN, *_changes(zone, begin - _MARGIN, end + _MARGIN), end + _MARGIN]
    offsets = [_offset(zone, second) for second in changes]
    whole = [
        Span(start, stop, offset, start + before, stop + after)
        for start, stop, before, offset, after in zip(
            changes, changes[1:], offsets[:1] + offsets, offsets, offsets[1:], strict=False
        )
    ]
    return tuple(_cut(span, begin, end) for span in whole if span.start < end and span.end > begin)


def _cut(span: Span, begin: int, end: int) -> Span:
    """The part of a span inside a year: where it is cut, no clock was set."""
    if span.start < begin:
        span = span._replace(start=begin, seen=max(span.seen, begin + span.offset))
    if span.end > end:
        span = span._replace(end=end, again=min(span.again, end + span.offset))
    return span


def _changes(zone: ZoneInfo, begin: int, end: int) -> Iterator[int]:
    """Seconds at which the offset becomes another. No zone changed twice within two days since 1900."""
    before = _offset(zone, begin)
    for day in range(begin + _DAY, end + 1, _DAY):
        after = _offset(zone, day)
        if after != before:
            yield _change(zone, day - _DAY, day)
        before = after


def _change(zone: ZoneInfo, low: int, high: int) -> int:
    before = _offset(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    return high


def _offset(zone: ZoneInfo, second: int) -> int:
    offset = local(zone, second).utcoffset()
    assert offset is not None
    return offset // SECOND
