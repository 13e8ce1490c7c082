"""An agent of Pydantic AI over a handler that keeps stages: their names, and what is answered from them."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from types import SimpleNamespace

import msgspec
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from steadhold.adapters.pydantic_ai import SteadholdDurability, durable

STAGES = [
    "clerk__model.request:1",
    "clerk__function_toolset__-agent-.call_tool:add:1",
    "clerk__function_toolset__-agent-.call_tool:add:2",
    "clerk__model.request:2",
]
"""As jobs that are under way have them: a change strands these."""


class Handler:
    """What keeps stages as a worker does: JSON, once under a name in a run."""

    def __init__(self, kept=None):
        self.kept = {} if kept is None else kept
        self.job = SimpleNamespace(root_job_id="0198f000-0000-7000-8000-000000000000")
        self.names = []

    async def stage(self, name, fn):
        assert name not in self.names
        self.names.append(name)
        if name not in self.kept:
            self.kept[name] = msgspec.json.encode(await fn())
        return msgspec.json.Decoder(float_hook=Decimal).decode(self.kept[name])


@pytest.fixture
def asked():
    return []


@pytest.fixture
def agent(asked):
    async def model(messages, _info):
        asked.append("model")
        if len(messages) > 1:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("add", {"n": 1.5}), ToolCallPart("add", {"n": 2})])

    agent = Agent(FunctionModel(model), name="clerk", capabilities=[SteadholdDurability()])

    @agent.tool_plain
    async def add(n: float) -> float:
        asked.append(n)
        return n + 1

    return agent


async def run(agent, handler):
    with durable(handler):
        return await agent.run("go")


async def test_what_is_committed_is_not_asked_again(agent, asked):
    first = Handler()
    ran = await run(agent, first)
    assert (ran.output, asked) == ("done", ["model", 1.5, 2, "model"])
    assert len(first.names) == len(STAGES)
    for kept in range(len(STAGES) + 1):
        asked.clear()
        again = Handler({name: first.kept[name] for name in first.names[:kept]})
        assert (await run(agent, again)).output == "done"
        assert again.names == first.names
        assert len(asked) == len(STAGES) - kept


async def test_the_names_of_stages_are_kept(agent):
    handler = Handler()
    await run(agent, handler)
    assert handler.names == STAGES


async def test_each_run_of_a_job_has_stages_of_its_own(agent):
    handler = Handler()
    with durable(handler):
        one, two = await agent.run("go"), await agent.run("go")
    assert len(handler.names) == len(set(handler.names))
    assert one.run_id != two.run_id


async def test_jobs_side_by_side_are_apart(agent):
    one, two = Handler(), Handler()
    await asyncio.gather(run(agent, one), run(agent, two))
    assert one.names == two.names


async def test_outside_of_a_job_it_runs_as_without(agent, asked):
    assert (await agent.run("go")).output == "done"
    assert asked == ["model", 1.5, 2, "model"]
