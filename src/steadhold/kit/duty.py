"""What runs in the background: sweeps, wake-ups, retention. A room lists its duties; loops run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from steadhold.kit.plan import Call


@dataclass(frozen=True, slots=True)
class Duty:
    """One sweep of a room. `name` is the one under which `steadhold.due()` announces it: "jobs.retention".

    `call(workspace, limit)` settles at most `limit` rows and answers how many it did; while it settles that
    many, more is due. It runs in a workspace at most once in `every_seconds`. `touches` are topics of the
    workspace, without its name, whose waiters look again when something was settled.
    """

    name: str
    call: Callable[[str, int], Call[int]]
    limit: int = 100
    every_seconds: float = 0.0
    touches: tuple[tuple[str, ...], ...] = ()
