"""The cron dialect: five fields as Debian's cron and cronsim read them, with nW and the macros.

Fields hold ``*``, numbers, names (``JAN``, ``MON``), ranges, lists and steps; ``n/step`` runs to the
end of the field. Day-of-month also takes ``L``, ``LW`` and ``nW``, day-of-week ``nL`` and ``D#n``.
When a day field begins with ``*`` both must match, otherwise either. What the dialect does not know
is refused with its position, never read as something near it (contract: schedules, cron dialect).

cronsim reads the fields and matches dates. The search is written here, on the minutes of a clock
that is never set: cronsim's own search loses and repeats instants where clocks are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from cronsim import CronSim
from cronsim.cronsim import SYMBOLIC_DAYS, SYMBOLIC_MONTHS, Field

from steadhold.kit.limits import CRON_CHARS_MAX, CRON_SEARCH_YEARS_MAX

MACROS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "@yearly": "0 0 1 1 *",
        "@annually": "0 0 1 1 *",
        "@monthly": "0 0 1 * *",
        "@weekly": "0 0 * * 0",
        "@daily": "0 0 * * *",
        "@midnight": "0 0 * * *",
        "@hourly": "0 * * * *",
    }
)
"""Names for whole expressions, in any case."""

NEVER: Final = 1 << 60
"""What a search answers, negative when it went back, if the years it may take hold no minute."""

_DAY = 1440
_EPOCH = date(1970, 1, 1).toordinal()
_MONTHS = 12 * CRON_SEARCH_YEARS_MAX


@dataclass(frozen=True, slots=True)
class CronFault:
    """The first thing in an expression that the dialect does not know."""

    position: int
    """Where it begins: how many characters of the text as given stand before it."""
    field: str
    """``minute``, ``hour``, ``day-of-month``, ``month`` or ``day-of-week``; ``expression`` for the whole."""
    why: str
    """What to write instead, as a sentence."""


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression of the dialect; two are equal when their texts are.

    Minutes are counted from 1970-01-01 00:00 of a clock that is never set: which instants they are
    is a zone's business.
    """

    text: str
    """The expression as given, without the blanks around it."""
    interval: bool = field(compare=False)
    """Whether minute or hour begins with ``*``: then it follows real time where clocks are set."""
    times: tuple[int, ...] = field(compare=False, repr=False)
    """Minutes of a day, rising."""
    months: frozenset[int] = field(compare=False, repr=False)
    days: tuple[str, str] = field(compare=False, repr=False)
    """The fields of the day of the month and of the week."""

    def first(self, minute: int) -> int:
        """The first matching minute from ``minute`` on, or NEVER."""
        day, time = divmod(minute, _DAY)
        near = bisect_left(self.times, time)
        if near < len(self.times) and self._matches(day):
            return day * _DAY + self.times[near]
        return next((found * _DAY + self.times[0] for found in self._days_from(day + 1)), NEVER)

    def last(self, minute: int) -> int:
        """The last matching minute up to ``minute``, that one included, or -NEVER."""
        day, time = divmod(minute, _DAY)
        near = bisect_right(self.times, time)
        if near and self._matches(day):
            return day * _DAY + self.times[near - 1]
        return next((found * _DAY + self.times[-1] for found in self._days_to(day - 1)), -NEVER)

    def count(self, low: int, high: int) -> int:
        """How many minutes match from ``low`` up to ``high``, that one excluded; no minute is walked."""
        (first, from_), (last, to) = divmod(low, _DAY), divmod(max(low, high), _DAY)
        months = (self._month(month) for month in range(_month_of(first), _month_of(last) + 1))
        days = sum(bisect_left(month, last) - bisect_left(month, first) for month in months)
        before = bisect_left(self.times, from_) if self._matches(first) else 0
        rest = bisect_left(self.times, to) if self._matches(last) else 0
        return days * len(self.times) - before + rest

    def _matches(self, day: int) -> bool:
        days = self._month(_month_of(day))
        near = bisect_left(days, day)
        return near < len(days) and days[near] == day

    def _days_from(self, day: int) -> Iterator[int]:
        month = _month_of(day)
        here = self._month(month)
        yield from islice(here, bisect_left(here, day), None)
        for later in range(month + 1, month + _MONTHS + 1):
            yield from self._month(later)

    def _days_to(self, day: int) -> Iterator[int]:
        month = _month_of(day)
        here = self._month(month)
        yield from reversed(here[: bisect_right(here, day)])
        for earlier in range(month - 1, month - _MONTHS - 1, -1):
            yield from reversed(self._month(earlier))

    def _month(self, month: int) -> tuple[int, ...]:
        return _dates(*self.days, month) if month % 12 + 1 in self.months else ()


