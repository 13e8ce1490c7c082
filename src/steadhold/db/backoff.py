"""How long to wait before trying again: doubling, and never in step with others that wait for the same thing."""

from __future__ import annotations

import random
from collections.abc import Iterator


def pauses(first_seconds: float, seconds_max: float) -> Iterator[float]:
    """Seconds to wait before each further try, without end."""
    spread = random.SystemRandom()
    pause = first_seconds
    while True:
        yield pause * spread.uniform(0.5, 1.0)
        pause = min(pause * 2, seconds_max)
