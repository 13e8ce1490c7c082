"""A slow reading of the cron rule, by watching a zone's clock minute after minute; it knows no fold and no gap.

It shares no code with what it judges: expressions are drawn together with what they mean, and a local time
that came before is known by having been seen.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st

patient = settings(deadline=None)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
MARGIN = timedelta(hours=26)
"""No clock since 1970 was set by more than a day."""
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def matches_day_of_month(token, day):
    """Whether a date is what one item of the field says: a number, ``L``, ``LW`` or ``nW``."""
    length = monthrange(day.year, day.month)[1]
    if isinstance(token, int):
        return day.day == token
    if token == "L":
        return day.day == length
    wanted = length if token == "LW" else int(token[:-1])
    if wanted > length or day.weekday() > 4:
        return False
    nearest = [n for n in range(1, length + 1) if day.replace(day=n).weekday() < 5]
    return day.day == min(nearest, key=lambda n: abs(n - wanted))


def matches_day_of_week(token, day):
    """Whether a date is what one item of the field says: a number, ``nL`` or ``n#k``."""
    weekday = day.isoweekday() % 7
    if isinstance(token, int):
        return weekday == token % 7
    if token.endswith("L"):
        return weekday == int(token[:-1]) % 7 and (day + timedelta(days=7)).month != day.month
    number, _, nth = token.partition("#")
    return weekday == int(number) % 7 and (day.day - 1) // 7 + 1 == int(nth)


@dataclass(frozen=True)
class Meant:
    """An expression and what it means."""

    text: str
    minutes: frozenset
    hours: frozenset
    days: frozenset
    months: frozenset
    weekdays: frozenset

    @property
    def interval(self):
        return any(part.startswith("*") for part in self.text.split()[:2])

    def matches(self, wall):
        if wall.second or wall.minute not in self.minutes or wall.hour not in self.hours:
            return False
        return wall.month in self.months and self.matches_date(wall)

    def matches_date(self, day):
        _, _, first, _, second = self.text.split()
        by_month = any(matches_day_of_month(token, day) for token in self.days)
        by_week = any(matches_day_of_week(token, day) for token in self.weekdays)
        return by_month and by_week if first[0] == "*" or second[0] == "*" else by_month or by_week


def watched(zone, begin, end):
    """Each step of a clock: the instant, and what it shows, without offset."""
    odd = any(at.astimezone(zone).utcoffset() % MINUTE for at in (begin, end))
    step = MINUTE / 2 if odd else MINUTE
    for n in range((end - begin) // step + 1):
        at = begin + n * step
        yield at, at.astimezone(zone).replace(tzinfo=None)


def instants(meant, zone, after, until, gap="run_after", fold="first"):
    """The instants later than ``after`` and not later than ``until``, rising."""
    begin = after.replace(second=0, microsecond=0) - MARGIN
    return [
        at
        for at in replay(meant, list(watched(zone, begin, until + MARGIN)), gap, fold)
        if after < at <= until
    ]  # fmt: skip


def replay(meant, clock, gap="run_after", fold="first"):
    """The instants of an expression while a clock is watched."""
    passes, jumped, owed = {}, set(), False
    last = clock[0][1]
    for at, wall in clock:
        owed = owed or any(meant.matches(missed) for missed in between(last, wall))
        if owed and not wall.second:
            jumped.add(at)
            owed = False
        if meant.matches(wall):
            passes.setdefault(wall, []).append(at)
        last = wall
    if meant.interval:
        return sorted(at for found in passes.values() for at in found)
    chosen = {"first": lambda found: found[:1], "second": lambda found: found[-1:], "both": lambda found: found}[fold]
    regular = {at for found in passes.values() for at in chosen(found)}
    return sorted(regular | (jumped if gap == "run_after" else set()))


def between(last, wall):
    """The whole minutes that a clock jumped over."""
    missed = last.replace(second=0) + MINUTE
    while missed < wall:
        yield missed
        missed += MINUTE


def changes(zone, begin, end):
    """Hours in which a clock was set, by looking every hour."""
    found, at = [], begin
    offset = at.astimezone(zone).utcoffset()
    while at < end:
        at += HOUR
        if (now := at.astimezone(zone).utcoffset()) != offset:
            found.append(at)
            offset = now
    return found


def _spans(low, high):
    """One item of a field with what it means: a number, a range, and both with steps."""
    number = st.integers(low, high)

    def stepped(first, last, step):
        first, last = sorted((first, last))
        return f"{first}-{last}/{step}", frozenset(range(first, last + 1, step))

    step = st.integers(1, high - low)
    return st.one_of(
        number.map(lambda n: (str(n), frozenset({n}))),
        st.builds(lambda n, s: (f"{n}/{s}", frozenset(range(n, high + 1, s))), number, step),
        st.builds(stepped, number, number, step),
        step.map(lambda s: (f"*/{s}", frozenset(range(low, high + 1, s)))),
    )


def _field(low, high, *more):
    star = st.just(("*", frozenset(range(low, high + 1))))
    items = st.one_of(_spans(low, high), *more)
    listed = st.lists(items, min_size=1, max_size=3).map(
        lambda found: (",".join(text for text, _ in found), frozenset().union(*(meant for _, meant in found)))
    )
    return st.one_of(star, listed)


def _own(tokens):
    return st.sampled_from(tokens).map(lambda token: (token, frozenset({token})))


def _named(names, low):
    return st.integers(0, len(names) - 1).map(lambda n: (names[n].title(), frozenset({n + low})))


LAST_AND_NEAREST = [*("L", "LW"), *(f"{n}W" for n in range(1, 32))]
NTH = [f"{n}{how}" for n in range(8) for how in ("L", "#1", "#2", "#3", "#4", "#5")]
TIMES = st.tuples(_field(0, 59), _field(0, 23))
DATES = st.tuples(
    _field(1, 31, _own(LAST_AND_NEAREST)),
    _field(1, 12, _named(MONTHS, 1)),
    _field(0, 7, _own(NTH), _named(WEEKDAYS, 0)),
)


def _meant(times, dates):
    (minute, minutes), (hour, hours) = times
    (day, days), (month, months), (weekday, weekdays) = dates
    return Meant(f"{minute} {hour} {day} {month} {weekday}", minutes, hours, days, months, weekdays)


EVERY_DATE = tuple(("*", frozenset(values)) for values in (range(1, 32), range(1, 13), range(8)))
ANY = st.builds(_meant, TIMES, DATES)
"""Expressions of the whole dialect; some name dates that no year has."""
DAILY = st.builds(_meant, TIMES, st.just(EVERY_DATE))
"""Expressions that match every date."""


def daily(minutes, hours):
    """A fixed expression that matches every date at the times named."""
    lists = (",".join(map(str, minutes)), ",".join(map(str, hours)))
    return _meant(tuple(zip(lists, (frozenset(minutes), frozenset(hours)), strict=True)), EVERY_DATE)


def utc(text):
    return datetime.fromisoformat(text).astimezone(UTC)
