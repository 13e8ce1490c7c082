"""Actions whose answers the network loses, at each step of theirs and through both doors: begun once, called once."""

from __future__ import annotations

import pytest

from steadhold.worker import Acted, NoEffect, Snooze
from tests.faults.proxy import Fault
from tests.worker.conftest import served
from tests.worker.test_cut import cut_off, proxy  # noqa: F401 - fixtures
from tests.worker.test_effects import CHARGE, effect_of, steps, until


@pytest.fixture
async def cut_from_its_server(player, proxy, workspace):  # noqa: F811
    """Workers whose server is asked without fault, while its words to the database pass the proxy."""
    async with served(player, proxy.dsn, workspace) as yard:
        yield yard


@pytest.fixture(params=["cut_off", "cut_from_its_server"])
def cut(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("delivered", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize("moment", ["plan", "initiate", "outcome"])
async def test_an_action_whose_answers_are_lost_is_called_once(cut, proxy, moment, delivered):  # noqa: F811
    worker, called = cut.worker(concurrency=1, prefetch=0), []

    @worker.job("t")
    async def handler(ctx, input):
        def lose(at):
            if at == moment:
                proxy.at_commit(Fault.CUT, delivered=delivered)

        async def charge(id):
            called.append(id)
            lose("outcome")
            return Acted("paid", venue_ref="pi_1")

        lose("plan")
        async with ctx.effect("charge", **CHARGE) as effect:
            lose("initiate")
            return await effect.call(charge, effect.id)

    id = await cut.submit()
    await until(cut, worker, id)
    found = await effect_of(cut, id)
    assert (called, found.initiations, found.venue_ref) == ([found.id], 1, "pi_1")
    assert await steps(cut, found.id) == ["planned", "initiated", "succeeded"]
    assert await cut.result(id) == b'"paid"'


@pytest.mark.parametrize("delivered", [True, False], ids=["committed", "not committed"])
async def test_a_try_without_effect_is_told_once_and_the_next_succeeds(cut, proxy, delivered):  # noqa: F811
    worker, called = cut.worker(concurrency=1, prefetch=0), []

    @worker.job("t")
    async def handler(ctx, input):
        async def charge():
            called.append(1)
            if len(called) == 1:
                proxy.at_commit(Fault.CUT, delivered=delivered)
                raise NoEffect("nobody listens there")

        async with ctx.effect("charge", **CHARGE) as effect:
            try:
                await effect.call(charge)
            except NoEffect:
                return Snooze(0)

    id = await cut.submit()
    await until(cut, worker, id)
    found = await effect_of(cut, id)
    assert (len(called), found.initiations, found.execution) == (2, 2, "succeeded")
    assert await steps(cut, found.id) == ["planned", "initiated", "failed", "initiated", "succeeded"]
