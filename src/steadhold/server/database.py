"""The database of a server, made ready as far as that is the server's to do."""

from __future__ import annotations

import functools
from contextlib import AsyncExitStack
from typing import Final

from steadhold.db.embedded import Embedded
from steadhold.db.folder import default_data_dir
from steadhold.db.migrate import migrate
from steadhold.server.settings import Settings
from steadhold.telemetry.lines import logger

log: Final = logger("steadhold.server")


async def opened(stack: AsyncExitStack, settings: Settings) -> str:
    """The URL of the database; an embedded one runs for as long as `stack` is open. Raises a DatabaseError."""
    dsn = settings.database_url or await _embedded(stack, settings)
    if settings.migrate or not settings.database_url:
        await migrate(dsn)
    return dsn


async def _embedded(stack: AsyncExitStack, settings: Settings) -> str:
    folder = settings.data_dir or default_data_dir()
    postgres = Embedded(folder, pg_bin=settings.pg_bin or None, on=functools.partial(log.warning, "embedded postgres"))
    await stack.enter_async_context(postgres)
    return postgres.dsn
