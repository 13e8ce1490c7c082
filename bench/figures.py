"""What is made of raw figures: medians, ratios, percentiles and the windows of a long run. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which `share` of the values lie; None where there are none."""
    if not values:
        return None
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def medians(runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The median of each number that all runs tell. Values that are no numbers are left out."""
    names = [name for name in (runs[0] if runs else {}) if all(_is_number(run.get(name)) for run in runs)]
    return {name: median(run[name] for run in runs) for name in names}


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """How many times theirs ours is; None where either is missing or theirs is nothing."""
    return ours / theirs if ours is not None and theirs else None


def last_seconds(each_second: Sequence[float], seconds: int) -> float | None:
    """The mean rate of the last full seconds of a run; None where it was no longer than half of them."""
    tail = each_second[-seconds:]
    return sum(tail) / len(tail) if len(tail) * 2 > seconds else None


def cost(without: float | None, under: float | None) -> float | None:
    """Which share of a rate is lost; below nothing where it rose."""
    kept = ratio(under, without)
    return None if kept is None else 1 - kept
