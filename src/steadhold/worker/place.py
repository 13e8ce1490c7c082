"""Where a worker's jobs come from: a server over HTTP, or a database."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from steadhold import AsyncClient
from steadhold.worker.door import Door, Doors
from steadhold.worker.over_http import OverHttp

CONNECTIONS: Final = 8
STATEMENTS, STATEMENTS_MAX = 1_000, 10_000
STATEMENTS_VARIABLE: Final = "STEADHOLD_PREPARED_STATEMENTS"
_OVER_HTTP: Final = "prepared_statements= is of connections to PostgreSQL: say dsn= and workspace=."


@dataclass(frozen=True, slots=True)
class Place:
    """Where jobs come from."""

    url: str | None
    api_key: str | None
    workspace: str | None
    dsn: str | None
    client: AsyncClient | None
    prepared_statements: int | None

    def __post_init__(self) -> None:
        """Refuse two places, and half of one."""
        if self.prepared_statements is not None:
            _bounds("prepared_statements", self.prepared_statements)
            if self.url or self.client:
                raise ValueError(_OVER_HTTP)
        if self.dsn is not None and (self.url or self.api_key or self.client):
            raise ValueError("Jobs come either over HTTP (url and api_key, or client) or from PostgreSQL (dsn).")
        if self.dsn is not None and self.workspace is None:
            raise ValueError("With dsn=, say workspace=: keys name one, a database holds many.")

    def doors(self) -> Doors:
        """What opens doors to it. Raises ValueError where what was said is of another kind of place."""
        if self.dsn is not None:
            return _postgres(self.dsn, self.workspace or "", self._statements())
        if self.prepared_statements is not None:
            raise ValueError(_OVER_HTTP)
        return _http(self.client or AsyncClient(self.url, self.api_key, workspace=self.workspace))

    def _statements(self) -> int:
        """How many prepared statements a connection keeps: as it was said here, or in the environment."""
        if self.prepared_statements is not None:
            return self.prepared_statements
        if not (said := os.environ.get(STATEMENTS_VARIABLE)):
            return STATEMENTS
        if not re.fullmatch("[0-9]{1,16}", said):
            raise ValueError(f"{STATEMENTS_VARIABLE} is a whole number in plain digits, as in 12. It was {said!r:.40}.")
        return _bounds(STATEMENTS_VARIABLE, int(said))


def _postgres(dsn: str, workspace: str, statements: int) -> Doors:
    try:
        from steadhold.worker.on_postgres import OnPostgres
    except ModuleNotFoundError as error:
        raise RuntimeError(
            f"A worker on PostgreSQL needs the server extra ({error.name} is missing): pip install 'steadhold[server]'"
        ) from error

    async def open_one() -> Door:
        door = OnPostgres(dsn, workspace, size=CONNECTIONS, statements=statements)
        try:
            await door.look()
        except BaseException:
            await door.close()
            raise
        return door

    return open_one


def _http(client: AsyncClient) -> Doors:
    async def open_one() -> Door:
        return OverHttp(client.twin())

    return open_one


def _bounds(name: str, statements: int) -> int:
    if not 0 <= statements <= STATEMENTS_MAX:
        raise ValueError(f"{name} is 0 to {STATEMENTS_MAX}. It was {statements}.")
    return statements
