"""A worker killed between initiate and outcome: nobody calls the venue again, and somebody has to look."""

from __future__ import annotations

import json
import signal

import pytest

from steadhold import effects, jobs
from steadhold.access import Actor
from steadhold.worker.effects_wanted import effect_id
from tests.worker.conftest import on_postgres, over_http, player, yard  # noqa: F401 - fixtures
from tests.worker.test_recovery import ONE, child, lapse, log  # noqa: F401 - fixtures

VENUE = Actor("venue", None)


def given(log, **options):  # noqa: F811
    return json.dumps({"log": str(log), "options": options}).encode()


async def stands(yard, job):  # noqa: F811
    return await yard.play(effects.get, effect_id(job, "charge", "7"))


def called(log):  # noqa: F811
    return log.read_text().split() if log.exists() else []


@pytest.mark.parametrize(
    ("moment", "calls"), [("effect_initiated", []), ("effect_called", ["7"]), ("effect_kept", ["7"])]
)
async def test_the_replacement_does_not_call_again(yard, child, clock, log, moment, calls):  # noqa: F811
    """Killed just before the call, or just after it, nobody knows; once the answer is kept, everybody does."""
    first = child(f"{moment}=kill", **ONE)
    await yard.play(jobs.configure, "charge", jobs.Configuration(attempts_max=2, retry=jobs.Retry(0.01, 0.01, 0)), None)
    id = await yard.submit("charge", input=given(log))
    assert await first.ended() == -signal.SIGKILL
    assert ((await stands(yard, id)).execution, called(log)) == ("initiated", calls)
    await lapse(yard, clock)
    second = child()
    if moment == "effect_kept":
        await second.probe.seen("job.settled", job_id=id, fence=2)
        assert ((await stands(yard, id)).execution, called(log)) == ("succeeded", calls)
        return
    await second.probe.seen("job.settled", job_id=id, fence=2)
    found = await stands(yard, id)
    assert (found.execution, found.reconciliation, found.initiations) == ("unknown", "needed", 1)
    assert called(log) == calls
    assert (await yard.look(id)).error_code == "OutcomeUnknown"
    late = await yard.play(effects.outcome, found.id, "succeeded", by=VENUE)
    assert (late.effect.execution, late.effect.reconciliation) == ("succeeded", "reconciled")


async def test_a_repeatable_one_is_called_by_the_replacement_under_the_same_id(yard, child, clock, log):  # noqa: F811
    first = child("effect_initiated=kill", **ONE)
    id = await yard.submit("charge", input=given(log, repeatable=True))
    assert await first.ended() == -signal.SIGKILL
    await lapse(yard, clock)
    second = child()
    await second.probe.seen("job.settled", job_id=id, fence=2, state="completed")
    found = await stands(yard, id)
    assert (found.execution, found.reconciliation, found.initiations) == ("succeeded", "reconciled", 2)
    assert called(log) == ["7"]
