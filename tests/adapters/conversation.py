"""A conversation with an agent whose tool counts in an inbox: `python conversation.py URL KEY TURN [STALLS]`."""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from steadhold.adapters.openai_agents import SteadholdSession
from steadhold.sdk import AsyncClient
from tests.adapters.killing import say


class Scripted(Model):
    """Calls the tool twice, and then says how many items it was shown."""

    def __init__(self, stalls: str) -> None:
        self.stalls, self.asked = stalls, 0

    async def get_response(self, system_instructions, input, *_, **_named):
        self.asked += 1
        say(f"model {self.asked}")
        if f"model {self.asked}" == self.stalls:
            await stalled()
        if self.asked < 3:
            call = ResponseFunctionToolCall(
                arguments=f'{{"n": {self.asked}}}', call_id=f"call-{self.asked}", name="count", type="function_call"
            )
            return ModelResponse([call], Usage(), None)
        text = ResponseOutputText(annotations=[], text=f"{len(input)} items", type="output_text")
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse([message], Usage(), None)

    def stream_response(self, *_, **_named):
        raise NotImplementedError


async def stalled():
    await asyncio.to_thread(sys.stdin.read)  # until it is killed


async def main(url, key, turn, stalls=""):
    async with AsyncClient(url, key) as client:

        @function_tool
        async def count(n: int) -> str:
            await client.inboxes["counted"].append("step", n, key=f"{turn}:{n}")
            say(f"tool {n}")
            if f"tool {n}" == stalls:
                await stalled()
            return f"counted {n}"

        agent = Agent(name="counter", model=Scripted(stalls), tools=[count])
        session = SteadholdSession("s", client, turn=turn)
        ran = await Runner.run(agent, f"hello {turn}", session=session, run_config=RunConfig(tracing_disabled=True))
        say(f"told {ran.final_output}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
