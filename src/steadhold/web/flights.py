"""Requests in flight, and the one timer that ends those that take too long."""

from __future__ import annotations

import asyncio
from typing import Any

from steadhold.kit import limits


class Flight:
    """One request: the task that answers it, since when, and whether it was ended for being late."""

    __slots__ = ("began", "overdue", "task")

    def __init__(self, task: asyncio.Task[Any] | None, began: float) -> None:
        self.task, self.began, self.overdue = task, began, False

    def go_on(self, now: float) -> None:
        """It is not late: it waits for what its client still sends."""
        self.began = now

    def forgive(self) -> None:
        """It has ended what was late; the task may have more to answer."""
        if self.task:
            self.task.uncancel()


class Flights:
    """All requests in flight. A timer for each would cost more than most requests; a sweep costs nothing."""

    def __init__(self) -> None:
        self._flying: set[Flight] = set()

    def __len__(self) -> int:
        return len(self._flying)

    def begin(self, flight: Flight) -> None:
        """Count a request, until `end`."""
        self._flying.add(flight)

    def end(self, flight: Flight) -> None:
        """The request was answered."""
        self._flying.remove(flight)

    def end_overdue(self, now: float, seconds_max: float = limits.REQUEST_SECONDS_MAX) -> int:
        """End the requests that run longer than allowed; each answers that itself."""
        late = [flight for flight in self._flying if now - flight.began > seconds_max and not flight.overdue]
        for flight in late:
            flight.overdue = True
            if flight.task:
                flight.task.cancel()
        return len(late)
