"""A probe waits for moments and tells what it saw instead."""

from __future__ import annotations

import asyncio
import threading

import pytest

from steadhold.testing import Probe


def test_a_moment_that_passed_already_is_seen():
    probe = Probe()
    probe("job.claimed", job_id="a", fence=3)
    assert probe.wait_for("job.claimed", job_id="a").facts["fence"] == 3


def test_a_moment_from_another_thread_ends_the_wait():
    probe = Probe()
    other = threading.Thread(target=probe, args=("job.ended",), kwargs={"job_id": 7})
    other.start()
    assert probe.wait_for("job.ended", job_id=7).name == "job.ended"
    other.join()


async def test_a_moment_from_another_thread_ends_an_awaited_wait(anyio_backend):
    probe = Probe()
    waiting = asyncio.create_task(probe.seen("job.ended", job_id=7))
    await asyncio.to_thread(probe, "job.ended", job_id=7)
    assert (await waiting).facts == {"job_id": 7}


async def test_the_nth_moment_is_awaited(anyio_backend):
    probe = Probe()
    for number in (1, 2):
        probe("tick", number=number)
    waiting = asyncio.create_task(probe.seen("tick", times=3))
    probe("tock", number=0)
    probe("tick", number=3)
    assert (await waiting).facts["number"] == 3
    assert probe.count("tick") == 3


async def test_what_was_seen_instead_is_told(anyio_backend):
    probe = Probe()
    probe("job.claimed", job_id="b")
    with pytest.raises(AssertionError, match=r"job\.claimed\(job_id='a'\) did not come[^$]*job_id='b'"):
        await probe.seen("job.claimed", job_id="a", within_seconds=0)
    with pytest.raises(AssertionError, match="seen instead: nothing"):
        Probe().wait_for("job.claimed", within_seconds=0)


def test_an_absent_fact_does_not_match_none():
    probe = Probe()
    probe("job.claimed")
    with pytest.raises(AssertionError):
        probe.wait_for("job.claimed", job_id=None, within_seconds=0)
