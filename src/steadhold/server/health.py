"""Is it alive, is it ready? Both are told without a key, so they tell names of checks and nothing of the data."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from steadhold.db.migrate import pending
from steadhold.db.pool import Pool

SKEW_SECONDS_MAX: Final = 5.0
CHECK_SECONDS_MAX: Final = 3.0
FRESH_SECONDS: Final = 1.0
"""A verdict is told again for this long, so that whoever asks often asks the database seldom."""


@dataclass(slots=True)
class Health:
    """Checks the database, its schema and its clock, on a connection that nobody else uses.

    So a server whose connections are all taken is busy, and ready; one more server would have to wait as well.
    """

    pool: Pool
    _checks: dict[str, str] = field(default_factory=dict[str, str])
    _checked_at: float = float("-inf")
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def checks(self) -> dict[str, str]:
        """Each check and "ok", or what is wrong in one sentence."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            if now - self._checked_at > FRESH_SECONDS:
                self._checks = await self._check()
                self._checked_at = asyncio.get_running_loop().time()
            return self._checks

    async def _check(self) -> dict[str, str]:
        try:
            async with asyncio.timeout(CHECK_SECONDS_MAX), self.pool.connection() as conn:
                sent = time.time()
                theirs = await conn.fetchval("select extract(epoch from clock_timestamp())::float8")
                skew = abs(float(theirs or 0) - (sent + time.time()) / 2)
                behind = await pending(conn)
        except Exception:  # noqa: BLE001 - whatever keeps it from answering, it is not ready
            return {"database": "PostgreSQL does not answer, or cannot be used."}
        return {
            "database": "ok",
            "migrations": "ok" if not behind else f"{len(behind)} to apply. Run: steadhold migrate",
            "clock": "ok" if skew <= SKEW_SECONDS_MAX else f"{skew:.1f} seconds from the database's.",
        }
