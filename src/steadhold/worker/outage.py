"""The time in which nobody answers, as it is logged: once when it begins, and once when it is over."""

from __future__ import annotations

import threading

from steadhold.worker.door import DoorShut
from steadhold.worker.log import LOG


class Outage:
    """Both threads of a shift share one: what either of them is not answered belongs to one outage."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.lasts = False

    def failed(self, verb: str, error: Exception) -> None:
        """Note that `verb` was not answered. An error that is no silence of the other side is logged each time."""
        if not isinstance(error, DoorShut | TimeoutError):
            LOG.warning("%s failed, and is said again: %s", verb, error)
        elif self._turned(lasts=True):
            LOG.warning(
                "%s was not answered, and all is said again until it is: %s", verb, str(error) or "it took too long"
            )

    def over(self) -> None:
        """Note an answer to a claim or a heartbeat: one of them is always under way."""
        if self.lasts and self._turned(lasts=False):  # asked first without the lock, as it hardly ever does
            LOG.warning("Answers come again.")

    def _turned(self, *, lasts: bool) -> bool:
        with self._lock:
            turned = self.lasts != lasts
            self.lasts = lasts
        return turned
