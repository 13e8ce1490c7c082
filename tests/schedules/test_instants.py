"""The instants of every cadence: later, rising, found again from behind, counted without a walk, and bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from steadhold.schedules import zones
from steadhold.schedules.cron import Cron, parse
from steadhold.schedules.instants import (
    ByCron,
    Every,
    Instant,
    Once,
    Skipped,
    ZoneFault,
    between,
    counted,
    next_after,
    preview,
    previous,
    zone,
)
from tests.schedules.oracle import ANY, DAY, HOUR, MINUTE, patient, utc

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = sorted(zones._names())
RULES = st.fixed_dictionaries(
    {"gap": st.sampled_from(["run_after", "skip"]), "fold": st.sampled_from(["first", "second", "both"])}
)
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001
LATER = datetime(2999, 1, 1, tzinfo=UTC)


def by(text, name="UTC", **rules):
    cron, where = parse(text), zone(name)
    assert isinstance(cron, Cron), cron
    assert not isinstance(where, ZoneFault), where
    return ByCron(cron, where, **rules)


@st.composite
def cadences(draw):
    meant, name, rules = draw(ANY), draw(st.sampled_from(NAMES)), draw(RULES)
    assume(isinstance(parse(meant.text), Cron))
    seconds, anchor = draw(st.integers(1, 40_000_000)), draw(MOMENTS)
    return draw(st.sampled_from([by(meant.text, name, **rules), Every(seconds, anchor), Once(anchor)]))


@patient
@given(cadence=cadences(), after=MOMENTS)
def test_instants_are_later_and_rise_and_are_found_again_from_behind(cadence, after):
    found = list(islice(between(cadence, after, LATER), 6))
    assume(found)
    assert found[0].at > after
    assert all(first.at < second.at for first, second in pairwise(found))
    assert [previous(cadence, later.at) for later in found[1:]] == found[:-1]
    assert previous(cadence, found[-1].at + timedelta(microseconds=1)) == found[-1]
    assert next_after(cadence, found[-1].at - timedelta(microseconds=1)) == found[-1]
    assert all(each.local.astimezone(UTC) == each.at for each in found)


@patient
@given(cadence=cadences(), after=MOMENTS)
def test_the_last_before_a_moment_is_followed_by_none_before_it(cadence, after):
    found = previous(cadence, after)
    assume(found)
    assert found.at < after
    later = next_after(cadence, found.at)
    assert later is None or later.at >= after


@patient
@given(cadence=cadences(), after=MOMENTS, count=st.integers(1, 8), more=st.integers(0, 100))
def test_counting_is_as_good_as_walking(cadence, after, count, more):
    found = list(islice(between(cadence, after, LATER), count))
    assume(found)
    assert counted(cadence, after, found[-1].at) == len(found)
    assert counted(cadence, after, found[-1].at - timedelta(microseconds=1)) == len(found) - 1
    assert counted(cadence, found[-1].at, after) == 0
    assert counted(cadence, found[-1].at, found[-1].at) == 0


@patient
@given(cadence=cadences(), after=MOMENTS, count=st.integers(0, 6))
def test_a_preview_shows_what_will_be_due(cadence, after, count):
    told = preview(cadence, after, count)
    assert [each for each in told if isinstance(each, Instant)] == list(islice(between(cadence, after, LATER), count))
    assert count or not told


@pytest.mark.parametrize("text", ["* * * * *", "0 3 * * *", "@monthly", "0 0 29 2 *", "0 0 */20 * 1L"])
@pytest.mark.parametrize("year", [1, 2, 1899, 1900, 2999, 3000, 9998, 9999])
def test_beyond_the_tables_a_search_ends(text, year):
    for at in (datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)):
        later, earlier = next_after(by(text, "Europe/Riga"), at), previous(by(text, "Europe/Riga"), at)
        assert later is None or later.at > at
        assert earlier is None or earlier.at < at
        assert len(preview(by(text, "Europe/Riga"), at, 3)) <= 3


def test_what_never_comes_is_none_within_bounded_work(monkeypatch):
    asked = []
    monkeypatch.setattr(zones, "_spans", lambda zone, year, spans=zones._spans: asked.append(year) or spans(zone, year))
    never = by("0 0 */20 * 1L", "America/New_York")
    assert next_after(never, utc("2026-01-01T00:00:00+00:00")) is None
    assert asked == list(range(2026, 2077))
    assert previous(never, utc("2026-01-01T00:00:00+00:00")) is None
    assert asked[51:] == list(range(2025, 1974, -1))


def test_the_rarest_date_is_found():
    cadence = by("0 0 29 2 */7")
    found = list(islice(between(cadence, utc("2060-01-01T00:00:00+00:00"), LATER), 3))
    assert [each.at.date().isoformat() for each in found] == ["2060-02-29", "2088-02-29", "2128-02-29"]


def test_ten_days_of_an_every_second_schedule_are_counted_by_arithmetic(monkeypatch):
    down = utc("2026-03-01T00:00:00.5+00:00")
    every = Every(1, EPOCH)
    assert counted(every, down, down + 10 * DAY) == 864_000
    assert previous(every, down + 10 * DAY) == Instant(at := utc("2026-03-11T00:00:00+00:00"), at)
    monkeypatch.setattr(Cron, "first", lambda self, minute: pytest.fail("a minute was sought"))
    assert counted(by("* * * * *", "America/New_York"), down, down + 10 * DAY) == 14_400


def test_every_begins_with_its_anchor():
    anchor = utc("2026-01-01T00:00:00+02:00")
    every = Every(90, anchor)
    assert next_after(every, anchor - DAY).at == anchor
    assert next_after(every, anchor).at == anchor + timedelta(seconds=90)
    assert next_after(every, anchor + timedelta(seconds=89, microseconds=999_999)).at == anchor + timedelta(seconds=90)
    assert previous(every, anchor) is None
    assert previous(every, anchor + timedelta(seconds=90)).at == anchor
    assert counted(every, anchor - DAY, anchor) == 1
    assert counted(every, anchor - 2 * DAY, anchor - DAY) == 0
    assert next_after(every, datetime.max.replace(tzinfo=UTC)) is None


def test_once_is_once():
    at = utc("2026-01-01T00:00:00+02:00")
    assert next_after(Once(at), at - HOUR) == previous(Once(at), at + HOUR) == Instant(at, at)
    assert next_after(Once(at), at) is previous(Once(at), at) is None
    assert list(between(Once(at), at - HOUR, at)) == [Instant(at, at)]
    assert (counted(Once(at), at - HOUR, at), counted(Once(at), at, at + HOUR)) == (1, 0)
    assert preview(Once(at), at - HOUR, 5) == [Instant(at, at)]


def test_a_moment_inside_a_minute_belongs_to_what_came_before():
    cadence, noon = by("* * * * *"), utc("2026-01-01T12:00:00+00:00")
    assert next_after(cadence, noon - timedelta(microseconds=1)).at == noon
    assert next_after(cadence, noon).at == noon + MINUTE
    assert previous(cadence, noon).at == noon - MINUTE
    assert previous(cadence, noon + timedelta(microseconds=1)).at == noon


def test_a_preview_says_what_moved_and_what_is_left_out():
    eve, skip = utc("2026-03-07T12:00:00-05:00"), by("15,45 2 * * *", "America/New_York", gap="skip")
    told = preview(skip, eve, 1)
    assert [(each.local.isoformat(), each.why, each.last.isoformat()) for each in told[:1]] == [
        ("2026-03-08T02:15:00", "gap", "2026-03-08T02:45:00")
    ]
    assert told[1].local.isoformat() == "2026-03-09T02:15:00-04:00"
    moved = preview(by("15,45 2 * * *", "America/New_York"), eve, 1)
    assert [(each.local.isoformat(), each.moved, each.asked.isoformat()) for each in moved] == [
        ("2026-03-08T03:00:00-04:00", "gap", "2026-03-08T02:15:00")
    ]
    lost = preview(by("30 */2 * * *", "America/New_York"), utc("2026-03-08T01:00:00-05:00"), 1)
    assert [each.local.isoformat() for each in lost] == ["2026-03-08T02:30:00", "2026-03-08T04:30:00-04:00"]


@pytest.mark.parametrize(
    ("fold", "told"),
    [
        ("first", ["01:15:00-04:00", "01:45:00-04:00", "second_pass 01:15:00 01:45:00", "01:15:00-05:00"]),
        ("second", ["first_pass 01:15:00 01:45:00", "01:15:00-05:00 fold", "01:45:00-05:00 fold", "01:15:00-05:00"]),
        ("both", ["01:15:00-04:00", "01:45:00-04:00", "01:15:00-05:00 fold", "01:45:00-05:00 fold"]),
    ],
)
def test_a_preview_says_in_which_pass_of_a_fold(fold, told):
    found = preview(by("15,45 1 * * *", "America/New_York", fold=fold), utc("2026-11-01T00:00:00-04:00"), 4)[:4]
    assert [line(each) for each in found] == told


def line(each):
    if isinstance(each, Skipped):
        return f"{each.why} {each.local.time()} {each.last.time()}"
    return f"{each.local.isoformat()[11:]} {each.moved or ''}".rstrip()


def test_a_preview_begins_inside_a_fold():
    second = by("15,45 1 * * *", "America/New_York")
    told = preview(second, utc("2026-11-01T01:20:00-05:00"), 1)
    assert [line(each) for each in told] == ["second_pass 01:45:00 01:45:00", "01:15:00-05:00"]
