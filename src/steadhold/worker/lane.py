"""Places for jobs of some types: what was claimed for them waits, runs and is settled here."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from steadhold.jobs.model import Release, Said
from steadhold.jobs.outcomes import Settled
from steadhold.jobs.settling import SettleOutcome
from steadhold.worker.held import CLOCK, MARGIN_SECONDS_MAX, MARGIN_SHARE, Held, Leases, Stopped
from steadhold.worker.log import LOG
from steadhold.worker.runner import Runner
from steadhold.worker.settler import Settler
from steadhold.worker.verdicts import failure, instead

AHEAD_SECONDS: Final = 0.1
"""How much work is claimed ahead, at the pace of the last jobs: what waits here could run elsewhere."""

BUFFERED_SECONDS_MAX: Final = 1.0
"""What has not begun by then is handed back, for workers with free places."""

PACE: Final = 0.1
LEASE_SHARE_MIN: Final = 0.25
"""A job begins only with so much of its lease left, so that it can be renewed before it ends."""


class Lane:
    """At most `places` handlers at once. A place ahead of them is free again once a settlement was answered."""

    def __init__(
        self,
        types: Sequence[str],
        places: int,
        prefetch_max: int,
        runner: Runner,
        settler: Settler,
        leases: Leases,
        tell: Callable[..., None],
    ) -> None:
        self.types = tuple(types)
        self.places, self.prefetch_max = places, prefetch_max
        self.freed = asyncio.Event()
        self.freed.set()
        self._runner, self._settler, self._leases, self._tell = runner, settler, leases, tell
        self._buffer: deque[Held] = deque()
        self._running: set[Held] = set()
        self._open = 0
        self._mean_seconds: float | None = None

    @property
    def room(self) -> int:
        """How many more jobs may be claimed."""
        return self.places + self._ahead() - self._open

    @property
    def hungry(self) -> bool:
        """Whether a claim is worth its while: nothing waits to run, or many could be taken at once."""
        room = self.room
        return room > 0 and (not self._buffer or room * 3 >= self.places + self._ahead())

    @property
    def idle(self) -> bool:
        """Whether nothing is open here."""
        return self._open == 0

    @property
    def unwound(self) -> bool:
        """Whether no handler runs any more that can be stopped."""
        return not any(held.job.type in self._runner.stoppable for held in self._running)

    def take(self, helds: Sequence[Held]) -> None:
        """Hold these, and begin what has a place."""
        self._open += len(helds)
        self._leases.add(helds)
        self._buffer.extend(helds)
        self._pump()

    def release(self, since: float) -> None:
        """Hand back what arrived before `since` and has not begun. Its attempt is refunded."""
        while self._buffer and self._buffer[0].arrived < since:
            self._settler.say(self._buffer.popleft(), Release(), self._answered)

    def stop(self, held: Held, said: Said | None) -> None:
        """Stop the handler of a job, saying so, or nothing where the job is not ours any more.

        One in a thread cannot be stopped: the job is settled at once, and its next call of `ctx` tells it.
        """
        if held.over or held.stopped is not None or held not in self._running:
            return
        if held.settling:  # it is said to wait: the answer may be that its handler goes on
            held.then = held.then or partial(self.stop, held, said)
            return
        held.stopped = Stopped(said)
        if held.job.type in self._runner.stoppable:
            if held.cancel is not None:
                held.cancel()
            return
        held.over = True
        if said is not None:
            self._settler.say(held, said, self._told)

    def stop_all(self, said: Said) -> None:
        """Stop every handler."""
        for held in list(self._running):
            self.stop(held, said)

    def watch(self, now: float) -> None:
        """Stop what has lost its lease or its time, and hand back what waits too long."""
        for held in list(self._running):
            if held.times_out_at is not None and now >= _stop_by(held, held.times_out_at):
                self.stop(held, failure("timeout", "The attempt ran longer than timeout_seconds.", "timeout"))
            elif now >= held.deadline:
                self.lose(held)
        self.release(now - BUFFERED_SECONDS_MAX)

    def lose(self, held: Held) -> None:
        """Note that a job is not ours any more, and stop its handler; what is being settled, the answer decides."""
        if held.over or held.lost or held.settling:
            return
        held.lost = True
        self._tell("lease.lost", job_id=held.job.id, fence=held.job.fence)
        LOG.warning("The lease of job %s under fence %s is lost; its handler is stopped.", held.job.id, held.job.fence)
        self.stop(held, None)

    def _ahead(self) -> int:
        if self._mean_seconds is None:
            return 0
        return min(self.prefetch_max, int(self.places * AHEAD_SECONDS / max(self._mean_seconds, 1e-6)))

    def _pump(self) -> None:
        now = CLOCK()
        while self._buffer and len(self._running) < self.places:
            held = self._buffer.popleft()
            if held.lost or held.deadline <= now:
                self._gone(held)
            elif held.deadline - now < held.job.lease_seconds * LEASE_SHARE_MIN:
                self._settler.say(held, Release(), self._answered)
            else:
                self._begin(held)

    def _begin(self, held: Held) -> None:
        self._running.add(held)
        self._tell("job.started", job_id=held.job.id, fence=held.job.fence, type=held.job.type)
        task = asyncio.get_running_loop().create_task(self._runner.run(held))
        held.cancel = task.cancel
        task.add_done_callback(partial(self._ran, held))

    def _ran(self, held: Held, task: asyncio.Task[Said | None]) -> None:
        self._running.discard(held)
        held.cancel = None
        said: Said | None = None
        if task.cancelled():
            said = None if held.stopped is None else held.stopped.said  # it was stopped before its first step
        elif (error := task.exception()) is not None:
            LOG.error("Job %s could not be run; its lease will lapse.", held.job.id, exc_info=error)
        else:
            said = task.result()
        pace = held.ran_seconds
        self._mean_seconds = pace if self._mean_seconds is None else (1 - PACE) * self._mean_seconds + PACE * pace
        if said is None:
            self._gone(held)
        else:
            self._settler.say(held, said, self._answered)
        self._pump()

    def _answered(self, held: Held, outcome: SettleOutcome | None) -> None:
        if not isinstance(outcome, Settled) and (said := instead(outcome)) is not None:
            self._settler.say(held, said, self._answered)
            return
        self._told(held, outcome)
        self._gone(held)

    def _told(self, held: Held, outcome: SettleOutcome | None) -> None:
        held.over = True
        if isinstance(outcome, Settled):
            self._tell("job.settled", job_id=held.job.id, fence=held.job.fence, state=outcome.state)
        else:
            why = "no answer" if outcome is None else type(outcome).__name__
            self._tell("settle.refused", job_id=held.job.id, fence=held.job.fence, why=why)
            LOG.warning("What job %s came to under fence %s was not taken: %s.", held.job.id, held.job.fence, why)

    def _gone(self, held: Held) -> None:
        held.over = True
        self._leases.drop(held)
        self._open -= 1
        self.freed.set()


def _stop_by(held: Held, ends_at: float) -> float:
    """When to stop, so that this can be said while the lease, which ends with the attempt's time, is still believed."""
    return ends_at - min(1.25 * MARGIN_SECONDS_MAX, (ends_at - held.arrived) * 1.5 * MARGIN_SHARE)
