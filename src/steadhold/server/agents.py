"""The door of agents, `/mcp`, which is opened when it is first asked for: what it needs is large, and may be absent."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any, Final

from steadhold.server.engine import Engine
from steadhold.server.lazy import LazyApp
from steadhold.web.ask import Problem

PATH: Final = "/mcp"


class Agents(LazyApp):
    """Stands where the door will be."""

    module, name = "steadhold.mcp.over_http", "OverHttp"
    needed = ("mcp", "jsonschema", "pydantic")
    absent = Problem("not_found", "This server has no door for agents: install steadhold with its extra `mcp`.")

    def __init__(self, app: Any, engine: Engine, described: bytes, hosts: tuple[str, ...]) -> None:
        super().__init__(app, engine.doors.above, described, hosts)


@functools.cache
def there() -> bool:
    """Whether what the door needs is installed; it is not loaded for that."""
    return all(importlib.util.find_spec(name) is not None for name in Agents.needed)
