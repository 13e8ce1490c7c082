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
from steadhold.kit import ids

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


def asking(asked):
    """An agent whose tool asks another: `ask q1`, `ask q2`, and then it says what it was answered."""

    async def theirs(messages, _info):
        asked.append(messages[0].parts[-1].content)
        return ModelResponse([TextPart(f"answer to {asked[-1]}")])

    async def own(messages, _info):
        told = [part.content for message in messages for part in message.parts if part.part_kind == "tool-return"]
        if len(told) == 2:
            return ModelResponse([TextPart(", ".join(told))])
        return ModelResponse([ToolCallPart("ask", {"question": f"q{len(told) + 1}"})])

    other = Agent(FunctionModel(theirs), name="other", capabilities=[SteadholdDurability()])
    agent = Agent(FunctionModel(own), name="asking", capabilities=[SteadholdDurability()])

    @agent.tool_plain
    async def ask(question: str) -> str:
        return (await other.run(question)).output

    return agent


async def test_an_agent_that_a_tool_asks_is_answered_what_was_asked(asked):
    first = Handler()
    agent = asking(asked)
    assert (await run(agent, first)).output == "answer to q1, answer to q2"
    for kept in range(len(first.kept) + 1):
        again = Handler(dict(list(first.kept.items())[:kept]))
        assert (await run(agent, again)).output == "answer to q1, answer to q2"
        assert again.kept.keys() == first.kept.keys()


def said(ran):
    """What was said in a run, but for calls of tools."""
    parts = [part for message in ran.all_messages() for part in message.parts]
    return [part.content for part in parts if part.part_kind != "tool-call"]


class Shuffled(Handler):
    """Answers what is kept in another order than it was kept: who is named first waits for the other."""

    async def stage(self, name, fn):
        for _ in range(0 if "@" in name else 40):
            await asyncio.sleep(0)
        return await super().stage(name, fn)


async def test_runs_side_by_side_keep_to_their_own_answers():
    async def model(messages, _info):
        told = len(messages)
        who = messages[0].parts[-1].content
        return ModelResponse([ToolCallPart("add", {"who": who}) if told < 4 else TextPart(f"for {who}")])

    agent = Agent(FunctionModel(model), name="clerk", capabilities=[SteadholdDurability()])
    agent.tool_plain(name="add")(lambda who: f"to {who}")

    async def both(handler):
        with durable(handler):
            ran = await asyncio.gather(agent.run("a"), agent.run("b"))
        return [said(one) for one in ran]

    first = Handler()
    told = await both(first)
    assert told == [[who, f"to {who}", f"to {who}", f"for {who}"] for who in "ab"]
    again = Shuffled(dict(first.kept))
    assert await both(again) == told
    assert set(again.names) == set(first.names)
    assert again.names != first.names


async def test_no_two_names_are_spelled_alike():
    async def model(_messages, _info):
        return ModelResponse([TextPart("done")])

    handlers = []
    for name in ["M\u00fcller", "M\u00f6ller", "a b", "a-b", "a@b", "a~b", "a~20~b", "n" * 300, "n" * 299 + "m"]:
        handlers.append(Handler())
        await run(Agent(FunctionModel(model), name=name, capabilities=[SteadholdDurability()]), handlers[-1])
    names = [handler.names[0] for handler in handlers]
    assert len(set(names)) == len(names)
    assert all(ids.is_id(name) for name in names)


async def test_jobs_side_by_side_are_apart(agent):
    one, two = Handler(), Handler()
    await asyncio.gather(run(agent, one), run(agent, two))
    assert one.names == two.names


async def test_outside_of_a_job_it_runs_as_without(agent, asked):
    assert (await agent.run("go")).output == "done"
    assert asked == ["model", 1.5, 2, "model"]
