"""What the page of agent frameworks shows is run."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from agents import Agent, RunConfig, Runner
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from steadhold.sdk import Client
from tests.adapters.conversation import Scripted

pytestmark = pytest.mark.docs
PAGE = (Path(__file__).parents[2] / "docs/agents.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
GRAPH, SESSION, CLERK, IN_A_JOB = PROGRAMS


@pytest.fixture
def client(site, key):
    with Client(site.url, key.key) as client:
        yield client


def names(site, key, client, **more):
    """What the page takes for given."""
    return {"client": client, "url": site.url, "api_key": key.key, **more}


def run(program, told):
    exec(compile(program, "docs/agents.md", "exec", dont_inherit=True), told)


def done(told):
    return told["app"].get_state(told["order"]).values["done"]


def test_a_graph_is_run_once(site, key, client):
    told = names(site, key, client)
    run(GRAPH, told)
    assert done(told) == ["reserved", "charged"]
    run(GRAPH, told)
    assert done(told) == ["reserved", "charged"]


def test_a_message_is_answered_once(site, key, client):
    quiet = SimpleNamespace(
        run=lambda *told, **named: Runner.run(*told, **named, run_config=RunConfig(tracing_disabled=True))
    )
    told = names(site, key, client, Runner=quiet)
    run(SESSION, told)
    for _ in range(2):
        model = Scripted("")
        model.asked = 2  # it says at once how many items it was shown
        answer = told["answer"](Agent(name="a", model=model), "talk", "message-1", "hello")
        assert asyncio.run(answer).final_output == "1 items"


async def worked(worker, client, type, input):
    """Let a worker of the page do one job; what came of it."""
    job = (await asyncio.to_thread(client.jobs.submit, type, input)).job_id
    serving = asyncio.ensure_future(worker.serve())
    ended = await asyncio.to_thread(client.jobs.wait, job, timeout_seconds=60)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    return ended, await asyncio.to_thread(client.jobs.result, job)


async def test_an_agent_is_a_job(site, key, client):
    model = FunctionModel(lambda _messages, _info: ModelResponse([TextPart("done")]))
    told = names(site, key, client, model=model)
    run(CLERK, told)
    ended, result = await worked(told["worker"], client, "clerk", "go")
    assert (ended.state, result.value, ended.stages) == ("completed", "done", 1)


async def test_a_graph_is_a_job(site, key, client):
    told = names(site, key, client)
    run(GRAPH, told)
    run(IN_A_JOB, told)
    ended, result = await worked(told["worker"], client, "order", None)
    assert (ended.state, result.value) == ("completed", {"done": ["reserved", "charged"]})
