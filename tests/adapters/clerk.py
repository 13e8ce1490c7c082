"""A worker whose job is an agent with a tool that counts in an inbox: `python clerk.py URL KEY [STALLS]`."""

from __future__ import annotations

import asyncio
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from steadhold.adapters.pydantic_ai import SteadholdDurability, durable
from steadhold.sdk import AsyncClient
from steadhold.worker import Worker
from tests.adapters.killing import say


def clerk(client, key, stalls=""):
    """Calls the tool twice, and then says what it was told."""

    async def reached(place):
        say(place)
        if place == stalls:
            await asyncio.to_thread(sys.stdin.read)  # until it is killed

    async def model(messages, _info):
        asked = sum(isinstance(message, ModelResponse) for message in messages) + 1
        await reached(f"model {asked}")
        if asked < 3:
            return ModelResponse([ToolCallPart("count", {"n": asked}, tool_call_id=f"call-{asked}")])
        told = [part.content for message in messages for part in message.parts if part.part_kind == "tool-return"]
        return ModelResponse([TextPart(" ".join(told))])

    agent = Agent(FunctionModel(model), name="clerk", capabilities=[SteadholdDurability()])

    @agent.tool_plain
    async def count(n: int) -> str:
        await client.inboxes["counted"].append("step", n, key=f"{key}:{n}")
        await reached(f"tool {n}")
        return f"counted {n}"

    return agent


async def main(url, key, stalls=""):
    worker = Worker(url, key)
    async with AsyncClient(url, key) as client:

        @worker.job("clerk")
        async def work(ctx, words):
            agent = clerk(client, ctx.job.root_job_id, stalls)
            with durable(ctx):
                ran = await agent.run(words)
            return ran.output

        await worker.serve()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
