"""Make the schedule of the nightly report, show when it runs, and catch up on the nights before it was made.

    python nightly.py --time-zone Europe/Riga --nights 3

Saying it again changes nothing: the schedule is as it was, and a night that has its report gets no second one.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta
from typing import Final

from reporting import TYPE

from steadhold import Client
from steadhold.sdk.errors import NotFound, Problem
from steadhold.sdk.schedules import Backfill, PreviewItem, Run, Schedule

ID: Final = "nightly-report"
CRON: Final = "30 2 * * *"


def make(client: Client, time_zone: str, under: str, at_most: int) -> Schedule:
    """Put the schedule, over what is there: after an outage each of the last nights is run, in order."""
    try:
        revision = client.schedules.get(ID).revision
    except NotFound:
        revision = None
    return client.schedules.put(
        ID, TYPE, {"under": under, "time_zone": time_zone},
        cron=CRON, time_zone=time_zone,  # where clocks jump over 02:30 it runs at the end of the jump
        missed="all", window_seconds=at_most * 86_400, max_runs=at_most,
        overlap="enqueue", sequential=True,  # each night has a report of its own, one after the other
        freshness_seconds=3_600,  # and is refused if it was made of older evidence than this
        if_revision=revision,
    )  # fmt: skip


def catch_up(client: Client, nights: int) -> Backfill:
    """Run the last nights of which nothing is recorded."""
    now = datetime.now(UTC)
    return client.schedules.backfill(ID, now - timedelta(days=nights), now)


def coming(item: PreviewItem) -> str:
    """One line about a time to come, or about one that clocks leave out."""
    if item.skipped:
        return f"{item.local_time}  is no time there, and does not run"
    moved = f"  instead of {item.asked}, which clocks jump over" if item.moved == "gap" else ""
    return f"{item.local_time}  {item.scheduled_at}{moved}"


def became(run: Run) -> str:
    """One line about a night that was."""
    return f"{run.local_time}  {run.outcome}  {run.reason or run.job_id or run.code}"


def main() -> None:
    """Do all that the first lines of this file promise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--time-zone", default="UTC", help="an IANA name, such as Europe/Riga")
    parser.add_argument(
        "--nights", type=int, default=3, help="how many nights to run now, as if it had been there before"
    )
    parser.add_argument("--at-most", type=int, default=14, help="how many nights to catch up on after an outage")
    parser.add_argument("--under", default="reports/nightly", help="where reports are stored, a night each")
    said = parser.parse_args()
    with Client() as client:
        try:
            schedule = make(client, said.time_zone, said.under, said.at_most)
        except Problem as refused:
            raise SystemExit(str(refused)) from None
        print(f"{ID}, revision {schedule.revision}, runs at")
        for item in client.schedules.preview(ID, count=3).items:
            print(f"  {coming(item)}")
        done = catch_up(client, said.nights)
        print(
            f"of the last {said.nights} nights, {len(done.runs)} run now and {len(done.existing)} were recorded before"
        )
        for run in (*done.runs, *done.existing):
            print(f"  {became(run)}")


if __name__ == "__main__":
    main()
