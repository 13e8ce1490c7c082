"""What was said of jobs, told together: each request takes what was said while the last one was on its way."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from steadhold.db.backoff import SPREAD
from steadhold.jobs.model import Said, Settlement
from steadhold.jobs.settling import SettleOutcome
from steadhold.worker.door import Door, DoorShut, Jammed
from steadhold.worker.held import Held

TOGETHER_MAX: Final = 500
FLIGHTS_MAX: Final = 2
SECOND_FLIGHT_FROM: Final = 250
PAUSE_SECONDS: Final = 0.1
PAUSE_SECONDS_MAX: Final = 2.0

Answered: TypeAlias = Callable[[Held, "SettleOutcome | None"], None]
"""Called with what a settlement came to; None: nobody could say until the lease was lost."""


class Entry(msgspec.Struct):
    """One settlement, made once: said again, it has the same content."""

    held: Held
    settlement: Settlement
    answered: Answered


class Settler:
    """Sends settlements, again where no answer came, until the lease is lost."""

    def __init__(self, door: Door, failed: Callable[[str, Exception], None]) -> None:
        self._door, self._failed = door, failed
        self._waiting: deque[Entry] = deque()
        self._flights: set[asyncio.Task[None]] = set()
        self._flying = 0
        self._context = contextvars.copy_context()  # a flight is for many jobs: it is no part of one handler's span

    def say(self, held: Held, said: Said, answered: Answered) -> None:
        """Settle a job; `answered` is called once."""
        held.settling = True
        self._waiting.append(Entry(held, Settlement(held.job.id, held.job.fence, said), answered))
        if self._flying == 0 or (self._flying < FLIGHTS_MAX and len(self._waiting) >= SECOND_FLIGHT_FROM):
            self._begin()

    async def finish(self) -> None:
        """Wait until everything said was answered, or given up."""
        while self._flights:
            await asyncio.wait(self._flights)

    def _begin(self) -> None:
        self._flying += 1
        self._run(self._fly())

    def _run(self, flight: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(flight, context=self._context.copy())
        self._flights.add(task)
        task.add_done_callback(self._flights.discard)

    async def _fly(self) -> None:
        await asyncio.sleep(0)  # what others have to say in this turn of the loop goes along
        try:
            while self._waiting:
                entries = [self._waiting.popleft() for _ in range(min(len(self._waiting), TOGETHER_MAX))]
                await self._until_answered(entries)
        finally:
            self._flying -= 1  # here and not when the task is seen to be done: until then more may be said

    async def _until_answered(self, entries: Sequence[Entry], *, patient: bool = False) -> None:
        pause = PAUSE_SECONDS
        while entries:
            try:
                answers = await self._door.settle_many([entry.settlement for entry in entries], patient=patient)
            except DoorShut as error:
                if isinstance(error, Jammed) and not patient:
                    for entry in entries:  # those who come next do not wait for them either
                        self._run(self._until_answered([entry], patient=True))
                    return
                self._failed("settle", error)
            except Exception as error:  # noqa: BLE001 - one bad item must not take the others along
                self._failed("settle", error)
                await self._apart(entries)
                return
            else:
                for entry, answer in zip(entries, answers, strict=True):
                    entry.answered(entry.held, answer)
                return
            await asyncio.sleep(pause * SPREAD.uniform(0.5, 1.0))
            pause = min(pause * 2, PAUSE_SECONDS_MAX)
            entries = self._still_ours(entries)

    async def _apart(self, entries: Sequence[Entry]) -> None:
        if len(entries) == 1:
            entries[0].answered(entries[0].held, None)
            return
        for entry in entries:
            await self._until_answered([entry])

    def _still_ours(self, entries: Sequence[Entry]) -> list[Entry]:
        ours: list[Entry] = []
        for entry in entries:
            if entry.held.ours():
                ours.append(entry)
            else:
                entry.answered(entry.held, None)
        return ours
