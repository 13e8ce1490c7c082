"""When a delivery is tried again, and how an endpoint fares: paused where it fails, probed, let up step by step.

Pure: what moves is told. `at` is the database's time; jitter comes of the delivery, so that it is the same in every
process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

RETRY_SECONDS: Final = (0.0, 5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Waits before each attempt of a delivery, unless its endpoint says others."""

JITTER: Final = 0.2
"""A wait is lengthened or shortened by at most this part of it."""

FAILURES_TO_PAUSE: Final = 5
PAUSE_SECONDS: Final = 30.0
PAUSE_SECONDS_MAX: Final = 86_400.0
RETRY_AFTER_SECONDS_MIN: Final = 1.0
FREE_SECONDS_MAX: Final = 1e9
"""A rate that is next to nothing must not lead beyond all calendars."""

FAILURES_TO_DISABLE: Final = 20
SILENCE_TO_DISABLE: Final = timedelta(days=5)

Why: TypeAlias = Literal["failing", "gone", "asked"]


@dataclass(frozen=True, slots=True)
class Health:
    """How an endpoint fares. `width`: attempts it may have at once; `paused_until`: none before, then one as a probe.

    `failures` in a row, the first of them at `failing_since`.
    """

    failures: int = 0
    failing_since: datetime | None = None
    paused_until: datetime | None = None
    pauses: int = 0
    width: int | None = None


WELL: Final = Health()


@dataclass(frozen=True, slots=True)
class Answered:
    """What an attempt came to, as far as health goes: it went well, or not; what the endpoint asks for by it."""

    well: bool
    gone: bool = False
    wait_seconds: float | None = None


def after(health: Health, answers: Sequence[Answered], at: datetime) -> Health:
    """How an endpoint fares once attempts have ended, in their order."""
    for answered in answers:
        health = _succeeded(health, at) if answered.well else _failed(health, answered, at)
    return health


def _succeeded(health: Health, at: datetime) -> Health:
    """One success ends a row of failures; where it was paused, each lets one more go at once: 1, 2, 4 in rounds."""
    if health.width is None:
        return WELL if health.failures else health
    if health.paused_until is not None and health.paused_until > at:
        return health  # it began before the pause; the probe is what tells
    width = health.width + 1
    return replace(WELL, width=None if width > CONCURRENCY_MAX else width)


def _failed(health: Health, answered: Answered, at: datetime) -> Health:
    since = health.failing_since or at
    failed = replace(health, failures=health.failures + 1, failing_since=since)
    if answered.wait_seconds is not None:
        wait = min(max(answered.wait_seconds, RETRY_AFTER_SECONDS_MIN), PAUSE_SECONDS_MAX)
        return _paused(failed, at + timedelta(seconds=wait))
    waiting = health.paused_until is not None and health.paused_until > at
    if waiting or failed.failures < FAILURES_TO_PAUSE:
        return failed
    wait = min(PAUSE_SECONDS * 2**failed.pauses, PAUSE_SECONDS_MAX)
    return replace(_paused(failed, at + timedelta(seconds=wait)), pauses=min(failed.pauses + 1, 16))


def _paused(health: Health, until: datetime) -> Health:
    later = until if health.paused_until is None else max(until, health.paused_until)
    return replace(health, paused_until=later, width=1)


CONCURRENCY_MAX: Final = 64
"""Attempts that one endpoint may have at once, at most."""


def disables(health: Health, answers: Sequence[Answered], at: datetime) -> Why | None:
    """Whether an endpoint is given up: it said that it is gone; or it had days, and tries enough, without a success."""
    if any(answered.gone for answered in answers):
        return "gone"
    since = health.failing_since
    if since is None or health.failures < FAILURES_TO_DISABLE or at - since < SILENCE_TO_DISABLE:
        return None
    return "failing"


def width(health: Health, concurrency: int) -> int:
    """How many attempts an endpoint may have at once: as many as it says, or fewer while it is let up again."""
    return concurrency if health.width is None else min(concurrency, health.width)


def room(health: Health, concurrency: int, started: int, at: datetime) -> int:
    """How many attempts may begin now, where `started` have not ended."""
    if health.paused_until is not None and health.paused_until > at:
        return 0
    return max(0, width(health, concurrency) - started)


def affords(rate: float | None, free_at: datetime | None, at: datetime) -> int | None:
    """How many attempts may begin now at `rate` a second, saved up for at most a second; None: as many as there are."""
    if rate is None:
        return None
    burst = max(1.0, rate)
    saved = burst if free_at is None else (at - free_at).total_seconds() * rate + 1.0
    return max(0, int(min(saved, burst)))


def free_after(rate: float, free_at: datetime | None, at: datetime, begun: int) -> datetime:
    """When the next attempt may begin, once so many have begun now."""
    full = at - timedelta(seconds=(max(1.0, rate) - 1.0) / rate)
    since = full if free_at is None else max(free_at, full)
    return since + timedelta(seconds=min(begun / rate, FREE_SECONDS_MAX))


def next_wait(schedule: Sequence[float], tries: int, delivery: str) -> float | None:
    """Seconds until the next try, after `tries`; None where that was the last."""
    if tries >= len(schedule):
        return None
    drawn = int.from_bytes(hashlib.sha256(f"{delivery} {tries}".encode()).digest()[:4]) / 2**32
    return schedule[tries] * (1.0 - JITTER + 2.0 * JITTER * drawn)


def retry_after(text: str | None) -> float | None:
    """What a `Retry-After` field asks for, in seconds; a date is not read, for it would be the receiver's clock."""
    if text is None or not text.strip().isascii() or not text.strip().isdigit() or len(text.strip()) > 9:
        return None
    return float(text)
