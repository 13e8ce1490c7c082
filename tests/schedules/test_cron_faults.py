"""Where and why an expression is refused; what is not refused has no fault."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steadhold.kit.limits import CRON_CHARS_MAX
from steadhold.schedules.cron import CronFault, parse
from tests.schedules.oracle import ANY, patient

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


@patient
@given(meant=ANY)
def test_what_is_refused_names_dates_no_year_has(meant):
    fault = parse(meant.text)
    if isinstance(fault, CronFault):
        assert fault.field == "day-of-month"
        leap = (date(2000, 1, 1) + timedelta(days=n) for n in range(366))
        assert not any(
            day.month in meant.months and (day.day in meant.days or f"{day.day}W" in meant.days) for day in leap
        )


@patient
@given(st.text(alphabet="0123456789*,-/LW#?@ JANMOFRI\té\n", max_size=30))
def test_any_text_is_an_expression_or_has_a_fault(text):
    found = parse(text)
    if isinstance(found, CronFault):
        assert 0 <= found.position <= len(text)
    else:
        assert found.text == text.strip(" \t")
        assert found.first(0) >= 0
