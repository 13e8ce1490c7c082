"""What is documented of clocks that are set: named zones by hand, cronsim's faults, every zone by an oracle."""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from importlib import metadata
from importlib.resources import files
from itertools import islice, pairwise

import pytest
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from steadhold.schedules import zones
from steadhold.schedules.cron import Cron, parse
from steadhold.schedules.instants import ByCron, ZoneFault, between, counted, previous, tables_version, zone
from tests.schedules.oracle import ANY, DAILY, DAY, MARGIN, changes, daily, instants, replay, utc, watched

NEW_YORK, LORD_HOWE, APIA = "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"
SAO_PAULO, CASABLANCA, DUBLIN, TROLL = "America/Sao_Paulo", "Africa/Casablanca", "Europe/Dublin", "Antarctica/Troll"
RESTLESS = [NEW_YORK, LORD_HOWE, APIA, SAO_PAULO, CASABLANCA, DUBLIN, TROLL, "Asia/Gaza", "America/Godthab"]
YEARS = range(1970, 2038)
NAMES = sorted(zones._names())

DOCUMENTED = [
    # New York: 2026-03-08 02:00 -05:00 is 03:00 -04:00; 2026-11-01 02:00 -04:00 is 01:00 -05:00
    (NEW_YORK, "30 2 * * *", {}, "2026-03-07T12:00-05:00", ["08T03:00-04:00", "09T02:30-04:00"]),
    (NEW_YORK, "30 2 * * *", {"gap": "skip"}, "2026-03-07T12:00-05:00", ["09T02:30-04:00", "10T02:30-04:00"]),
    (NEW_YORK, "0,30 2 * * *", {}, "2026-03-07T12:00-05:00", ["08T03:00-04:00", "09T02:00-04:00"]),
    (NEW_YORK, "0 2,3 * * *", {}, "2026-03-07T12:00-05:00", ["08T03:00-04:00", "09T02:00-04:00"]),
    (NEW_YORK, "0 2,3 * * *", {"gap": "skip"}, "2026-03-07T12:00-05:00", ["08T03:00-04:00", "09T02:00-04:00"]),
    (NEW_YORK, "0 * * * *", {}, "2026-03-08T00:30-05:00", ["08T01:00-05:00", "08T03:00-04:00"]),
    (NEW_YORK, "30 */2 * * *", {}, "2026-03-08T00:30-05:00", ["08T04:30-04:00", "08T06:30-04:00"]),
    (NEW_YORK, "30 1 * * *", {}, "2026-10-31T12:00-04:00", ["01T01:30-04:00", "02T01:30-05:00"]),
    (NEW_YORK, "30 1 * * *", {"fold": "second"}, "2026-10-31T12:00-04:00", ["01T01:30-05:00", "02T01:30-05:00"]),
    (NEW_YORK, "30 1 * * *", {"fold": "both"}, "2026-10-31T12:00-04:00", ["01T01:30-04:00", "01T01:30-05:00"]),
    (NEW_YORK, "30 0-2 * * *", {}, "2026-11-01T00:00-04:00", ["01T00:30-04:00", "01T01:30-04:00", "01T02:30-05:00"]),
    (NEW_YORK, "0 * * * *", {}, "2026-11-01T00:30-04:00", ["01T01:00-04:00", "01T01:00-05:00", "01T02:00-05:00"]),
    (NEW_YORK, "@hourly", {"fold": "second"}, "2026-11-01T00:30-04:00", ["01T01:00-04:00", "01T01:00-05:00"]),
    # Lord Howe, by half an hour: 2026-10-04 02:00 +10:30 is 02:30 +11:00; 2026-04-05 02:00 +11:00 is 01:30 +10:30
    (LORD_HOWE, "15 2 * * *", {}, "2026-10-03T12:00+10:30", ["04T02:30+11:00", "05T02:15+11:00"]),
    (LORD_HOWE, "15 2 * * *", {"gap": "skip"}, "2026-10-03T12:00+10:30", ["05T02:15+11:00"]),
    (LORD_HOWE, "15 * * * *", {}, "2026-10-04T01:00+10:30", ["04T01:15+10:30", "04T03:15+11:00"]),
    (LORD_HOWE, "45 1 * * *", {}, "2026-04-04T12:00+11:00", ["05T01:45+11:00", "06T01:45+10:30"]),
    (LORD_HOWE, "45 1 * * *", {"fold": "both"}, "2026-04-04T12:00+11:00", ["05T01:45+11:00", "05T01:45+10:30"]),
    (LORD_HOWE, "15 1 * * *", {"fold": "both"}, "2026-04-04T12:00+11:00", ["05T01:15+11:00", "06T01:15+10:30"]),
    (LORD_HOWE, "0 * * * *", {}, "2026-04-05T00:30+11:00", ["05T01:00+11:00", "05T02:00+10:30", "05T03:00+10:30"]),
    (LORD_HOWE, "45 * * * *", {}, "2026-04-05T01:00+11:00", ["05T01:45+11:00", "05T01:45+10:30", "05T02:45+10:30"]),
    # Samoa had no 2011-12-30: after the 29th -10:00 came the 31st +14:00
    (APIA, "0 9 * * *", {}, "2011-12-29T00:00-10:00", ["29T09:00-10:00", "31T00:00+14:00", "31T09:00+14:00"]),
    (APIA, "0 9 * * *", {"gap": "skip"}, "2011-12-29T00:00-10:00", ["29T09:00-10:00", "31T09:00+14:00"]),
    (APIA, "0 9 30 12 *", {}, "2011-01-01T00:00-10:00", ["31T00:00+14:00", "30T09:00+14:00"]),
    (APIA, "0 0,6,12 * * *", {}, "2011-12-29T07:00-10:00", ["29T12:00-10:00", "31T00:00+14:00", "31T06:00+14:00"]),
    (APIA, "0 */6 * * *", {}, "2011-12-29T13:00-10:00", ["29T18:00-10:00", "31T00:00+14:00", "31T06:00+14:00"]),
    # São Paulo, at midnight: 2018-02-18 00:00 -02:00 was 17th 23:00 -03:00; 2018-11-04 00:00 -03:00 was 01:00 -02:00
    (SAO_PAULO, "@daily", {}, "2018-11-03T12:00-03:00", ["04T01:00-02:00", "05T00:00-02:00"]),
    (SAO_PAULO, "@daily", {"gap": "skip"}, "2018-11-03T12:00-03:00", ["05T00:00-02:00"]),
    (SAO_PAULO, "@weekly", {}, "2018-11-03T12:00-03:00", ["04T01:00-02:00", "11T00:00-02:00"]),
    (SAO_PAULO, "0 * * * *", {}, "2018-11-03T22:30-03:00", ["03T23:00-03:00", "04T01:00-02:00"]),
    (SAO_PAULO, "30 23 * * *", {}, "2018-02-17T12:00-02:00", ["17T23:30-02:00", "18T23:30-03:00"]),
    (SAO_PAULO, "30 23 * * 6", {"fold": "both"}, "2018-02-17T12:00-02:00", ["17T23:30-02:00", "17T23:30-03:00"]),
    (SAO_PAULO, "@daily", {}, "2018-02-17T12:00-02:00", ["18T00:00-03:00", "19T00:00-03:00"]),
    # Casablanca, back for Ramadan: 2026-02-15 03:00 +01:00 is 02:00 +00:00; 2026-03-22 02:00 +00:00 is 03:00 +01:00
    (CASABLANCA, "30 2 * * *", {}, "2026-02-14T12:00+01:00", ["15T02:30+01:00", "16T02:30+00:00"]),
    (CASABLANCA, "30 2 * * *", {"fold": "second"}, "2026-02-14T12:00+01:00", ["15T02:30+00:00", "16T02:30+00:00"]),
    (CASABLANCA, "30 2 * * *", {}, "2026-03-21T12:00+00:00", ["22T03:00+01:00", "23T02:30+01:00"]),
    # Dublin, standard in summer: 2026-03-29 01:00 +00:00 is 02:00 +01:00; 2026-10-25 02:00 +01:00 is 01:00 +00:00
    (DUBLIN, "30 1 * * *", {}, "2026-03-28T12:00+00:00", ["29T02:00+01:00", "30T01:30+01:00"]),
    (DUBLIN, "30 1 * * *", {}, "2026-10-24T12:00+01:00", ["25T01:30+01:00", "26T01:30+00:00"]),
    (DUBLIN, "30 1 * * *", {"fold": "second"}, "2026-10-24T12:00+01:00", ["25T01:30+00:00", "26T01:30+00:00"]),
    # Troll, by two hours: 2026-03-29 01:00 +00:00 is 03:00 +02:00; 2026-10-25 03:00 +02:00 is 01:00 +00:00
    (TROLL, "30 1,2 * * *", {}, "2026-03-28T12:00+00:00", ["29T03:00+02:00", "30T01:30+02:00"]),
    (TROLL, "30 1,2 * * *", {}, "2026-10-24T12:00+02:00", ["25T01:30+02:00", "25T02:30+02:00", "26T01:30+00:00"]),
    (TROLL, "30 1,2 * * *", {"fold": "second"}, "2026-10-24T12:00+02:00", ["25T01:30+00:00", "25T02:30+00:00"]),
    (TROLL, "30 */2 * * *", {}, "2026-10-25T00:45+02:00", ["25T02:30+02:00", "25T02:30+00:00", "25T04:30+00:00"]),
    # Monrovia, by less than a minute: 1972-01-07 00:00:00 -00:44:30 was 00:44:30 +00:00
    ("Africa/Monrovia", "20 0 * * *", {}, "1972-01-06T12:00+00:00", ["07T00:45+00:00", "08T00:20+00:00"]),
]