class _Kind(NamedTuple):
    name: str
    reader: Field
    low: int
    high: int
    step_max: int
    names: tuple[str, ...] = ()
    alone: str = r"(?!)"
    """Items that take neither range nor step; a value in them obeys the field."""


_KINDS: Final = (
    _Kind("minute", Field.MINUTE, 0, 59, 60),
    _Kind("hour", Field.HOUR, 0, 23, 24),
    _Kind("day-of-month", Field.DAY, 1, 31, 31, alone=r"LW?|(\d+)W"),
    _Kind("month", Field.MONTH, 1, 12, 12, tuple(SYMBOLIC_MONTHS)),
    _Kind("day-of-week", Field.DOW, 0, 7, 7, tuple(SYMBOLIC_DAYS), alone=r"(\d+)L|(\w+)#[1-5]"),
)
_NAMES = ", ".join(kind.name for kind in _KINDS)


def parse(text: str) -> Cron | CronFault:
    """The expression that ``text`` says, or its first fault with position, field and reason."""
    if len(text) > CRON_CHARS_MAX:
        return CronFault(CRON_CHARS_MAX, "expression", f"An expression has at most {CRON_CHARS_MAX} characters.")
    return _parse(text)


@lru_cache(maxsize=4096)
def _parse(text: str) -> Cron | CronFault:
    if fault := next(_faults(text), None):
        return fault
    given = text.strip(" \t")
    minute, hour, day, month, weekday = MACROS.get(given.lower(), given).upper().split()
    return Cron(
        text=given,
        interval=minute.startswith("*") or hour.startswith("*"),
        times=tuple(sorted(60 * h + m for h in _numbers(Field.HOUR, hour) for m in _numbers(Field.MINUTE, minute))),
        months=frozenset(_numbers(Field.MONTH, month)),
        days=(day, weekday),
    )


def _faults(text: str) -> Iterator[CronFault]:
    """Faults from left to right; only the first counts, for others may follow from it."""
    parts = [(found.start(), found[0]) for found in re.finditer(r"[^ \t]+", text)]
    if parts and parts[0][1].startswith("@"):
        if text.strip(" \t").lower() not in MACROS:
            yield CronFault(parts[0][0], "expression", f"Write five fields, or one of {', '.join(MACROS)} alone.")
        return
    for kind, (at, part) in zip(_KINDS, parts, strict=False):
        if strange := re.search(r"[^!-~]", part):
            yield CronFault(at + strange.start(), kind.name, "An expression is ASCII; its fields are parted by blanks.")
        for item in re.finditer(r"(?:^|(?<=,))[^,]*", part.upper()):
            yield from _item_faults(kind, at + item.start(), item[0])
    if len(parts) != len(_KINDS):
        at = parts[len(_KINDS)][0] if len(parts) > len(_KINDS) else len(text)
        yield CronFault(at, "expression", f"Write five fields, neither seconds nor a year: {_NAMES}.")
    elif not _possible(parts[2][1].upper(), parts[3][1].upper()):
        yield CronFault(parts[2][0], "day-of-month", "No year has such a date: the months named are shorter.")


def _item_faults(kind: _Kind, at: int, item: str) -> Iterator[CronFault]:
    if alone := re.fullmatch(kind.alone, item):
        yield from (fault for value in alone.groups() if value for fault in _value_faults(kind, at, value))
        return
    values, slash, step = item.partition("/")
    if values != "*":
        yield from _range_faults(kind, at, values)
    if slash and not 1 <= _number(step) <= kind.step_max:
        yield CronFault(at + len(values) + 1, kind.name, f"A step here is a number from 1 to {kind.step_max}.")


