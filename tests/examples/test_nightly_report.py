"""The nightly report's parts alone; tests/journeys runs the whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import nightly
import pytest
import reporting

from steadhold.sdk.job_shapes import Job
from steadhold.sdk.schedules import PreviewItem, Run, Window

START, END = datetime(2026, 3, 7, 7, 30, tzinfo=UTC), datetime(2026, 3, 8, 7, tzinfo=UTC)
INSTANT = "schedule:nightly-report?trigger_id=t&scheduled_at=2026-03-08T07%3A00%3A00Z"
REFERENCE = f"{INSTANT}&window_start=2026-03-07T07%3A30%3A00.000000Z&window_end=2026-03-08T07%3A00%3A00.000000Z"


def test_a_job_is_told_its_window():
    window = reporting.window_of(json.dumps(["state:sales@7", REFERENCE]).encode())
    assert window == reporting.Window(START, END)


def test_a_job_that_no_schedule_submitted_says_so():
    with pytest.raises(AssertionError, match="trigger the schedule"):
        reporting.window_of(None)


@pytest.mark.parametrize("zone, night", [("America/New_York", "2026-03-08"), ("Pacific/Honolulu", "2026-03-07")])
def test_a_night_has_its_local_date(zone, night):
    assert reporting.night(reporting.Window(START, END), zone) == night


def test_jobs_are_told_by_type_and_state_and_reports_are_no_news():
    made = [("sale", "completed"), ("sale", "failed"), ("mail", "accepted"), ("sale", "completed")]
    jobs = [Job(job_id="j", type=type, state=state, revision=1) for type, state in [*made, (reporting.TYPE, "running")]]
    assert reporting.tally(jobs) == {"mail": {"accepted": 1}, "sale": {"completed": 2, "failed": 1}}
    assert reporting.tally([]) == {}


@pytest.mark.parametrize(
    "item, line",
    [
        ({"scheduled_at": END}, "2026-03-08T03:00:00  2026-03-08 07:00:00+00:00"),
        (
            {"scheduled_at": END, "moved": "gap", "asked": "2026-03-08T02:30:00"},
            "2026-03-08T03:00:00  2026-03-08 07:00:00+00:00  instead of 2026-03-08T02:30:00, which clocks jump over",
        ),
        ({"skipped": "gap"}, "2026-03-08T03:00:00  is no time there, and does not run"),
    ],
)
def test_a_time_to_come_is_told(item, line):
    assert nightly.coming(PreviewItem(local_time="2026-03-08T03:00:00", **item)) == line


@pytest.mark.parametrize("said, told", [({"job_id": "j"}, "j"), ({"reason": "cap"}, "cap"), ({"code": "c"}, "c")])
def test_a_night_that_was_is_told(said, told):
    run = Run(
        schedule_id="s", kind="schedule", scheduled_at=END, local_time="2026-03-08T03:00:00", window=Window(START, END),
        trigger_id="t", spec_revision=1, outcome="started", recorded_at=END, **said,
    )  # fmt: skip
    assert nightly.became(run) == f"2026-03-08T03:00:00  started  {told}"
