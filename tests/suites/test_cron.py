"""cronsim's published tables in our dialect: what parses, which values match, which instants follow.

Where the contract is stricter than cronsim the difference is named here, and nothing else may differ.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from steadhold.schedules.cron import Cron, CronFault, parse
from steadhold.schedules.instants import ByCron, next_after, previous, zone
from tests.schedules.oracle import DAY, MINUTE, matches_day_of_month, matches_day_of_week

ROWS = 496
STRICTER = {"1 1 */100,1-7 * MON", "1 1 */100 * MON#4", "0 0 */100,1-7 * MON"}
"""A step larger than its field: the contract refuses it. ``*/31`` means the same."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def table(suites):
    rows = json.loads((suites / "cron" / "cronsim.json").read_text(encoding="utf-8"))
    assert len(rows) >= ROWS
    return rows


def ours(text):
    """A row's expression, in our dialect."""
    if text in STRICTER:
        fault = parse(text)
        assert isinstance(fault, CronFault), text
        assert (fault.field, fault.position) == ("day-of-month", 6)
    cron = parse(text.replace("*/100", "*/31"))
    assert isinstance(cron, Cron), (text, cron)
    return cron


def test_the_next_instants_are_the_published_ones(table):
    rows = [row for row in table if "next" in row]
    assert len(rows) >= 94
    for row in rows:
        by, at = ByCron(ours(row["expr"]), zone(row["zone"])), datetime.fromisoformat(row["from"])
        found = []
        for _ in row["next"]:
            found.append(next_after(by, at))
            at = found[-1].at
        assert [each.local.isoformat() for each in found] == row["next"], row
        assert [previous(by, later.at) for later in found[1:]] == found[:-1], row


def test_what_never_comes_is_searched_to_an_end(table):
    rows = [row for row in table if row.get("never")]
    assert len(rows) >= 2
    for row in rows:
        by, at = ByCron(ours(row["expr"]), zone(row["zone"])), datetime.fromisoformat(row["from"])
        assert next_after(by, at) is previous(by, at) is None, row


def test_what_is_refused_and_what_is_taken(table):
    rows = [row for row in table if "valid" in row and not row.get("open")]
    assert len(rows) >= 390
    taken = {row["expr"]: isinstance(parse(row["expr"]), Cron) for row in rows}
    assert taken == {row["expr"]: row["valid"] and row["expr"] not in STRICTER for row in rows}


def test_what_the_tables_leave_open_is_refused(table):
    """A step on L, LW or 5L; dates that no year has (contract: schedules, cron dialect)."""
    rows = [row for row in table if row.get("open")]
    assert len(rows) >= 8
    assert [row["expr"] for row in rows if not isinstance(parse(row["expr"]), CronFault)] == []


def test_the_fields_match_the_published_values(table):
    rows = [row for row in table if row.get("valid") and not row.get("open") and row.get("fields")]
    assert len(rows) >= 20
    for row in rows:
        assert values(ours(row["expr"]), row["fields"]) == row["fields"].keys(), row


def values(cron, fields):
    """The fields that match just what is published."""
    days = [EPOCH + n * DAY for n in range(20_454, 20_454 + 366)]
    every = range(32)
    by_month, by_week = fields.get("day_of_month", every), fields.get("day_of_week", every)
    expected = {
        "minute": {time % 60 for time in cron.times},
        "hour": {time // 60 for time in cron.times},
        "month": cron.months,
    }
    dates = [
        day
        for day in days
        if any(matches_day_of_month(each, day) for each in by_month)
        and any(matches_day_of_week(each, day) for each in by_week)
    ]
    found = {name for name in expected.keys() & fields if expected[name] == set(fields[name])}
    if dates == [day for day in days if cron.count((day - EPOCH) // MINUTE, (day + DAY - EPOCH) // MINUTE)]:
        found |= fields.keys() & {"day_of_month", "day_of_week"}
    return found
