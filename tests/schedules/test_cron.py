"""The dialect: what an expression matches, and how a search goes and ends."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given
from hypothesis import strategies as st

from steadhold.schedules.cron import MACROS, NEVER, Cron, CronFault, parse
from tests.schedules.oracle import ANY, MINUTE, patient, utc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 68 * 366 * 1440)


def dates(text, count=5, since="2026-01-01"):
    """The first dates, at midnight, of an expression."""
    cron = parse(f"0 0 {text}")
    assert isinstance(cron, Cron), cron
    found, minute = [], (utc(f"{since}T00:00:00+00:00") - EPOCH) // MINUTE
    while len(found) < count and (minute := cron.first(minute)) != NEVER:
        found.append((EPOCH + minute * MINUTE).date().isoformat())
        minute += 1
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0", [0]),
        ("5,05,005 1", [65]),
        ("30-59/15 22,23", [1350, 1365, 1410, 1425]),
        ("50/5 0", [50, 55]),
        ("7-7/2 0", [7]),
        ("*/60 */24", [0]),
        ("0-1,1-2 0", [0, 1, 2]),
    ],
)
def test_the_times_of_a_day(text, expected):
    cron = parse(f"{text} * * *")
    assert isinstance(cron, Cron)
    assert list(cron.times) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L * *", ["2026-01-31", "2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"]),
        ("LW * *", ["2026-01-30", "2026-02-27", "2026-03-31", "2026-04-30", "2026-05-29"]),
        ("1W * *", ["2026-01-01", "2026-02-02", "2026-03-02", "2026-04-01", "2026-05-01"]),
        ("1W 8 *", ["2026-08-03", "2027-08-02", "2028-08-01", "2029-08-01", "2030-08-01"]),
        ("15w * *", ["2026-01-15", "2026-02-16", "2026-03-16", "2026-04-15", "2026-05-15"]),
        ("31W * *", ["2026-01-30", "2026-03-31", "2026-05-29", "2026-07-31", "2026-08-31"]),
        ("29W 2 *", ["2028-02-29", "2032-02-27", "2036-02-29", "2040-02-29", "2044-02-29"]),
        ("1,15W,L 6 *", ["2026-06-01", "2026-06-15", "2026-06-30", "2027-06-01", "2027-06-15"]),
        ("29 2 *", ["2028-02-29", "2032-02-29", "2036-02-29", "2040-02-29", "2044-02-29"]),
        ("* * 5L", ["2026-01-30", "2026-02-27", "2026-03-27", "2026-04-24", "2026-05-29"]),
        ("* * 0L", ["2026-01-25", "2026-02-22", "2026-03-29", "2026-04-26", "2026-05-31"]),
        ("* * tue#5", ["2026-03-31", "2026-06-30", "2026-09-29", "2026-12-29", "2027-03-30"]),
        ("* * 7#1,MON#1", ["2026-01-04", "2026-01-05", "2026-02-01", "2026-02-02", "2026-03-01"]),
        ("* Feb-Mar/2 *", ["2026-02-01", "2026-02-02", "2026-02-03", "2026-02-04", "2026-02-05"]),
        ("28-31 2 *", ["2026-02-28", "2027-02-28", "2028-02-28", "2028-02-29", "2029-02-28"]),
    ],
)
def test_dates(text, expected):
    assert dates(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("13 * FRI", ["2026-01-02", "2026-01-09", "2026-01-13"]),  # either
        ("*/1 * FRI", ["2026-01-02", "2026-01-09", "2026-01-16"]),  # both: one begins with a star
        ("13 * */5", ["2026-02-13", "2026-03-13", "2026-09-13"]),  # both: Sunday or Friday the 13th
        ("*/31,13 * 5", ["2026-02-13", "2026-03-13", "2026-05-01"]),  # both: the list begins with a star
        ("13,*/31 * 5", ["2026-01-01", "2026-01-02", "2026-01-09"]),  # either: it does not
        ("13W * */5", ["2026-02-13", "2026-03-13", "2026-06-12"]),  # both: Saturday the 13th is served on Friday
    ],
)
def test_two_day_fields_are_joined_as_debian_joins_them(text, expected):
    assert dates(text, count=3) == expected


def test_no_date_in_fifty_years_ends_the_search():
    cron = parse("0 0 */20 * 1L")
    assert isinstance(cron, Cron)
    assert cron.first(0) == NEVER
    assert cron.last(0) == -NEVER


@pytest.mark.parametrize("macro", MACROS)
def test_macros_in_any_case(macro):
    written, plain = parse(f"\t {macro.title()} "), parse(MACROS[macro])
    assert isinstance(written, Cron)
    assert isinstance(plain, Cron)
    assert written.text == macro.title()
    assert (written.times, written.months, written.days) == (plain.times, plain.months, plain.days)
    assert written.interval == plain.interval == (macro == "@hourly")


def test_blanks_around_and_between_are_no_matter():
    cron = parse("\t 0  12\t* * MON ")
    assert isinstance(cron, Cron)
    assert cron.text == "0  12\t* * MON"
    assert cron.times == (720,)


@pytest.mark.parametrize(
    ("text", "interval"),
    [
        ("*/5 1 * * *", True),
        ("5 */2 * * *", True),
        ("*,5 1 * * *", True),
        ("0,*/5 1 * * *", False),
        ("0 1 * * *", False),
    ],
)
def test_an_interval_begins_with_a_star(text, interval):
    cron = parse(text)
    assert isinstance(cron, Cron)
    assert cron.interval is interval


@patient
@given(meant=ANY, minute=MOMENTS)
def test_dates_are_what_the_fields_say(meant, minute):
    cron = parse(meant.text)
    assume(isinstance(cron, Cron))
    start = date(1970, 1, 1) + timedelta(days=minute // 1440)
    for day in (start + timedelta(days=n) for n in range(70)):
        begin = (day - date(1970, 1, 1)).days * 1440
        assert cron.count(begin, begin + 1440) == meant.matches_date(day) * (day.month in meant.months) * len(
            cron.times
        )
    assert cron.times == tuple(sorted(60 * h + m for h in meant.hours for m in meant.minutes))


@patient
@given(meant=ANY, minute=MOMENTS, count=st.integers(1, 10))
def test_last_undoes_first_and_count_counts(meant, minute, count):
    cron = parse(meant.text)
    assume(isinstance(cron, Cron))
    found = [cron.first(minute)]
    assume(found[0] != NEVER)
    while len(found) < count:
        found.append(cron.first(found[-1] + 1))
    assert found[0] >= minute
    assert sorted(set(found)) == found
    assert [cron.last(later - 1) for later in found[1:]] == found[:-1]
    assert cron.last(found[-1]) == found[-1]
    assert cron.count(minute, found[-1] + 1) == count
    assert cron.count(minute, found[0]) == cron.count(found[0] + 1, minute) == 0


@patient
@given(meant=ANY, minute=MOMENTS)
def test_where_no_clock_is_set_cronsim_agrees(meant, minute):
    start = EPOCH + minute * MINUTE
    assume(not any(str(token).endswith("W") and token != "LW" for token in meant.days))
    assume(not any(first == last for first, last in ranges_with_steps(meant.text)))
    cron = parse(meant.text)
    try:
        expected = list(islice(CronSim(meant.text, start), 5))
    except CronSimError:
        assert isinstance(cron, CronFault)
        return
    assume(isinstance(cron, Cron))  # cronsim lets 30 February pass beside a day of the week
    found, at = [], minute
    while len(found) < len(expected):
        at = cron.first(at + 1)
        found.append(EPOCH + at * MINUTE)
    assert found == expected


def ranges_with_steps(text):
    """First and last of each range with a step: cronsim reads 5-5/2 as 5/2."""
    items = [item for part in text.split() for item in part.split(",") if "-" in item]
    return [item.partition("/")[0].split("-") for item in items]
