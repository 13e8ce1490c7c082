"""How events flow is told by every server alike, because the database says it."""

from __future__ import annotations

import pytest

from steadhold.db.pool import Pool
from steadhold.events import Reject, Retry
from steadhold.play.single import Single
from steadhold.telemetry.gauges import Gauges
from tests.events.stream import Flow


@pytest.fixture
async def fresh(fresh_database):
    """A workspace of a database that nothing else uses, and a pool of that."""
    async with Pool(fresh_database.dsn, size=6) as pool:
        yield Flow(Single(pool), fresh_database.new_workspace()), pool, fresh_database


async def told(pool):
    gauges = Gauges(pool)
    await gauges.read()
    found = {name: values[""] for name, values in gauges.told().items() if "" in values}
    return {name: value for name, value in found.items() if name.startswith(("events_", "publications_"))}


async def test_what_waits_is_counted_by_its_state_and_its_age(fresh):
    stream, pool, database = fresh
    assert set((await told(pool)).values()) == {0.0}
    await stream.subscribe()
    for aggregate in ("parked", "blocked", "good"):
        await stream.happen(aggregate, 2)
    database.clock.move(100)
    assert (await told(pool))["events_unmatched_seconds"] >= 100
    await stream.match()
    said = {"parked": Reject("never"), "blocked": Retry("later", 3_000)}
    usual, stream.sink.says = stream.sink.says, lambda one: said.get(one.key) or usual(one)
    await stream.publish()
    database.clock.move(50)
    first, second = await told(pool), await told(pool)
    counted = {name: value for name, value in first.items() if not name.endswith("seconds")}
    assert counted == {"publications_pending": 2, "publications_blocked": 1, "publications_parked": 1}
    assert first["events_unmatched_seconds"] == 0
    assert first["publications_pending_seconds"] >= 50
    assert first.keys() == second.keys()


async def test_while_the_database_does_not_answer_there_are_none(fresh):
    _, pool, _ = fresh
    gauges = Gauges(pool)
    await gauges.read()
    assert gauges.told()
    gauges._read_at -= 10
    await pool.close()
    await gauges.read()
    assert gauges.told() == {}
