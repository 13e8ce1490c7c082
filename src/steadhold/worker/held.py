"""The jobs that this worker holds, and until when it may believe so, on its own monotonic clock."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from steadhold.jobs.model import Said
from steadhold.jobs.outcomes import Claimed
from steadhold.worker.log import LOG
from steadhold.worker.verdicts import LeaseLost

CLOCK: Final[Callable[[], float]] = time.monotonic
MARGIN_SHARE: Final = 0.1
MARGIN_SECONDS_MAX: Final = 2.0
RENEWALS_PER_LEASE: Final = 3
"""Two renewals may fail, and the lease still stands."""

RENEWAL_SECONDS_MAX: Final = 5.0
"""However long a lease is, requests to cancel are learned from its renewals."""


def believed(sent: float, length_seconds: float) -> float:
    """Until when a lease may be believed that was granted for `length_seconds` by an answer to what was `sent`.

    The server counts from when it was asked, which is later than when we sent: the margin is for clocks that run
    at other speeds, and for stopping in time.
    """
    return sent + length_seconds - min(MARGIN_SECONDS_MAX, length_seconds * MARGIN_SHARE)


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why a handler was cancelled, as what is to be said of its job; None: it is not ours to say."""

    said: Said | None


class Held:
    """One claimed job. Renewed by the thread of renewal, run and settled by the event loop."""

    __slots__ = (
        "arrived", "cancel", "cancel_requested", "deadline", "job", "lost", "over", "progress", "ran_seconds",
        "renew_at", "settling", "stopped", "then", "times_out_at",
    )  # fmt: skip

    def __init__(self, job: Claimed, sent: float) -> None:
        self.job = job
        self.arrived = sent
        self.deadline = believed(sent, job.lease_seconds)
        self.renew_at = sent + _renewal_seconds(job.lease_seconds)
        self.times_out_at = _times_out_at(job, sent)
        self.cancel_requested = False
        self.progress: bytes | None = None
        self.lost = False
        self.over = False
        self.settling = False
        self.cancel: Callable[[], object] | None = None
        self.stopped: Stopped | None = None
        self.then: Callable[[], object] | None = None
        self.ran_seconds = 0.0

    def renewed(self, sent: float, length_seconds: float, *, cancel_requested: bool) -> None:
        """Note an answer to a heartbeat. An older answer takes nothing back."""
        self.deadline = max(self.deadline, believed(sent, length_seconds))
        self.renew_at = sent + _renewal_seconds(length_seconds)
        self.cancel_requested = self.cancel_requested or cancel_requested

    def ours(self) -> bool:
        """Whether it may be believed that the job is still ours."""
        return not self.lost and not self.over and CLOCK() < self.deadline

    def check(self) -> None:
        """Raise LeaseLost once it may not be believed any more that the job is ours."""
        if not self.ours():
            why = "was handed back" if self.over else "is not this worker's any more"
            raise LeaseLost(f"Job {self.job.id} under fence {self.job.fence} {why}: stop working on it.")


def _renewal_seconds(length_seconds: float) -> float:
    return min(length_seconds / RENEWALS_PER_LEASE, RENEWAL_SECONDS_MAX)


def _times_out_at(job: Claimed, sent: float) -> float | None:
    """When the attempt's time is up. Both instants are the server's, so their distance is the clock's of neither."""
    if job.timeout_at is None:
        return None
    return sent + job.lease_seconds + (job.timeout_at - job.lease_expires_at).total_seconds()


def tell(on: Callable[..., None] | None, name: str, /, **facts: object) -> None:
    """Tell whoever wants to know. What goes wrong there is theirs, and stops nothing here."""
    if on is None:
        return
    try:
        on(name, **facts)
    except Exception:  # noqa: BLE001 - it is told in a line
        LOG.exception("on(%r, …) raised.", name)


class Leases:
    """What is held, for two threads. `hurry` is called when something is due sooner than all before."""

    def __init__(self, hurry: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._held: set[Held] = set()
        self._hurry = hurry
        self._asleep_until = 0.0

    def add(self, helds: Iterable[Held]) -> None:
        """Hold these too."""
        new = list(helds)
        with self._lock:
            self._held.update(new)
            sooner = min((held.renew_at for held in new), default=self._asleep_until) < self._asleep_until
        if sooner:
            self._hurry()

    def drop(self, held: Held) -> None:
        """Hold this one no more."""
        with self._lock:
            self._held.discard(held)

    def poke(self, held: Held) -> None:
        """Renew this one soon: it has something to tell."""
        held.renew_at = min(held.renew_at, CLOCK())
        self._hurry()

    def soonest(self, latest: float) -> float:
        """When the next is due, `latest` at most. Whoever asks will sleep until then: what is due sooner, hurries."""
        with self._lock:
            self._asleep_until = min([latest, *[held.renew_at for held in self._held]])
            return self._asleep_until

    def all(self) -> list[Held]:
        """Everything that is held."""
        with self._lock:
            return list(self._held)
