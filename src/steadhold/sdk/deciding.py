"""Decide on what is there, and decide anew while others write first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from steadhold.sdk.errors import NotFound, Problem, RevisionConflict
from steadhold.sdk.grammar import Pause, Script

F = TypeVar("F")
T = TypeVar("T")

TRIES_MAX: Final = 32
"""How often it is decided anew, unless told otherwise."""


def deciding(
    read: Callable[[], Script[F]],
    decide: Callable[[F | None], Script[T]],
    tries_max: int,
    *also: type[Problem],
    creates: bool,
) -> Script[T]:
    """What a write comes to: `decide` makes one, not yet begun, of what is read; None is nothing, if it `creates`.

    `also` are refusals of the write that mean, as RevisionConflict does, that others were first.

    Raises:
        NotFound: there is nothing. RevisionConflict: others wrote first `tries_max` times.
        ValueError: `tries_max` is below 1.
    """
    for tries in range(1, tries_max + 1):
        try:
            found = yield from read()
        except NotFound:
            if not creates:
                raise
            found = None
        write = decide(found)
        try:
            return (yield from write)
        except (RevisionConflict, *also):
            if tries == tries_max:
                raise
            yield Pause(0.005 * 2.0 ** min(tries, 7))
    raise ValueError("tries_max is at least 1.")
