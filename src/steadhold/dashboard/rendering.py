"""From a page's facts to HTML: Jinja with every value escaped, and an error where a fact is missing."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from steadhold.dashboard import charts
from steadhold.dashboard.layout import plain
from steadhold.kit.ids import new_id

STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
NOTHING: Final = "\N{EN DASH}"
"""Stands where a fact is absent."""

_WORDS: Final = {
    "good": "active approved committed completed delivered done enabled held published reconciled settled"
    " succeeded used",
    "busy": "accepted initiated open pending planned requested running started",
    "warn": "abandoned blocked coalesced disputed lapsed needed paused retried skipped unknown waiting",
    "bad": "disabled exhausted expired failed failing lost parked refused rejected reversed revoked",
}
TONES: Final = {word: tone for tone, words in _WORDS.items() for word in words.split()}
"""The tone in which a state's word is shown; of every other it is grey."""
_STEPS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


@functools.cache
def static(name: str) -> bytes:
    """A file that pages name: style, script, icon."""
    return resources.files("steadhold.dashboard").joinpath("static", name).read_bytes()


@functools.cache
def version(name: str) -> str:
    """What makes the address of a file another one when the file is."""
    return hashlib.sha256(static(name)).hexdigest()[:12]


def span(seconds: float | None) -> str:
    """A duration in its two largest units: `3 h 12 min`."""
    if seconds is None:
        return NOTHING
    left = abs(seconds)
    if left < 1:
        return f"{left * 1000:.0f} ms" if left else "0 s"
    parts: list[str] = []
    for unit, name in _STEPS:
        count, left = divmod(left, unit)
        if count or parts:
            parts.append(f"{int(count)} {name}")
        if len(parts) == 2:
            break
    return " ".join(part for part in parts if not part.startswith("0 "))


def moment(text: str) -> datetime:
    """An instant as doors tell it."""
    return datetime.fromisoformat(text)


def ago(text: str | None, now: datetime) -> str:
    """How long ago an instant was, or until it comes."""
    if not text:
        return NOTHING
    seconds = (now - moment(text)).total_seconds()
    return f"{span(seconds)} ago" if seconds >= 0 else f"in {span(seconds)}"


def clock(text: str | None) -> str:
    """An instant to the second, in UTC."""
    return NOTHING if not text else moment(text).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def size(count: int | None) -> str:
    """A number of bytes."""
    if count is None:
        return NOTHING
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError


def number(count: float | None) -> str:
    """A number with its thousands apart."""
    return NOTHING if count is None else f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


HELPERS: Final[Mapping[str, Any]] = {
    "sparkline": charts.sparkline,
    "bars": charts.bars,
    "meter": charts.meter,
    "version": version,
    "fresh_id": new_id,
    "tones": TONES,
}
"""What templates may call, beside the filters."""


def environment() -> Environment:
    """The templates, and what they may call."""
    made = Environment(
        loader=PackageLoader("steadhold.dashboard"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    made.filters |= {"span": span, "clock": clock, "size": size, "number": number, "plain": plain}
    return made


@functools.cache
def _environment() -> Environment:
    return environment()


def render(template: str, facts: Mapping[str, Any]) -> bytes:
    """A page as it is sent."""
    now = datetime.now(UTC)
    at_now = functools.partial(ago, now=now)
    return _environment().get_template(template).render({**HELPERS, "ago": at_now, "now": now, **facts}).encode()
