"""The door directly on PostgreSQL."""

from __future__ import annotations

from steadhold import jobs
from steadhold.jobs import Complete, Fail, Release, Settlement
from steadhold.kit.outcome import StaleFence
from steadhold.worker.on_postgres import OnPostgres


async def test_what_is_completed_at_once_and_what_is_not_is_answered_in_order(on_postgres, dsn, workspace):
    for _ in range(5):
        await on_postgres.submit()
    a, b, c, d, e = await on_postgres.play(jobs.claim, "w", ["t"], 5)
    said = [
        Settlement(a.id, a.fence, Fail("x", klass="permanent")),
        Settlement(b.id, b.fence, Complete()),
        Settlement(c.id, c.fence + 1, Complete()),
        Settlement(d.id, d.fence, Release()),
        Settlement(e.id, e.fence, Complete(b"7")),
    ]
    door = OnPostgres(dsn, workspace, size=2)
    try:
        found = await door.settle_many(said)
        again = await door.settle_many(said[:2])
    finally:
        await door.close()
    assert [getattr(answer, "state", answer) for answer in found] == [
        "failed", "completed", StaleFence(f"job:{c.id}"), "accepted", "completed",
    ]  # fmt: skip
    assert [(answer.state, answer.repeated) for answer in again] == [("failed", True), ("completed", True)]