def _range_faults(kind: _Kind, at: int, values: str) -> Iterator[CronFault]:
    first, dash, last = values.partition("-")
    yield from _value_faults(kind, at, first)
    if dash:
        yield from _value_faults(kind, at + len(first) + 1, last)
        if kind.reader.int(first) > kind.reader.int(last):
            yield CronFault(at, kind.name, f"{values} runs backwards; write two ranges, parted by a comma.")


def _value_faults(kind: _Kind, at: int, value: str) -> Iterator[CronFault]:
    if value in kind.names or kind.low <= _number(value) <= kind.high:
        return
    names = f" or {kind.names[0]} to {kind.names[-1]}" if kind.names else ""
    if re.fullmatch(kind.alone, value):
        why = f"{value} stands for itself: it takes neither range nor step."
    elif not value:
        why = f"A value is missing; {kind.name} takes {kind.low} to {kind.high}{names}."
    else:
        why = f"{kind.name} takes {kind.low} to {kind.high}{names}, not {value}."
    yield CronFault(at, kind.name, why)


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]+", text) else -1


def _possible(day: str, month: str) -> bool:
    """Whether a leap year has a date of the two fields; cronsim notes L and LW as less than zero."""
    days = _numbers(Field.DAY, day) | _nearest(day)
    return min(days) <= max(monthrange(2000, number)[1] for number in _numbers(Field.MONTH, month))


def _numbers(reader: Field, text: str) -> set[int]:
    items = (_plain(reader, item) for item in text.split(",") if not re.fullmatch(r"\d+W", item))
    return set[int]().union(*(cast("set[int]", reader.parse(item)) for item in items))


def _plain(reader: Field, item: str) -> str:
    """``5-5/2`` is 5 alone; cronsim would take it for ``5/2``."""
    one = re.fullmatch(r"([^-/]+)-([^-/]+)/\d+", item)
    return one[1] if one and reader.int(one[1]) == reader.int(one[2]) else item


def _nearest(text: str) -> set[int]:
    return {int(item[:-1]) for item in text.split(",") if re.fullmatch(r"\d+W", item)}


class _Days(CronSim):
    """How cronsim matches dates, and nW beside it."""

    def __init__(self, day: str, weekday: str) -> None:
        super().__init__("* * * * *", datetime(1970, 1, 1, tzinfo=UTC))
        self.day_and = day.startswith("*") or weekday.startswith("*")
        self.days = _numbers(Field.DAY, day)
        self.weekdays = _numbers(Field.DOW, weekday)
        self.nearest = _nearest(day)

    def match_dom(self, d: date) -> bool:
        return super().match_dom(d) or any(d.day == _nearest_weekday(d, day) for day in self.nearest)


def _nearest_weekday(near: date, day: int) -> int | None:
    """The day from Monday to Friday nearest to a day of the month of ``near``, within that month."""
    length = monthrange(near.year, near.month)[1]
    if day > length:
        return None
    match near.replace(day=day).weekday():
        case 5:
            return day - 1 if day > 1 else 3
        case 6:
            return day + 1 if day < length else day - 2
        case _:
            return day


@lru_cache(maxsize=1 << 14)
def _dates(day: str, weekday: str, month: int) -> tuple[int, ...]:
    """The matching days, counted from 1970-01-01, of a month, counted from January of year 0."""
    days = _matcher(day, weekday)
    year, index = divmod(month, 12)
    dates = (date(year, index + 1, number + 1) for number in range(monthrange(year, index + 1)[1]))
    return tuple(each.toordinal() - _EPOCH for each in dates if days.match_day(each))


@lru_cache(maxsize=1024)
def _matcher(day: str, weekday: str) -> _Days:
    return _Days(day, weekday)


def _month_of(day: int) -> int:
    at = date.fromordinal(day + _EPOCH)
    return 12 * at.year + at.month - 1
