"""An application that is loaded when it is first asked for: what it needs is large, and may be absent."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any, ClassVar

from steadhold.web import wire
from steadhold.web.ask import Problem


class LazyApp:
    """Stands where an application will be, and hands on to it: `name` of `module`, made of what this is made of.

    Where one of the packages `needed` is not installed, the answer is `absent`.
    """

    module: ClassVar[str]
    name: ClassVar[str]
    needed: ClassVar[tuple[str, ...]]
    absent: ClassVar[Problem]

    def __init__(self, *made_of: Any) -> None:
        self._made_of, self._app = made_of, None
        self._loading = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        try:
            app = self._app or await self._loaded()
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(self.needed):
                raise
            await wire.send(send, self.absent)
            return
        await app(scope, receive, send)

    async def _loaded(self) -> Any:
        async with self._loading:
            if self._app is None:
                found = await asyncio.to_thread(importlib.import_module, self.module)
                self._app = getattr(found, self.name)(*self._made_of)
            return self._app