def by(text, name, **rules):
    return ByCron(parse(text), zone(name), **rules)


@pytest.mark.parametrize(("name", "text", "rules", "after", "expected"), DOCUMENTED)
def test_documented_expectations(name, text, rules, after, expected):
    found = list(islice(between(by(text, name, **rules), utc(after), utc("2030-01-01T00:00Z")), len(expected)))
    assert [told(each.local) for each in found] == expected
    assert all(each.at == each.local.astimezone(UTC) and each.at.tzinfo is UTC for each in found)


def told(local):
    return local.isoformat(timespec="minutes")[8:]


def test_inside_the_second_pass_of_a_fold_nothing_before_the_start_is_answered():
    """cronsim drops the pass it is asked from, and answers one that is over."""
    start = datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=zone(NEW_YORK))
    assert next(CronSim("45 1 * * *", start)).astimezone(UTC) < start.astimezone(UTC)
    first = next(between(by("45 1 * * *", NEW_YORK), start, utc("2030-01-01T00:00Z")))
    assert first.local.isoformat() == "2026-11-02T01:45:00-05:00"
    second = next(between(by("45 1 * * *", NEW_YORK, fold="second"), start, utc("2030-01-01T00:00Z")))
    assert second.local.isoformat() == "2026-11-01T01:45:00-05:00"


