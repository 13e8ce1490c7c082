"""Sees from outside who waits for whom, and whether anybody asked for the time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg

from steadhold.testing.clock import Clock


class Watch:
    """A connection that looks at the others."""

    def __init__(self, conn: psycopg.Connection[Any], clock: Clock) -> None:
        self.conn, self.clock = conn, clock

    def held_up(self, running: Iterable[int], resting: Iterable[int]) -> dict[int, set[int]]:
        """Answer whom each running backend waits for, if all wait, at last, for a resting one; else nothing.

        A backend that waits for a resting one goes on waiting until that one is moved: only then is it
        safe to move somebody.
        """
        look = "select pid, pg_blocking_pids(pid) from unnest(%s::int[]) as pid"
        blockers = {pid: set(held_by) for pid, held_by in self.conn.execute(look, (list(running),))}
        still = set(resting)
        while more := {pid for pid, held_by in blockers.items() if held_by & still} - still:
            still |= more
        return blockers if blockers.keys() <= still else {}

    def activity(self, pids: Iterable[int]) -> str:
        """Describe what backends do, for a report."""
        look = "select pid, state, wait_event_type, wait_event, query from pg_stat_activity where pid = any(%s)"
        return "\n".join(str(row) for row in self.conn.execute(look, (list(pids),)))
