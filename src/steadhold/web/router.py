"""From an address to a route: a dictionary for plain addresses, a tree of segments for the others.

Segments are decoded one by one, so an encoded slash stays inside its segment and makes it no Id. Where a segment stands
for a key it may be anything: one that could be none is answered as any other that nobody has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from steadhold.kit import paths
from steadhold.kit.ids import UUID, is_id
from steadhold.web.ask import Route


class Doors(dict[str, Route]):
    """The routes of one address, by method. `capability`: the parameter that stands for a key there."""

    __slots__ = ("capability",)

    def __init__(self) -> None:
        super().__init__()
        self.capability: str | None = None


Found: TypeAlias = tuple[Doors, dict[str, str]]
"""The doors of an address, and its decoded parameters."""

PARAM: Final = re.compile(r"\{(\w+)(?::(uuid|path))?\}")
FITS: Final[dict[str, Callable[[str], object]]] = {"id": is_id, "uuid": UUID.fullmatch}
"""Whether a segment is what a parameter of this kind takes."""
REMEMBERED_MAX: Final = 4_096
REMEMBERED_BYTES_MAX: Final = 256
_UNDECODABLE: Final = "\udcff"  # no Id, no Path, no segment of a route


@dataclass(slots=True)
class _Node:
    statics: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    param: tuple[str, str, _Node] | None = None
    doors: Doors = field(default_factory=Doors)


class Router:
    """Finds the doors of an address. Two routes that could both answer one are refused when it is built."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._plain: dict[bytes, Doors] = {}
        self._root = _Node()
        self._found: dict[bytes, Found] = {}
        for route in routes:
            self._add(route)

    def find(self, raw: bytes) -> Found | None:
        """The doors of an address as it was sent, and its decoded parameters; None where there is nothing.

        What was found is remembered: nobody may change it. An address that lets in is a secret, and is not.
        """
        if (plain := self._plain.get(raw)) is not None:
            return plain, {}
        if (before := self._found.get(raw)) is not None:
            return before
        found = self._walk(raw)
        if found is not None and found[0].capability is None and len(raw) <= REMEMBERED_BYTES_MAX:
            if len(self._found) >= REMEMBERED_MAX:
                self._found.clear()
            self._found[raw] = found
        return found

    def _walk(self, raw: bytes) -> Found | None:
        node, params = self._root, dict[str, str]()
        parts = raw.split(b"/")
        for at in range(1, len(parts)):
            text = _text(parts[at])
            if (following := node.statics.get(text)) is not None:
                node = following
            elif node.param is None:
                return None
            else:
                name, kind, node = node.param
                if kind == "path":
                    params[name] = _text(b"/".join(parts[at:]))
                    break
                if not FITS[kind](text) and node.doors.capability is None:
                    return None
                params[name] = text
        return (node.doors, params) if node.doors else None

    def _add(self, route: Route) -> None:
        node = self._root
        segments = route.path.split("/")[1:]
        for at, segment in enumerate(segments):
            if not (found := PARAM.fullmatch(segment)):
                node = self._static(node, segment, route)
                continue
            if found[2] == "path" and at + 1 < len(segments):
                raise ValueError(f"{route.path}: a path parameter is the last part of an address")
            node = self._param(node, found[1], found[2] or "id", route)
        if route.method in node.doors:
            raise ValueError(f"{route.method} {route.path} is there twice")
        if node.doors and node.doors.capability != route.capability:
            raise ValueError(f"{route.path} lets in by its address for one method, and not for another")
        node.doors.capability = route.capability
        node.doors[route.method] = route
        if route.method == "GET":
            node.doors["HEAD"] = route
        if "{" not in route.path:
            self._plain[route.path.encode()] = node.doors

    def _static(self, node: _Node, segment: str, route: Route) -> _Node:
        if node.param:
            raise ValueError(f"{route.path}: {segment!r} could also be {node.param[0]!r} of another route")
        return node.statics.setdefault(segment, _Node())

    def _param(self, node: _Node, name: str, kind: str, route: Route) -> _Node:
        if node.statics:
            raise ValueError(f"{route.path}: {name!r} could also be one of {sorted(node.statics)} of other routes")
        if node.param is None:
            node.param = (name, kind, _Node())
        if node.param[:2] != (name, kind):
            raise ValueError(f"{route.path}: another route calls {name!r} {node.param[0]!r} ({node.param[1]})")
        return node.param[2]


def _text(raw: bytes) -> str:
    text = paths.from_url(raw) if b"%" in raw else raw.decode("latin-1")
    return _UNDECODABLE if text is None else text


def allowed(doors: Doors) -> str:
    """The methods of an address, as an `Allow` field says them."""
    return ", ".join(sorted(doors))
