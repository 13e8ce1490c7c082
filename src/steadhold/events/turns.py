"""Whose turn it is among the publications of a lane. Pure.

A key's publications go one after the other. What waits for its time, or is parked, is set apart, and so is what stands
behind it: a walk through a lane steps over neither, however much that is. The first of a key whose turn it is never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from operator import itemgetter
from typing import TypeAlias

from steadhold.kit.sql import Row

At: TypeAlias = tuple[str, int, str]
"""A publication: its event's aggregate and revision, and its subscription."""


@dataclass(frozen=True, slots=True)
class Turns:
    """What is to be done with the first publications of some keys."""

    keys: list[str]
    now: list[At]
    """To be published."""

    next: list[At]
    """The first of its key once those are published: to be let in where it is set apart."""

    waiting: list[At]
    """The first of its key, and its turn has not come: to be set apart, with all behind it."""


def in_turn(found: Sequence[Row], each: int) -> Turns:
    """Of each key at most `each` may go: what stands before the first whose turn has not come.

    `found` has one publication more of each, in order: key, aggregate, revision, subscription, whether it may be
    published.
    """
    turns = Turns([], [], [], [])
    for key, of_key in groupby(found, key=itemgetter(0)):
        line = [*of_key]
        ready = [*takewhile(itemgetter(4), line)][:each]
        turns.keys.append(key)
        turns.now.extend(map(_at, ready))
        (turns.next if ready else turns.waiting).extend(map(_at, line[len(ready) :][:1]))
    return turns


def _at(row: Row) -> At:
    return row[1], row[2], row[3]
