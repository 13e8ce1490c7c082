"""What tasks that ran together raise, and what is no Exception: each is judged as it would be alone, and at once."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.worker import CancelRequested, LeaseLost, Permanent, RateLimited, StageFault
from steadhold.worker.verdicts import Suspended, judge
from tests.worker.test_verdicts import JOB

FEW, BAD = RateLimited("429"), Permanent("closed", "It is closed.")


class Panic(BaseException):
    """As extensions raise what they do not expect anybody to catch."""


def group(*errors):
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


ALIKE = {
    "one": (group(BAD), BAD),
    "a group in a group": (group(OSError("x"), group(FEW, group(BAD))), BAD),
    "what another try would not mend": (group(OSError("x"), NameError("y"), FEW), NameError("y")),
    "the first of equals": (group(FEW, OSError("x"), KeyError("y")), OSError("x")),
    "somebody asked to cancel": (group(BAD, CancelRequested("x")), CancelRequested("x")),
    "the job is another's": (group(BAD, LeaseLost("x")), LeaseLost("x")),
    "it waits": (group(OSError("x"), Suspended()), Suspended()),
}


@pytest.mark.parametrize("together, alone", ALIKE.values(), ids=ALIKE)
def test_a_group_is_judged_as_its_weightiest_error(together, alone):
    assert judge(JOB, together) == judge(JOB, alone)


async def raised(error):
    raise error


@pytest.mark.parametrize(
    "error, told",
    [
        (BAD, ("failed", "closed")),
        (StageFault("no"), ("failed", "StageFault")),
        (OSError("x"), ("accepted", "OSError")),
    ],
    ids=["permanent", "bug", "transient"],
)
async def test_an_error_in_a_task_group_ends_the_job_as_it_would_alone(yard, error, told):
    worker = yard.worker()

    @worker.job("t")
    async def together(ctx, input):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(raised(error))

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled")
    found = await yard.look(id)
    assert (found.state, found.error_code) == told


async def test_a_wait_in_a_task_group_hands_the_job_back_without_complaint(yard, caplog):
    worker = yard.worker()

    @worker.job("t")
    async def together(ctx, input):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(ctx.sleep("a", 60))

    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.waiting")
    assert (await yard.look(id)).state == "waiting"
    assert caplog.records == []


@pytest.mark.parametrize("error", [Panic("it broke"), GeneratorExit("x"), group(Panic("x"))], ids=repr)
@pytest.mark.parametrize("sync", [False, True])
async def test_what_is_no_exception_is_said_at_once_and_not_left_to_its_lease(yard, sync, error):
    worker = yard.worker()

    async def awaited(ctx, input):
        raise error

    def called(ctx, input):
        raise error

    worker.job("t")(called if sync else awaited)
    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled")
    found = await yard.look(id)
    leaf = error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error
    assert (found.state, found.error_code, found.attempt) == ("accepted", type(leaf).__name__, 1)