def test_where_clocks_are_set_by_half_an_hour_no_real_instant_is_lost():
    """cronsim steps by whole hours from a half, and passes over 02:00."""
    start = utc("2026-04-05T01:10+11:00")
    found = [told(each.local) for each in between(by("0 */2 * * *", LORD_HOWE), start, start + DAY)]
    theirs = [told(at) for at in islice(CronSim("0 */2 * * *", start.astimezone(zone(LORD_HOWE))), len(found) - 1)]
    assert [local for local in found if local not in theirs] == ["05T02:00+10:30"]


def test_zones_are_those_of_the_pinned_package(tmp_path):
    """A system's own tables, here one that takes Riga for Tokyo, change nothing."""
    other = tmp_path / "Europe" / "Riga"
    other.parent.mkdir()
    other.write_bytes(files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes())
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath([str(tmp_path)])
    zones._zone.cache_clear()
    try:
        noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        assert zoneinfo.ZoneInfo.no_cache("Europe/Riga").utcoffset(noon) == timedelta(hours=9)
        assert noon.astimezone(zone("Europe/Riga")).utcoffset() == timedelta(hours=2)
    finally:
        zoneinfo.reset_tzpath(before)
        zones._zone.cache_clear()


def test_the_version_of_the_tables_is_the_packages():
    year, letter = tables_version()[:4], tables_version()[4:]
    assert metadata.version("tzdata").split(".")[:2] == [year, str("abcdefghijklmnopqrstuvwxyz".index(letter) + 1)]


