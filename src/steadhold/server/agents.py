"""The door of agents, `/mcp`, which is opened when it is first asked for: what it needs is large, and may be absent."""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
from typing import Any, Final

from steadhold.server.engine import Engine
from steadhold.web import wire
from steadhold.web.ask import Problem

PATH: Final = "/mcp"
_ABSENT: Final = Problem("not_found", "This server has no door for agents: install steadhold with its extra `mcp`.")


_NEEDED: Final = ("mcp", "jsonschema", "pydantic")


@functools.cache
def there() -> bool:
    """Whether what the door needs is installed; it is not loaded for that."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


class Agents:
    """Stands where the door will be, and hands on to it."""

    def __init__(self, app: Any, engine: Engine, described: bytes, hosts: tuple[str, ...]) -> None:
        self._made_of = (app, engine.doors.above, described, hosts)
        self._door: Any = None
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one message of an agent."""
        try:
            door = self._door or await self._opened()
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(_NEEDED):
                raise
            await wire.send(send, _ABSENT)
            return
        await door(scope, receive, send)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._door is None:
                found = await asyncio.to_thread(importlib.import_module, "steadhold.mcp.over_http")
                self._door = found.OverHttp(*self._made_of)
            return self._door
