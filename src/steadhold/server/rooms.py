"""What the rooms bring: doors, duties, guides, facts for capabilities. A room is mounted by being there."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from importlib import resources
from types import ModuleType
from typing import Any, Final

import steadhold
from steadhold.kit.duty import Duty
from steadhold.server.settings import Retention
from steadhold.web.ask import Route

_HOUSE: Final = resources.files(steadhold)

WINDOWS: Final = {
    "context": "tombstones_seconds",
    "events": "events_seconds",
    "inboxes": "inbox_keys_seconds",
    "jobs": "jobs_seconds",
    "operations": "receipts_seconds",
    "schedules": "schedule_runs_seconds",
    "state": "tombstones_seconds",
    "webhooks": "deliveries_seconds",
}
"""The retention window that a room's own duties keep, and that its doors tell."""


@functools.cache
def rooms() -> tuple[str, ...]:
    """Names of the packages of the house, in order."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(steadhold.__path__) if found.ispkg))


def with_doors() -> tuple[str, ...]:
    """The rooms that can be spoken to over HTTP."""
    return tuple(module.__name__.split(".")[1] for module in _modules("routes"))


def routes(
    retention: Retention | None = None, handed: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[Route, ...]:
    """The doors of all rooms, under these windows (None: the usual ones), each with what it is handed beside."""
    return tuple(_windowed("routes", "routes", retention or Retention(), handed or {}))


def duties(retention: Retention) -> tuple[Duty, ...]:
    """What all rooms want done in the background, under these windows."""
    return tuple(_windowed("loops", "duties", retention, {}))


def _windowed(file: str, name: str, retention: Retention, handed: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """What rooms list in a file: by a function of its window where that matters, by a tuple in capitals elsewhere."""
    for module in _modules(file):
        room = module.__name__.split(".")[1]
        window = WINDOWS.get(room)
        make = getattr(module, name, None) if window else None
        if make is None:
            yield from getattr(module, name.upper())
        else:
            yield from make(float(getattr(retention, window or "")), **handed.get(room, {}))


def guides() -> dict[str, str]:
    """The guide of each room that has one, as Markdown."""
    found: dict[str, str] = {}
    for room in rooms():
        guide = _HOUSE.joinpath(room, "guide.md")
        if guide.is_file():
            found[room] = guide.read_text(encoding="utf-8")
    return found


@functools.cache
def facts() -> dict[str, Any]:
    """What rooms with doors tell of themselves in capabilities: `CAPABILITIES` of their packages."""
    told: dict[str, Any] = {}
    for module in _modules("routes"):
        room = importlib.import_module(module.__name__.rpartition(".")[0])
        mine: Mapping[str, Any] = getattr(room, "CAPABILITIES", {})
        told |= mine
    return told


@functools.cache
def _modules(name: str) -> tuple[ModuleType, ...]:
    """The modules of this name, without importing what has none: not every package comes with its dependencies."""
    having = [room for room in rooms() if room != "server" and _HOUSE.joinpath(room, f"{name}.py").is_file()]
    return tuple(importlib.import_module(f"steadhold.{room}.{name}") for room in having)