@pytest.mark.parametrize(
    "name", ["", "+02:00", "Riga", "europe/riga", "../zones", "/etc/localtime", "Europe/Riga\0", "a" * 9_999]
)
def test_what_is_no_zone_is_told(name):
    fault = zone(name)
    assert isinstance(fault, ZoneFault)
    assert fault.name == name
    assert fault.why.endswith(".")


def test_every_zone_of_the_tables_can_be_had():
    assert len(NAMES) > 590
    assert [zone(name).key for name in NAMES] == NAMES


@pytest.mark.parametrize("name", [NEW_YORK, APIA, CASABLANCA, "UTC"])
def test_spans_follow_each_other_forward_and_back(name):
    found = list(islice(zones.forward(zone(name), 0), 50))
    assert found[0].start <= 0 < found[0].end
    assert all(first.end == second.start for first, second in pairwise(found))
    assert list(islice(zones.backward(zone(name), found[-1].start), 50)) == found[::-1]


@lru_cache(maxsize=256)
def set_hours(name, year):
    """Hours in which the clocks of a zone were set in a year; without one, its beginning stands for it."""
    begin = datetime(year, 1, 1, tzinfo=UTC)
    return changes(zone(name), begin, datetime(year + 1, 1, 1, tzinfo=UTC)) or [begin]


@settings(deadline=None, max_examples=100)
@given(
    data=st.data(),
    name=st.sampled_from(RESTLESS) | st.sampled_from(NAMES),
    year=st.sampled_from(YEARS),
    meant=DAILY | ANY,
    gap=st.sampled_from(["run_after", "skip"]),
    fold=st.sampled_from(["first", "second", "both"]),
)
def test_around_a_change_every_minute_agrees_with_a_watched_clock(data, name, year, meant, gap, fold):
    cron = parse(meant.text)
    middle = data.draw(st.sampled_from(set_hours(name, year)))
    after = middle - data.draw(st.integers(0, 36 * 3600)) * timedelta(seconds=1)
    until = middle + DAY
    assume(isinstance(cron, Cron))
    expected = instants(meant, zone(name), after, until, gap, fold)
    assert walked(ByCron(cron, zone(name), gap, fold), after, until) == (expected, expected, len(expected))


def walked(cadence, after, until):
    """The instants forward, backward and counted."""
    behind, at = [], until + timedelta(microseconds=1)
    while (found := previous(cadence, at)) and found.at > after:
        behind.append(at := found.at)
    return [each.at for each in between(cadence, after, until)], behind[::-1], counted(cadence, after, until)


def tables():
    """A name for each table of the package, and those of others that are the same."""
    found = {}
    for name in NAMES:
        found.setdefault(sha256(files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()).digest(), name)
    return sorted(found.values())


WATCHED = [
    (daily([15], [0]), "run_after", "first"),
    (daily([0, 30], range(24)), "run_after", "second"),
    (daily([0, 29, 45], range(24)), "skip", "both"),
]


@pytest.mark.soak
@pytest.mark.parametrize("name", tables())
def test_every_change_of_every_zone_agrees_with_a_watched_clock(name):
    where = zone(name)
    for middle in changes(where, datetime(YEARS[0], 1, 1, tzinfo=UTC), datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC)):
        after, until = middle - DAY, middle + DAY
        clock = list(watched(where, after - MARGIN, until + MARGIN))
        for meant, gap, fold in WATCHED:
            expected = [at for at in replay(meant, clock, gap, fold) if after < at <= until]
            cadence = ByCron(parse(meant.text), where, gap, fold)
            assert walked(cadence, after, until) == (expected, expected, len(expected)), (middle, meant.text)
