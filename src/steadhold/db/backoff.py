"""How long to wait before trying again: doubling, and never in step with others that wait for the same thing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

SPREAD: Final = random.SystemRandom()
"""Of its own: nobody else's sequence is disturbed, and forks do not repeat it."""


def pauses(first_seconds: float, seconds_max: float) -> Iterator[float]:
    """Seconds to wait before each further try, without end."""
    pause = first_seconds
    while True:
        yield pause * SPREAD.uniform(0.5, 1.0)
        pause = min(pause * 2, seconds_max)
