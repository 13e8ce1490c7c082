"""The example of a nightly report: nights before it was made, nights of an outage, and nights too long ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest

from steadhold import Client
from steadhold.schedules.cron import parse
from steadhold.schedules.instants import ByCron, previous, zone
from steadhold.sdk.state import State

pytestmark = pytest.mark.journeys

EXAMPLE = Path(__file__).parents[2] / "examples" / "nightly_report"
ID = "nightly-report"
ZONE = "Asia/Kolkata" if datetime.now(UTC).hour < 14 else "America/Bogota"
"""No clock is set there, and its night is hours away."""
DAY = timedelta(days=1)
NIGHTS = ByCron(parse("30 2 * * *"), zone(ZONE))


class House:
    """A development server, a worker of the example, and the clock of both."""

    def __init__(self, told, start, me):
        self.told, self.start, self.me = told, start, me
        self.environ = {"STEADHOLD_URL": told["url"], "STEADHOLD_API_KEY": told["api_key"]}
        self.client = Client(told["url"], told["api_key"])
        self.ahead = timedelta()

    def nightly(self, *more):
        """Run the program as its README says; the lines it told."""
        words = (EXAMPLE / "nightly.py", "--time-zone", ZONE, "--nights", "3", *more)
        program = self.start(*words, user=self.me, module=None, cwd=EXAMPLE, environ=self.environ)
        text = program.process.stdout.read().decode()
        assert program.ended() == 0, program.log.read_text()
        return text.splitlines()

    def outage(self, days):
        """Nothing was recorded for so many days."""
        self.ahead += timedelta(days=days)
        with psycopg.connect(self.told["database_url"], autocommit=True) as conn:
            conn.execute(
                "create or replace function steadhold.clock() returns timestamptz language sql volatile parallel safe"
                f" as $$select pg_catalog.clock_timestamp() + interval '{self.ahead.total_seconds()} seconds'$$"
            )

    def last_night(self):
        """The newest night there is, by the clock of the house."""
        with psycopg.connect(self.told["database_url"]) as conn:
            return previous(NIGHTS, conn.execute("select steadhold.clock()").fetchone()[0]).at

    def runs(self):
        """What is recorded, the oldest first."""
        return sorted(self.client.schedules.runs(ID), key=lambda run: run.scheduled_at)

    def report(self, night):
        """The report of a night, as soon as it is stored."""
        found = self.client.state.watch(f"reports/nightly/{night.astimezone(ZoneInfo(ZONE)).date()}")
        return next(each.value for each in found if isinstance(each, State))


@pytest.fixture
def house(dev, start, me):
    told = dev(me).told
    made = House(told, start, me)
    start("work", "reporting:worker", user=me, cwd=EXAMPLE, environ=made.environ)
    with made.client:
        yield made


def tiled(runs):
    """Whether runs answer for every moment from the first to the last of them, and for none twice."""
    return all(first.window.end == second.window.start for first, second in pairwise(runs))


def test_every_night_has_its_report_however_late(house):
    house.client.jobs.submit("sale", {"of": 1})
    assert "of the last 3 nights, 3 run now and 0 were recorded before" in house.nightly()
    house.report(house.last_night())
    revision = house.client.schedules.get(ID).revision
    assert "of the last 3 nights, 0 run now and 3 were recorded before" in house.nightly()
    assert house.client.schedules.get(ID).revision == revision

    house.outage(days=5)
    house.report(house.last_night())
    runs = house.runs()
    told = [house.report(run.scheduled_at) for run in runs]
    assert {run.outcome for run in runs} == {"started"}
    assert [run.scheduled_at for run in runs] == [runs[0].scheduled_at + n * DAY for n in range(8)]
    assert tiled(runs)
    assert [(each["from"], each["to"]) for each in told] == [
        (run.window.start.isoformat(), run.window.end.isoformat()) for run in runs
    ]
    assert [each["jobs"] for each in told if each["jobs"]] == [{"sale": {"accepted": 1}}]


def test_nights_too_long_ago_are_recorded_as_skipped(house):
    house.nightly("--at-most", "2")
    house.report(house.last_night())
    house.outage(days=5)
    house.report(house.last_night())
    runs = [run for run in house.runs() if run.kind == "schedule"]
    assert [(run.outcome, run.reason, run.count) for run in runs] == [
        ("skipped", "missed_window", 3),
        ("started", None, 1),
        ("started", None, 1),
    ]
    assert runs[-1].scheduled_at == house.last_night()
    assert tiled(runs)
