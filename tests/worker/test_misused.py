"""What a handler's author got wrong ends the job at once, and says what to write; what may pass is tried again."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import math
from datetime import UTC, datetime

import pytest

from steadhold import effects
from steadhold.jobs.model import Match
from steadhold.worker import Coverage, Done, Fail, Retry, Snooze, StageFault, Worker
from steadhold.worker.calling import NeverRan, call, check
from steadhold.worker.effects_wanted import Wanted, effect_id, intended
from tests.worker.bench import claimed

CYCLE: list[object] = []
CYCLE.append(CYCLE)


async def later(n=1):
    return n


def yields():
    yield 1


MISUSES = {
    "progress that is no JSON": lambda ctx: ctx.progress({1, 2}),
    "progress of an object": lambda ctx: ctx.progress(object()),
    "progress without an end": lambda ctx: ctx.progress(CYCLE),
    "progress that is no number": lambda ctx: ctx.progress(float("nan")),
    "progress that is too large": lambda ctx: ctx.progress("x" * 5_000),
    "a stage of no function": lambda ctx: ctx.stage("x", 7),
    "a stage of nothing": lambda ctx: ctx.stage("x", None),
    "a stage that was called": lambda ctx: ctx.stage("x", later()),
    "a stage that yields": lambda ctx: ctx.stage("x", yields),
    "a stage of other arguments": lambda ctx: ctx.stage("x", lambda a, b: a, 1),
    "a stage of too many arguments": lambda ctx: ctx.stage("x", lambda: 1, 1),
    "a stage without a name": lambda ctx: ctx.stage(7, lambda: 1),
    "a stage of no JSON": lambda ctx: ctx.stage("x", lambda: {1}),
    "a sleep of a text": lambda ctx: ctx.sleep("s", "60"),
    "a sleep without a name": lambda ctx: ctx.sleep(None, 1),
    "a wait of a text": lambda ctx: ctx.wait_for("w", signal="go", timeout_seconds="60"),
    "a wait without an end": lambda ctx: ctx.wait_for("w", signal="go", timeout_seconds=float("inf")),
    "a wait until a text": lambda ctx: ctx.wait_for("w", signal="go", until="tomorrow"),
    "a wait until a number": lambda ctx: ctx.wait_for("w", signal="go", until=7),
    "a wait for a number": lambda ctx: ctx.wait_for("w", signal=7, timeout_seconds=60),
    "a wait behind a number": lambda ctx: ctx.wait_for("w", inbox="i", after=5, timeout_seconds=60),
    "a wait behind a text": lambda ctx: ctx.wait_for("w", inbox="i", after=("e", "5"), timeout_seconds=60),
    "a wait for no match": lambda ctx: ctx.wait_for("w", inbox="i", after=("e", 5), match=["type"], timeout_seconds=60),
    "a wait for a match of a number": lambda ctx: ctx.wait_for(
        "w", inbox="i", after=("e", 5), match={"type": 7}, timeout_seconds=60
    ),
    "a wait until the end of time": lambda ctx: ctx.wait_for("w", signal="go", until=datetime.max.replace(tzinfo=UTC)),
    "a wait beyond all time": lambda ctx: ctx.wait_for("w", signal="go", timeout_seconds=1e11),
    "an effect of a number": lambda ctx: ctx.effect("charge", key=7, request=1),
    "an effect of no JSON": lambda ctx: ctx.effect("charge", key="7", request={1}),
    "an effect that lasts a text": lambda ctx: ctx.effect("charge", key="7", request=1, expires_in_seconds="60"),
    "an effect that is perhaps repeatable": lambda ctx: ctx.effect("charge", key="7", request=1, repeatable="yes"),
    "an effect that no function reconciles": lambda ctx: ctx.effect("charge", key="7", request=1, reconcile=7),
}
VERDICTS = {
    "again, of a number": lambda ctx: Retry(404),
    "again, with a code that is a number": lambda ctx: Retry("x", code=404),
    "later, by a text": lambda ctx: Snooze("60"),
    "failed, by a number": lambda ctx: Fail(404),
    "done, with a reference that is a number": lambda ctx: Done(result_ref=404),
    "done, with half a reference": lambda ctx: Done(result_ref="\ud800"),
    "done, with an empty reference": lambda ctx: Done(result_ref=""),
    "failed, of no class": lambda ctx: Fail("x", klass="odd"),
    "done, covering something": lambda ctx: Done(1, coverage="partial"),
    "done, covering oddly": lambda ctx: Done(1, coverage=Coverage("odd")),
    "done, covering a text": lambda ctx: Done(1, coverage=Coverage("partial", "7", 5)),
    "done, with evidence of the end of time": lambda ctx: Done(1, evidence_at=datetime.max.replace(tzinfo=UTC)),
    "done, with evidence of a text": lambda ctx: Done(1, evidence_at="2026-01-01"),
    "no JSON": lambda ctx: {1, 2},
}


def given(worker, misuses, sync):
    """Handlers, a type of jobs for each misuse."""
    for n, misuse in enumerate(misuses.values()):
        if sync:
            worker.job(f"m{n}")(lambda ctx, _, misuse=misuse: misuse(ctx))
        else:

            async def handler(ctx, _, misuse=misuse):
                answer = misuse(ctx)
                return await answer if inspect.isawaitable(answer) else answer

            worker.job(f"m{n}")(handler)


async def ended(yard, worker, misuses, sync):
    """How the job of each misuse has ended."""
    given(worker, misuses, sync)
    ids = [await yard.submit(f"m{n}") for n in range(len(misuses))]
    async with yard.working(worker) as probe:
        for id in ids:
            await probe.seen("job.settled", job_id=id)
    views = [await yard.look(id) for id in ids]
    return {name: (v.state, v.error_class, v.attempt) for name, v in zip(misuses, views, strict=True)}


@pytest.mark.parametrize("sync", [False, True])
async def test_misuse_of_the_context_ends_the_job_at_once(yard, sync):
    found = await ended(yard, yard.worker(), MISUSES, sync)
    assert found == dict.fromkeys(MISUSES, ("failed", "bug", 1))


@pytest.mark.parametrize("kind", ["job", "approval"])
async def test_what_can_have_no_such_id_is_not_waited_for(yard, kind):
    worker = yard.worker()
    worker.job("t")(lambda ctx, _: ctx.wait_for("w", **{kind: "seven"}, timeout_seconds=60))
    id = await yard.submit()
    async with yard.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    assert (await yard.look(id)).error_code == "unknown_subject"


async def test_a_verdict_that_cannot_be_said_ends_the_job_at_once(yard):
    found = await ended(yard, yard.worker(), VERDICTS, sync=True)
    assert found == dict.fromkeys(VERDICTS, ("failed", "bug", 1))


@pytest.mark.parametrize(
    "stage, says",
    [
        (lambda ctx: ctx.stage("x", 7), "stage 'x' takes a function, and its arguments behind it; 7 is none."),
        (
            lambda ctx: ctx.stage("x", later(7)),
            "stage 'x' takes a function and its arguments: (fn, 7) in place of (fn(7)).",
        ),
        (lambda ctx: ctx.stage("x", later), "stage 'x' takes a plain function here: for later make the handler"),
        (lambda ctx: ctx.stage("x", lambda: later(7)), "answers has to be awaited: make the handler `async def`."),
        (lambda ctx: ctx.stage("x", abs, 1, 2), "stage 'x' cannot be called with 2 arguments: abs takes (x, /)"),
        (lambda ctx: ctx.progress({1}), "What ctx.progress was given is no JSON"),
    ],
)
async def test_it_says_what_to_write(on_postgres, stage, says):
    worker = on_postgres.worker()
    worker.job("t")(lambda ctx, _: stage(ctx))
    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    view = await on_postgres.look(id)
    assert view.error_code == "StageFault"
    assert says in view.error_message


@pytest.mark.parametrize("given, awaits", [(7, True), (None, False), (yields, True), (later, False)])
def test_what_cannot_be_called_is_the_handler_s_bug(given, awaits):
    with pytest.raises(StageFault, match="stage 'x' takes a"):
        check("stage 'x'", given, awaits=awaits)


def from_outside(answer):
    return len(answer)


@pytest.mark.parametrize("raises", [from_outside, len, functools.partial(from_outside)])
async def test_a_type_error_out_of_a_stage_may_come_of_what_the_outside_sent(on_postgres, raises):
    worker = on_postgres.worker()
    worker.job("t")(lambda ctx, _: ctx.stage("x", raises, 7))
    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id)
    assert (await on_postgres.look(id)).state == "accepted"


WRONG = {
    "no function": (7, "planned"),
    "a coroutine": (later, "planned"),
    "other arguments": (lambda a, b, c: a, "failed"),
}


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("fn, stands", WRONG.values(), ids=WRONG)
async def test_an_effect_that_cannot_be_called_so_has_not_happened(on_postgres, sync, fn, stands):
    """It is told as one that failed without effect, or was not begun: after a repair it is called."""
    worker, charge = on_postgres.worker(), {"key": "7", "request": 1}

    async def asynchronous(ctx, _):
        async with ctx.effect("charge", **charge) as effect:
            await effect.call(fn() if fn is later else fn, 1)

    def synchronous(ctx, _):
        with ctx.effect("charge", **charge) as effect:
            effect.call(fn, 1)

    worker.job("t")(synchronous if sync else asynchronous)
    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id, state="failed")
    view = await on_postgres.look(id)
    found = await on_postgres.play(effects.get, effect_id(id, "charge", "7"))
    assert (view.error_code, view.attempt) == ("StageFault", 1)
    assert (found.execution, found.no_effect if stands == "failed" else True) == (stands, True)


async def test_what_has_to_be_awaited_in_a_thread_is_not_said_to_have_happened(on_postgres):
    worker = on_postgres.worker()

    @worker.job("t")
    def handler(ctx, _):
        with ctx.effect("charge", key="7", request=1) as effect:
            effect.call(lambda: later(7))

    id = await on_postgres.submit()
    async with on_postgres.working(worker) as probe:
        await probe.seen("job.settled", job_id=id)
    assert (await on_postgres.play(effects.get, effect_id(id, "charge", "7"))).execution == "unknown"


@pytest.mark.parametrize("fn", [lambda ctx: None, lambda: None, lambda ctx, given, more: None, 7])
def test_a_handler_that_cannot_be_called_is_refused_when_it_is_named(fn):
    worker = Worker("http://a", "k")
    with pytest.raises(ValueError, match="'t' is called with a context and the input"):
        worker.job("t")(fn)
    assert not worker.handlers


def test_what_stands_before_a_function_may_take_other_arguments():
    """A wrapper that gives its function something more says, by its signature, what it wraps."""

    @functools.wraps(from_outside)
    def wrapper(*args):
        return from_outside(*args, "abc") if not args else from_outside(*args)

    worker = Worker("http://a", "k")
    worker.job("t")(functools.wraps(lambda db, ctx, given: None)(lambda ctx, given: None))
    check("a stage", wrapper, awaits=False)
    assert call("a stage", wrapper, ()) == 3
    with pytest.raises(TypeError) as told:
        call("a stage", wrapper, (7,))
    assert not isinstance(told.value, NeverRan)


@pytest.mark.parametrize("name", [one.name for one in dataclasses.fields(Wanted) if one.type != "Any"])
def test_nothing_of_an_effect_is_of_another_kind(name):
    right = Wanted("pay", "7", {"n": 1})
    assert intended(claimed(), right).kind == "pay"
    for wrong in (object(), [], b"x", math.nan):
        with pytest.raises(StageFault, match=r"(?s) is none|cannot be planned"):
            intended(claimed(), dataclasses.replace(right, **{name: wrong}))


@pytest.mark.parametrize("name", Match.__struct_fields__)
def test_an_event_is_waited_for_by_whatever_a_match_says(name):
    from steadhold.worker.waits import behind

    assert getattr(behind("i", ("e", 5), {name: "t"}).match, name) == "t"
    for wrong in ({name: 7}, {f"{name}s": "t"}):
        with pytest.raises(StageFault, match=name):
            behind("i", ("e", 5), wrong)


async def test_a_wait_for_an_instant_is_one():
    """What is refused above is refused for what it is, not for how it is said."""
    from steadhold.worker.waits import awaiting, behind

    assert awaiting("w", "go", None, None, datetime(2030, 1, 1, tzinfo=UTC), None).until is not None
    assert awaiting("w", "go", None, None, None, 60).until is not None
    assert behind("i", ["e", 5], {"type": "t", "aggregate_id": None}).sequence == 5
    await asyncio.sleep(0)
