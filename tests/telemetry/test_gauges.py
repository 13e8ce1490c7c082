"""How things stand is read from the database: every server tells the same, and what nobody may read is not named."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from steadhold import jobs
from steadhold.db.pool import Pool
from steadhold.jobs.model import Fail, Settlement, Submission
from steadhold.server.app import App
from steadhold.server.settings import Settings
from steadhold.server.tallies import Tallies
from steadhold.telemetry.gauges import FAMILIES, NAMES, TYPES_MAX, Gauges
from tests.jobs.conftest import Desk
from tests.web.toy import Client

TELEMETRY = Path(__file__).parents[2] / "src/steadhold/telemetry"
GUIDE, ALERTS = TELEMETRY / "guide.md", TELEMETRY / "alerts.yaml"


@pytest.fixture
async def here(fresh_database):
    """A database that nothing else uses: its jobs, and how it stands."""
    async with Pool(fresh_database.dsn, size=2) as pool:
        with fresh_database.connect() as conn:
            conn.autocommit = False
            yield Desk(conn, fresh_database.new_workspace()), pool, fresh_database


async def stands(pool, **how):
    gauges = Gauges(pool, **how)
    await gauges.read()
    return gauges.told()


def test_each_gauge_and_its_label_stand_in_the_guide():
    told = dict(re.findall(r"`(steadhold_\w+)(?:\{(\w+)\})?`", GUIDE.read_text()))
    assert {name: told.get(f"steadhold_{name}") for name in FAMILIES} == {
        name: family.label for name, family in FAMILIES.items()
    }


async def test_an_empty_house_tells_noughts(here):
    _, pool, _ = here
    found = await stands(pool)
    assert found.keys() == FAMILIES.keys()
    quiet = {name: values for name, values in found.items() if not name.startswith("oldest_")}
    assert {value for values in quiet.values() for value in values.values()} == {0.0}
    assert found["queue_age_seconds"] == found["running_age_seconds"] == {"all": 0.0}
    assert set(found["jobs_failed_lately"]) == {
        "transient", "timeout", "rate_limited", "interrupted", "permanent", "bug",
    }  # fmt: skip


async def test_what_an_alert_misses_is_told_by_an_empty_house_whatever_is_set(here):
    _, pool, _ = here
    missed = re.findall(r"absent\(steadhold_(\w+)\)", ALERTS.read_text())
    for types in (False, True):
        found = await stands(pool, types=types)
        assert missed
        assert all(found[name] for name in missed)


async def test_jobs_are_counted_by_where_they_stand(here):
    desk, pool, database = here
    for n in range(3):
        desk.accepted("paint", priority=n)
    desk.accepted("later", run_at=desk.conn.execute("select steadhold.clock() + interval '1 hour'").fetchone()[0])
    desk.running("print")
    failed, again = desk.running("frame"), desk.running("frame")
    desk.said(failed, Fail("no_wood", "", "permanent"))
    desk.said(again, Fail("no_glue", "", "transient"))
    desk.conn.commit()
    database.clock.move(100)
    found = await stands(pool, types=True)
    assert found["jobs_ready"] == {"paint": 3, "frame": 1}
    assert found["jobs_scheduled"] == {"later": 1}
    assert found["jobs_running"] == {"print": 1}
    assert 100 <= found["queue_age_seconds"]["paint"] < 1_000
    assert 100 <= found["running_age_seconds"]["print"] < 1_000
    assert "later" not in {type for type, age in found["queue_age_seconds"].items() if age}
    assert (found["jobs_failed_lately"]["permanent"], found["jobs_to_retry"]) == (
        1, {**dict.fromkeys(found["jobs_to_retry"], 0), "transient": 1},
    )  # fmt: skip
    database.clock.move(20 * 60)
    assert (await stands(pool))["jobs_failed_lately"]["permanent"] == 0


async def test_types_are_named_only_where_that_is_set_and_only_the_fullest(here):
    desk, pool, _ = here
    for n in range(TYPES_MAX + 5):
        for _ in range(1 + (n < TYPES_MAX)):
            desk.accepted(f"type-{n:03}")
    desk.conn.commit()
    assert (await stands(pool))["jobs_ready"] == {"all": 2 * TYPES_MAX + 5}
    named = (await stands(pool, types=True))["jobs_ready"]
    assert named == {**{f"type-{n:03}": 2 for n in range(TYPES_MAX)}, "other": 5}


async def test_who_comes_while_it_is_read_waits_for_that(here):
    _, pool, _ = here
    gauges = Gauges(pool)

    async def scraped():
        await gauges.read()
        return len(gauges.told())

    assert await asyncio.gather(scraped(), scraped()) == [len(FAMILIES)] * 2


async def test_all_is_read_in_one_transaction_at_most_once_in_a_second(here):
    desk, pool, _ = here
    gauges = Gauges(pool)
    await gauges.read()
    desk.accepted("paint")
    desk.conn.commit()
    await gauges.read()
    assert gauges.told()["jobs_ready"] == {"all": 0.0}
    gauges._read_at -= 2
    await gauges.read()
    assert gauges.told()["jobs_ready"] == {"all": 1.0}


async def scraped(app):
    text = (await Client(app, "")("GET", "/metrics")).body.decode()
    return {
        line.partition(" ")[0]: line.partition(" ")[2]
        for line in text.splitlines()
        if re.match(r"steadhold_\w+", line) and re.match(r"\w+", line)[0] in NAMES
    }


async def test_every_server_tells_the_same(fresh_database):
    place = fresh_database.new_workspace()
    with fresh_database.connect() as conn, conn.transaction():
        for _ in range(3):
            jobs.submit(conn, place, Submission("paint"))
        (claimed,) = jobs.claim(conn, place, "w", ["paint"], 1)
        jobs.settle(conn, place, Settlement(claimed.id, claimed.fence, Fail("no_paint", "", "bug")))
    apps = [App(Settings(database_url=fresh_database.dsn, pool_size=2, background=False)) for _ in range(2)]
    try:
        for app in apps:
            await app.start()
        await Client(apps[0], "")("GET", "/v1/jobs")  # what one of them does is no part of it
        one, other = [await scraped(app) for app in apps]
    finally:
        for app in apps:
            await app.stop()
    aging = {name for name in one if "_seconds" in name or "oldest_" in name}
    assert {name: one[name] for name in one.keys() - aging} == {name: other[name] for name in other.keys() - aging}
    age = 'steadhold_queue_age_seconds{type="all"}'
    assert 0 < float(one[age]) < float(other[age])
    assert one['steadhold_jobs_ready{type="all"}'] == "2.0"
    assert {name.partition("{")[0] for name in one} == NAMES


def test_what_a_process_counts_has_names_of_its_own():
    counted = {family.name for family in Tallies().collect()}
    assert not counted & NAMES
