"""Wait for a named moment instead of for milliseconds.

```python
probe = Probe()
worker = Worker(…, on=probe)
await probe.seen("job.claimed", job_id=job)
```
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

WITHIN_SECONDS: Final = 30.0
"""How long a moment may take. It only bounds a failing test: a passing one goes on at once."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened: its name and the facts that came with it."""

    name: str
    facts: Mapping[str, Any]

    def fits(self, name: str, facts: Mapping[str, Any]) -> bool:
        """Tell whether this has the name and, among its facts, all of these."""
        return self.name == name and all(key in self.facts and self.facts[key] == facts[key] for key in facts)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.facts.items())})"


@dataclass(slots=True, eq=False)
class _Wait:
    name: str
    facts: Mapping[str, Any]
    left: int
    met: Future[Moment] = field(default_factory=Future)

    def offer(self, moment: Moment) -> None:
        if moment.fits(self.name, self.facts):
            self.left -= 1
            if self.left == 0 and not self.met.done():
                self.met.set_result(moment)


class Probe:
    """A sink of events that can be waited on: pass it where an `on` is asked for.

    It may be called from any thread. A moment that passed before the wait began counts, so a test need
    not hurry; `times` waits for the n-th that fits, counted from the probe's beginning.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._moments: list[Moment] = []
        self._waits: set[_Wait] = set()

    def __call__(self, name: str, /, **facts: Any) -> None:
        """Take note of a moment."""
        moment = Moment(name, facts)
        with self._lock:
            self._moments.append(moment)
            for wait in self._waits:
                wait.offer(moment)

    @property
    def moments(self) -> list[Moment]:
        """What was seen so far, in order."""
        with self._lock:
            return list(self._moments)

    def count(self, name: str, /, **facts: Any) -> int:
        """Count the moments so far that have this name and these facts."""
        return sum(moment.fits(name, facts) for moment in self.moments)

    async def seen(
        self, name: str, /, *, times: int = 1, within_seconds: float = WITHIN_SECONDS, **facts: Any
    ) -> Moment:
        """Await a moment; an AssertionError tells what was seen instead."""
        with self._waiting(name, facts, times) as wait:
            try:
                return await asyncio.wait_for(asyncio.wrap_future(wait.met), within_seconds)
            except TimeoutError:
                raise self._missed(wait, within_seconds) from None

    def wait_for(self, name: str, /, *, times: int = 1, within_seconds: float = WITHIN_SECONDS, **facts: Any) -> Moment:
        """Block until a moment; an AssertionError tells what was seen instead."""
        with self._waiting(name, facts, times) as wait:
            try:
                return wait.met.result(within_seconds)
            except Late:
                raise self._missed(wait, within_seconds) from None

    @contextmanager
    def _waiting(self, name: str, facts: Mapping[str, Any], times: int) -> Iterator[_Wait]:
        wait = _Wait(name, facts, times)
        with self._lock:
            for moment in self._moments:
                wait.offer(moment)
            self._waits.add(wait)
        try:
            yield wait
        finally:
            with self._lock:
                self._waits.discard(wait)

    def _missed(self, wait: _Wait, seconds: float) -> AssertionError:
        wanted = str(Moment(wait.name, wait.facts)) + (f", {wait.left} more times," if wait.left > 1 else "")
        seen = "".join(f"\n  {moment}" for moment in self.moments) or " nothing"
        return AssertionError(f"{wanted} did not come within {seconds:g} s; seen instead:{seen}")
