"""A job through the doors, while its effects move and it does not."""

from __future__ import annotations

import pytest

from steadhold import effects
from steadhold.access import Actor
from steadhold.effects import Intent
from tests.jobs.test_effects import DIGEST

VENUE = Actor("venue", None)


@pytest.mark.parametrize("waits", ["", "?wait_seconds=0.01"])
async def test_who_has_read_a_job_is_not_told_that_nothing_changed_when_its_effects_did(house, waits):
    """A job's revision is its own: with effects, its reader is answered how they stand."""
    job = await house.claimed()
    target, play = f"/v1/jobs/{job['job_id']}", house.player.play
    tag = (await house("GET", target)).headers["etag"]
    assert (await house("GET", target + waits, if_none_match=tag)).status == 304
    wanted = Intent("c-7", "charge", "venue", DIGEST, job_id=job["job_id"])
    await play(effects.plan.call(house.workspace, wanted, by=VENUE, job_fence=job["fence"]))
    await play(effects.initiate.call(house.workspace, "c-7", by=VENUE, job_fence=job["fence"]))
    seen = await house("GET", target + waits, if_none_match=tag)
    assert (seen.status, seen.headers["etag"], seen.json["effects"][0]["open"]) == (200, tag, True)
    await play(effects.outcome.call(house.workspace, "c-7", "succeeded", by=VENUE))
    assert (await house("GET", target + waits, if_none_match=tag)).json["effects"][0]["open"] is False
