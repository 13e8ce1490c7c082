"""Rooms of one floor read nothing of each other's tables, but for what decision 0028 names."""

from __future__ import annotations

import re
from pathlib import Path

ROOMS = Path(__file__).parents[2] / "src" / "steadhold"
TABLES = {
    "jobs": r"jobs|job_\w+",
    "inboxes": r"inboxes|inbox_(?:events|keys|gaps|sweeps|epochs|consumers)",
    "approvals": r"approvals|approval_\w+",
    "effects": r"effects|effect_\w+|journal\w*",
}
KNOWN = {("effects", "lines_of_jobs", "jobs"), ("jobs", "ahead", "inbox_events")}


def statements(room):
    text = (ROOMS / room / "statements.sql").read_text(encoding="utf-8")
    _, *named = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)
    return zip(named[::2], named[1::2], strict=True)


def test_no_statement_names_a_siblings_table_but_two():
    found = {
        (room, name, table)
        for room in TABLES
        for name, text in statements(room)
        for other, tables in TABLES.items()
        if other != room
        for table in re.findall(rf"steadhold\.({tables})\b(?!\()", text)
    }
    assert found == KNOWN
