"""The door directly on PostgreSQL."""

from __future__ import annotations

import pytest

from steadhold import jobs
from steadhold.db.errors import DatabaseError, HouseError, StatementsLostError
from steadhold.jobs import Complete, Fail, Release, Settlement
from steadhold.kit.outcome import StaleFence
from steadhold.worker.door import DoorShut, Jammed
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


@pytest.mark.parametrize(
    "error", [HouseError("no schema"), StatementsLostError()], ids=lambda error: type(error).__name__
)
async def test_what_cannot_be_said_for_now_is_said_again(
    on_postgres, dsn, workspace, monkeypatch, error: DatabaseError
):
    """A database that cannot be used is one that does not answer: whoever asks keeps what there is to say."""
    await on_postgres.submit()
    (job,) = await on_postgres.play(jobs.claim, "w", ["t"], 1)
    said = [Settlement(job.id, job.fence, Complete())]
    door = OnPostgres(dsn, workspace, size=2)
    try:
        with monkeypatch.context() as patched:

            async def take() -> None:
                raise error

            patched.setattr(door._pool, "take", take)
            with pytest.raises(DoorShut, match=str(error).partition(".")[0]) as shut:
                await door.settle_many(said)
            assert not isinstance(shut.value, Jammed)
        (done,) = await door.settle_many(said)
    finally:
        await door.close()
    assert done.state == "completed"
