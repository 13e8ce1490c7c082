"""The dialect: what an expression matches, and where and why others are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, given
from hypothesis import strategies as st

from steadhold.kit.limits import CRON_CHARS_MAX
from steadhold.schedules.cron import MACROS, NEVER, Cron, CronFault, parse
from tests.schedules.oracle import ANY, MINUTE, patient, utc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 68 * 366 * 1440)

FAULTS = [
    # no value of the field
    ("60 * * * *", "minute", 0, "minute takes 0 to 59, not 60."),
    ("* 24 * * *", "hour", 2, "hour takes 0 to 23, not 24."),
    ("* * 0 * *", "day-of-month", 4, "day-of-month takes 1 to 31, not 0."),
    ("* * * 13 *", "month", 6, "month takes 1 to 12 or JAN to DEC, not 13."),
    ("* * * * 8", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not 8."),
    ("5,61 * * * *", "minute", 2, "minute takes 0 to 59, not 61."),
    ("0-61 * * * *", "minute", 2, "minute takes 0 to 59, not 61."),
    ("-1 * * * *", "minute", 0, "A value is missing; minute takes 0 to 59."),
    ("1- * * * *", "minute", 2, "A value is missing; minute takes 0 to 59."),
    ("1,,2 * * * *", "minute", 2, "A value is missing; minute takes 0 to 59."),
    (", * * * *", "minute", 0, "A value is missing; minute takes 0 to 59."),
    ("1--2 * * * *", "minute", 2, "minute takes 0 to 59, not -2."),
    ("1.5 * * * *", "minute", 0, "minute takes 0 to 59, not 1.5."),
    ("** * * * *", "minute", 0, "minute takes 0 to 59, not **."),
    ("*-5 * * * *", "minute", 0, "minute takes 0 to 59, not *."),
    # names
    ("JAN * * * *", "minute", 0, "minute takes 0 to 59, not JAN."),
    ("0 0 * MON *", "month", 6, "month takes 1 to 12 or JAN to DEC, not MON."),
    ("0 0 * JANUARY *", "month", 6, "month takes 1 to 12 or JAN to DEC, not JANUARY."),
    ("0 0 * * MON-FOO", "day-of-week", 12, "day-of-week takes 0 to 7 or SUN to SAT, not FOO."),
    # steps
    ("*/0 * * * *", "minute", 2, "A step here is a number from 1 to 60."),
    ("*/ * * * *", "minute", 2, "A step here is a number from 1 to 60."),
    ("*/61 * * * *", "minute", 2, "A step here is a number from 1 to 60."),
    ("* */25 * * *", "hour", 4, "A step here is a number from 1 to 24."),
    ("* * 1-7,*/32 * *", "day-of-month", 10, "A step here is a number from 1 to 31."),
    ("* * * */13 *", "month", 8, "A step here is a number from 1 to 12."),
    ("* * * * */8", "day-of-week", 10, "A step here is a number from 1 to 7."),
    ("1-9/-2 * * * *", "minute", 4, "A step here is a number from 1 to 60."),
    ("*/2/3 * * * *", "minute", 2, "A step here is a number from 1 to 60."),
    ("*/x * * * *", "minute", 2, "A step here is a number from 1 to 60."),
    ("/5 * * * *", "minute", 0, "A value is missing; minute takes 0 to 59."),
    # ranges that wrap
    ("50-10 * * * *", "minute", 0, "50-10 runs backwards; write two ranges, parted by a comma."),
    ("0 0 * NOV-FEB *", "month", 6, "NOV-FEB runs backwards; write two ranges, parted by a comma."),
    ("0 0 * * FRI-MON/2", "day-of-week", 8, "FRI-MON runs backwards; write two ranges, parted by a comma."),
    ("0 0 * * SAT-SUN", "day-of-week", 8, "SAT-SUN runs backwards; write two ranges, parted by a comma."),
    # L, W and # where they say nothing
    ("L * * * *", "minute", 0, "minute takes 0 to 59, not L."),
    ("0 0 L/2 * *", "day-of-month", 4, "L stands for itself: it takes neither range nor step."),
    ("0 0 LW/2 * *", "day-of-month", 4, "LW stands for itself: it takes neither range nor step."),
    ("0 0 1,15W/2 * *", "day-of-month", 6, "15W stands for itself: it takes neither range nor step."),
    ("0 0 L-3 * *", "day-of-month", 4, "L stands for itself: it takes neither range nor step."),
    ("0 0 10W-20W * *", "day-of-month", 4, "10W stands for itself: it takes neither range nor step."),
    ("0 0 LL * *", "day-of-month", 4, "day-of-month takes 1 to 31, not LL."),
    ("0 0 WL * *", "day-of-month", 4, "day-of-month takes 1 to 31, not WL."),
    ("0 0 W * *", "day-of-month", 4, "day-of-month takes 1 to 31, not W."),
    ("0 0 0W * *", "day-of-month", 4, "day-of-month takes 1 to 31, not 0."),
    ("0 0 32W * *", "day-of-month", 4, "day-of-month takes 1 to 31, not 32."),
    ("0 0 5L * *", "day-of-month", 4, "day-of-month takes 1 to 31, not 5L."),
    ("0 0 1#2 * *", "day-of-month", 4, "day-of-month takes 1 to 31, not 1#2."),
    ("0 0 * * L", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not L."),
    ("0 0 * * 8L", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not 8."),
    ("0 0 * * 5L/2", "day-of-week", 8, "5L stands for itself: it takes neither range nor step."),
    ("0 0 * * FRIL", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not FRIL."),
    ("0 0 * * L5", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not L5."),
    ("0 0 * * MON#0", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not MON#0."),
    ("0 0 * * MON#6", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not MON#6."),
    ("0 0 * * 9#1", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not 9."),
    ("0 0 * * 1#", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not 1#."),
    ("0 0 * * #1", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not #1."),
    ("0 0 * * 1-5#2", "day-of-week", 10, "5#2 stands for itself: it takes neither range nor step."),
    ("0 0 * * 5W", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not 5W."),
    # what other dialects have
    ("0 0 ? * *", "day-of-month", 4, "day-of-month takes 1 to 31, not ?."),
    ("H H * * *", "minute", 0, "minute takes 0 to 59, not H."),
    ("0 0 C * *", "day-of-month", 4, "day-of-month takes 1 to 31, not C."),
    ("~ * * * *", "minute", 0, "minute takes 0 to 59, not ~."),
    ("0 0 * * +1", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not +1."),
    # dates that no year has
    ("0 0 30 2 *", "day-of-month", 4, "No year has such a date: the months named are shorter."),
    ("0 0 31 4,6,9,11 *", "day-of-month", 4, "No year has such a date: the months named are shorter."),
    ("0 0 30-31 FEB MON", "day-of-month", 4, "No year has such a date: the months named are shorter."),
    ("  0 0 30W 2 *", "day-of-month", 6, "No year has such a date: the months named are shorter."),
    # another number of fields
    ("* * * *", "expression", 7, "Write five fields, neither seconds nor a year"),
    ("0 * * * * *", "expression", 10, "Write five fields, neither seconds nor a year"),
    ("0 0 1 1 * 2027", "expression", 10, "Write five fields, neither seconds nor a year"),
    ("", "expression", 0, "Write five fields, neither seconds nor a year"),
    (" \t ", "expression", 3, "Write five fields, neither seconds nor a year"),
    # macros
    ("@reboot", "expression", 0, "Write five fields, or one of @yearly"),
    ("  @every 5m", "expression", 2, "Write five fields, or one of @yearly"),
    ("@daily 5", "expression", 0, "Write five fields, or one of @yearly"),
    ("@", "expression", 0, "Write five fields, or one of @yearly"),
    ("0 0 * * @daily", "day-of-week", 8, "day-of-week takes 0 to 7 or SUN to SAT, not @DAILY."),
    # characters
    ("¹ * * * *", "minute", 0, "An expression is ASCII; its fields are parted by blanks."),
    ("0 0 * * fr\u0131", "day-of-week", 10, "An expression is ASCII; its fields are parted by blanks."),
    ("0\u00a00 * * *", "minute", 1, "An expression is ASCII; its fields are parted by blanks."),
    ("0 0 * * *\n", "day-of-week", 9, "An expression is ASCII; its fields are parted by blanks."),
    ("*" * (CRON_CHARS_MAX + 1), "expression", CRON_CHARS_MAX, "An expression has at most"),
]


@pytest.mark.parametrize(("text", "field", "position", "why"), FAULTS)
def test_what_the_dialect_does_not_know_is_refused_where_it_stands(text, field, position, why):
    fault = parse(text)
    assert isinstance(fault, CronFault)
    assert (fault.field, fault.position) == (field, position)
    assert fault.why.startswith(why)
    assert fault.why.endswith(".")


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
@given(meant=ANY, minute=MOMENTS)
def test_what_is_refused_names_dates_no_year_has(meant, minute):
    fault = parse(meant.text)
    if isinstance(fault, CronFault):
        assert fault.field == "day-of-month"
        leap = (date(2000, 1, 1) + timedelta(days=n) for n in range(366))
        assert not any(
            day.month in meant.months and (day.day in meant.days or f"{day.day}W" in meant.days) for day in leap
        )


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


@patient
@given(st.text(alphabet="0123456789*,-/LW#?@ JANMOFRI\té\n", max_size=30))
def test_any_text_is_an_expression_or_has_a_fault(text):
    found = parse(text)
    if isinstance(found, CronFault):
        assert 0 <= found.position <= len(text)
    else:
        assert found.text == text.strip(" \t")
        assert found.first(0) >= 0
