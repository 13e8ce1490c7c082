"""What several processes counted, as one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from steadhold.telemetry.gauges import NAMES

LASTING: Final = frozenset({"counter", "histogram"})
"""What a process that has ended counted stays counted: a sum that fell would be read as a beginning from nothing."""

ONCE: Final = NAMES | {"steadhold_incarnation"}
"""Gauges of the database, which are no process's own: as whoever was asked read them."""

SMALLEST: Final = frozenset({"process_max_fds", "process_start_time_seconds", "steadhold_loop_last_success_seconds"})
"""Gauges of which the smallest tells most: the loop that has not gone well for longest. All others are added up."""


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One number, and the labels that it has."""

    name: str
    labels: dict[str, str]
    value: float


class Family(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of one name: a counter's, a histogram's or a gauge's."""

    name: str
    kind: str
    says: str
    samples: list[Sample]


Counts: TypeAlias = list[Family]


def lasting(counts: Counts) -> Counts:
    """What stays of them once their process has ended."""
    return [family for family in counts if family.kind in LASTING]


def total(asked: Counts, others: Iterable[Counts]) -> Counts:
    """Those of the process that was asked, and with them those of the others."""
    found = {family.name: _Adding(family) for family in asked}
    for counts in others:
        for family in counts:
            if family.name in ONCE:
                continue
            if family.name in found:
                found[family.name].add(family)
            else:
                found[family.name] = _Adding(family)
    return [adding.family() for adding in found.values()]


class _Adding:
    def __init__(self, first: Family) -> None:
        self._first = first
        self._samples = {_key(sample): sample for sample in first.samples}

    def add(self, more: Family) -> None:
        for sample in more.samples:
            here = self._samples.get(key := _key(sample))
            value = sample.value if here is None else self._of_two(here.value, sample.value)
            self._samples[key] = Sample(sample.name, sample.labels, value)

    def _of_two(self, one: float, other: float) -> float:
        return min(one, other) if self._first.name in SMALLEST else one + other

    def family(self) -> Family:
        samples = list(self._samples.values())
        return Family(self._first.name, self._first.kind, self._first.says, samples)


def _key(sample: Sample) -> tuple[str, tuple[str, ...]]:
    return sample.name, tuple(sample.labels.values())
