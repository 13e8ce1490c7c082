"""What the rooms bring: doors, duties, guides, facts for capabilities. A room is mounted by being there."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from importlib import resources
from types import ModuleType
from typing import Any, Final

import steadhold
from steadhold.kit.duty import Duty
from steadhold.server.settings import Retention
from steadhold.web.ask import Route

WINDOWS: Final = {
    "events": "events_seconds",
    "jobs": "jobs_seconds",
    "operations": "receipts_seconds",
    "state": "tombstones_seconds",
}
"""The retention window that a room's own duties keep."""


@functools.cache
def rooms() -> tuple[str, ...]:
    """Names of the packages of the house, in order."""
    return tuple(sorted(found.name for found in pkgutil.iter_modules(steadhold.__path__) if found.ispkg))


def routes() -> tuple[Route, ...]:
    """The doors of all rooms."""
    return tuple(route for module in _modules("routes") for route in module.ROUTES)


def duties(retention: Retention) -> tuple[Duty, ...]:
    """What all rooms want done in the background, under these windows.

    A room whose duties depend on its window has a function `duties(kept_seconds)`, others a tuple `DUTIES`.
    """
    found: list[Duty] = []
    for module in _modules("loops"):
        window = WINDOWS.get(module.__name__.split(".")[1], "")
        windowed = window and hasattr(module, "duties")
        found += module.duties(float(getattr(retention, window))) if windowed else module.DUTIES
    return tuple(found)


def guides() -> dict[str, str]:
    """The guide of each room that has one, as Markdown."""
    found: dict[str, str] = {}
    for room in rooms():
        guide = resources.files(f"steadhold.{room}").joinpath("guide.md")
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
    return tuple(
        importlib.import_module(f"steadhold.{room}.{name}")
        for room in rooms()
        if room != "server" and importlib.util.find_spec(f"steadhold.{room}.{name}") is not None
    )
