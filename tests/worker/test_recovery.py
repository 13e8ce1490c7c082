"""Workers in processes of their own, killed, stalled and told to stop. What was committed stays, and is done once."""

from __future__ import annotations

import json
import signal

import pytest

from steadhold import jobs
from tests.worker.children import Child

ONE = {"concurrency": 1, "prefetch": 0}
"""What a worker is given that is killed: one that still asks for a second job may be given the first one again."""


@pytest.fixture
async def child(yard):
    children = []

    def start(failpoints="", **options):
        children.append(Child(yard.place, options, failpoints))
        return children[-1]

    yield start
    for each in children:
        if each.process.poll() is None:
            each.signal(signal.SIGKILL)
        await each.ended()
        each.process.stdout.close()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def given(log, chunks=5):
    return json.dumps({"log": str(log), "chunks": chunks}).encode()


async def lapse(yard, clock):
    """Let every lease run out, and the sweep find it."""
    clock.move(61)
    assert await yard.play(jobs.lapse, 100) >= 1


async def test_a_second_worker_goes_on_where_a_killed_one_was(yard, child, clock, log):
    first = child("between_checkpoints=kill:2", **ONE)
    id = await yard.submit("chunks", input=given(log))
    assert await first.ended() == -signal.SIGKILL
    assert list(await yard.stages(id)) == ["chunk-0", "chunk-1", "chunk-2"]
    await lapse(yard, clock)
    second = child()
    await second.probe.seen("job.settled", job_id=id, fence=2, state="completed")
    assert second.probe.count("stage.replayed", job_id=id) == 3
    assert log.read_text().split() == ["0", "1", "2", "3", "4"]
    assert await yard.result(id) == b"30"


@pytest.mark.parametrize("moment", ["claimed_before_handler", "handler_done_before_report", "during_heartbeat"])
async def test_a_worker_killed_at_any_moment_loses_no_job(yard, child, clock, log, moment):
    first = child(f"{moment}=kill", lease_seconds=1, **ONE)
    type = "forever" if moment == "during_heartbeat" else "chunks"
    id = await yard.submit(type, input=given(log))
    assert await first.ended() == -signal.SIGKILL
    await lapse(yard, clock)
    view = await yard.look(id)
    assert (view.state, view.attempt) == ("accepted", 1)
    second = child()
    await second.probe.seen("job.started", job_id=id, fence=2)


async def test_a_stalled_worker_s_late_word_is_refused(yard, child, clock, log):
    stalled = child("handler_done_before_report=stop", **ONE)
    id = await yard.submit("chunks", input=given(log, 1))
    await stalled.stopped()
    await lapse(yard, clock)
    fresh = child()
    await fresh.probe.seen("job.settled", job_id=id, fence=2, state="completed")
    revision = (await yard.look(id)).revision
    stalled.signal(signal.SIGCONT)
    await stalled.probe.seen("settle.refused", job_id=id, fence=1)
    assert (await yard.look(id)).revision == revision


async def test_a_stalled_worker_s_late_stage_is_refused(yard, child, clock, log):
    stalled = child("between_checkpoints=stop:0", **ONE)
    id = await yard.submit("chunks", input=given(log, 3))
    await stalled.stopped()
    await lapse(yard, clock)
    stalled.signal(signal.SIGCONT)
    await stalled.probe.seen("stage.committed", job_id=id, stage="chunk-0")
    await stalled.probe.seen("lease.lost", job_id=id, fence=1)
    assert await yard.stages_under(id, 1) == ["chunk-0"]


async def test_sigterm_drains_and_a_second_one_hands_back_at_once(yard, child):
    worker = child(drain_seconds=600)
    id = await yard.submit("forever")
    await worker.probe.seen("stage.committed", job_id=id)
    worker.signal(signal.SIGTERM)
    await worker.probe.seen("worker.draining")
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
    view = await yard.look(id)
    assert (view.state, view.attempt) == ("accepted", 0)


async def test_sigterm_with_no_time_to_drain_hands_back(yard, child):
    worker = child(drain_seconds=0)
    id = await yard.submit("forever")
    await worker.probe.seen("stage.committed", job_id=id)
    worker.signal(signal.SIGTERM)
    assert await worker.ended() == 0
    assert (await yard.look(id)).state == "accepted"
