"""locks: what the clock has ended is written down, and what nobody asks for any more goes."""

from __future__ import annotations

from typing import Final

from steadhold.kit.duty import Duty
from steadhold.kit.plan import Call
from steadhold.locks import plans


def expiries(workspace: str, limit: int) -> Call[int]:
    """Write down which locks the clock has ended."""
    return plans.expire.call(workspace, limit)


def tickets(workspace: str, limit: int) -> Call[int]:
    """Remove tickets that wait no more, and those of operations that nobody will ask again."""
    return plans.forget.call(workspace, limit)


DUTIES: Final = (
    Duty("fences.lock", expiries, limit=500),
    Duty("locks.tickets", tickets, limit=1_000, every_seconds=2.0),
)
