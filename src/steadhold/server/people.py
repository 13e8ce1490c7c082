"""The door of people, the dashboard at `/ui`: where it stands, and opened when it is first asked for."""

from __future__ import annotations

import asyncio
import functools
import importlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Final

from steadhold.server.engine import Engine
from steadhold.server.settings import Settings
from steadhold.web import wire
from steadhold.web.ask import Problem, Route

PATH: Final = "/ui"
_ABSENT: Final = Problem("not_found", "This server has no dashboard: install steadhold with its extra `server`.")


@functools.cache
def there() -> bool:
    """Whether what it needs is installed; it is not loaded for that."""
    return importlib.util.find_spec("jinja2") is not None


def here(settings: Settings, path: str, root: str, host: str) -> bool:
    """Whether an address is one of the dashboard's.

    Mounted inside another application it shares an origin with that one's pages, so it is off there unless it has a
    host name of its own; with one, it answers to no other name.
    """
    if path != PATH and not path.startswith(PATH + "/"):
        return False
    wanted = settings.dashboard_host.lower()
    return settings.dashboard and (host == wanted if wanted else not root)


class People:
    """Stands where the dashboard will be, and hands on to it."""

    def __init__(self, engine: Engine, routes: Sequence[Route], settings: Settings) -> None:
        self._made_of = (routes, engine.doors, engine.keyring, settings.public_url)
        self._front: Any = None
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request of a browser."""
        try:
            front = self._front or await self._opened()
        except ModuleNotFoundError as error:
            if error.name not in {"jinja2", "markupsafe"}:
                raise
            await wire.send(send, _ABSENT)
            return
        await front(scope, receive, send)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._front is None:
                found = await asyncio.to_thread(importlib.import_module, "steadhold.dashboard.front")
                self._front = found.Front(*self._made_of)
            return self._front
