"""A real client lists and calls every tool, over both transports."""

from __future__ import annotations

import pytest

from steadhold.mcp.speaker import GUIDE
from steadhold.mcp.table import TOOLS
from steadhold.sdk import Client
from tests.mcp.agents import TRANSPORTS, agent
from tests.mcp.tour import tour

NAMES = {tool.name for tool in TOOLS}


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_client_lists_and_calls_every_tool(site, key, transport):
    async def prepare():
        with Client(site.url, key.key) as owner:
            owner.inboxes["orders"].create()
            owner.inboxes["orders"].consumer("books").create()
            owner.schedules.put("nightly", "report", every_seconds=3600)

    async with agent(transport, site.url, key.key) as one:
        listed = {tool.name for tool in (await one.client.list_tools()).tools}
        assert listed == NAMES | {GUIDE.name}
        await tour(one, prepare)
        assert one.called == NAMES
