"""The one lock order of the house: whoever needs several rows takes them in this order.

Plans, flushes of many plans and background loops all obey it, so that no two of them wait for each other
in a circle. Within a rank a statement sorts by the keys it names; a plan keeps to one locking statement a rank.
"""

from __future__ import annotations

from typing import Final

RANKS: Final = (
    "operations",  # keys of operations
    "grants",  # who holds what: locks, job leases, consumers, lanes
    "jobs",
    "approvals",
    "effects",
    "schedules",
    "names",  # state and context
    "blobs",
    "aggregates",
    "consumers",
    "heads",  # what others wait for
    "counters",  # shared by everyone who writes to an inbox, so held the shortest
    "receipts",  # nothing can go wrong any more
)
READ: Final = "read"  # takes no lock, so it may stand anywhere

_PLACE: Final = {name: place for place, name in enumerate(RANKS)}


def place(rank: str) -> int:
    """Answer where a rank stands in the order, or -1 for `read`; an unknown rank is a KeyError."""
    return -1 if rank == READ else _PLACE[rank]
