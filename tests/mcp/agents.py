"""Real clients of the protocol, over both transports, and what they make of results."""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from steadhold.mcp.telling import NOTICE, STORED

TRANSPORTS = ("http", "stdio")


class Told:
    """What a tool answered: `facts` are steadhold's own, `text` is what was stored, and `data` what it says as JSON."""

    def __init__(self, result):
        self.result, self.error = result, result.is_error
        self.facts = result.structured_content["answer"]
        self.stored = result.structured_content.get("stored")
        assert json.loads(result.content[0].text) == self.facts
        if self.stored is None:
            assert len(result.content) == 1
        else:
            (marked,) = result.content[1:]
            assert marked.meta[STORED] is True
            assert marked.text.startswith(NOTICE)
            assert self.stored["text"] in marked.text

    @property
    def text(self):
        return self.stored["text"]

    @property
    def data(self):
        return json.loads(self.text)


class Agent:
    """A client that remembers which tools it has called."""

    def __init__(self, client):
        self.client, self.called = client, set()

    async def ask(self, tool, **arguments):
        """Whatever the tool says."""
        self.called.add(tool)
        return Told(await self.client.call_tool(tool, arguments))

    async def do(self, tool, **arguments):
        """What the tool answers, which must be yes."""
        told = await self.ask(tool, **arguments)
        assert not told.error, (tool, told.facts, told.text)
        return told

    async def refused(self, tool, code, **arguments):
        """The refusal, which must have this code."""
        told = await self.ask(tool, **arguments)
        assert (told.error, told.facts.get("code")) == (True, code), (tool, told.facts, told.stored)
        return told


@asynccontextmanager
async def over_http(url, key, mode="auto"):
    headers = {"authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield Agent(client)


@asynccontextmanager
async def over_stdio(url, key, errors=None):
    environ = {**os.environ, "STEADHOLD_URL": url, "STEADHOLD_API_KEY": key}
    words = StdioServerParameters(command=sys.executable, args=["-m", "steadhold", "mcp"], env=environ)
    async with Client(stdio_client(words, errlog=errors or sys.stderr)) as client:
        yield Agent(client)


def agent(transport, url, key):
    """An agent that speaks over a transport."""
    return {"http": over_http, "stdio": over_stdio}[transport](url, key)
