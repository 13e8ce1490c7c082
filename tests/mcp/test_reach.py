"""What one agent did, asked again by keys that may do none of it."""

from __future__ import annotations

import pytest

from steadhold.sdk import Client
from tests.mcp.agents import Agent, over_http
from tests.mcp.test_over_http import key_with
from tests.mcp.tour import tour

OWN = {"whoami", "job_claim"}
"""Whoever asks is told of itself, or is given what there is for it: nothing."""

MAKES = {
    "approval_request", "commit", "context_put", "effect_plan", "event_append", "job_submit", "lock_acquire",
    "lock_get", "state_put",
}  # fmt: skip
"""What another workspace's key does in its own."""


class Noting(Agent):
    """An agent that notes what it asks."""

    def __init__(self, client):
        super().__init__(client)
        self.said = []

    async def ask(self, tool, **arguments):
        self.said.append((tool, arguments))
        return await super().ask(tool, **arguments)


async def toured(site, key):
    async def prepare():
        with Client(site.url, key.key) as owner:
            owner.inboxes["orders"].create()
            owner.inboxes["orders"].consumer("books").create()
            owner.schedules.put("nightly", "report", every_seconds=3600)

    async with over_http(site.url, key.key) as agent:
        noting = Noting(agent.client)
        await tour(noting, prepare)
        return noting.said


@pytest.mark.parametrize("who", ["of a prefix elsewhere", "of an operator", "of another workspace"])
async def test_no_tool_reaches_what_its_key_may_not(site, key, who):
    said = await toured(site, key)
    elsewhere = [f"{room}:{verb}:elsewhere" for room in ("state", "context") for verb in ("read", "write")]
    other, left = {
        "of a prefix elsewhere": lambda: (key_with(site, key, *elsewhere)[0], OWN),
        "of an operator": lambda: (site.operator_key, OWN),
        "of another workspace": lambda: (site.workspace().key, OWN | MAKES),
    }[who]()
    asked = 0
    async with over_http(site.url, other) as agent:
        for tool, arguments in said:
            if tool not in left:
                told = await agent.ask(tool, **arguments)
                assert told.error or told.data["items"] == [], (tool, told.text)
                asked += 1
    assert asked > 30
