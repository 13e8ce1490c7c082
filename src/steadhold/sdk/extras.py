"""The members of a problem, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast


def flat(extras: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Members with the members of theirs, as in `artifact.hash`; those that say nothing are left out."""
    for name, value in extras.items():
        if isinstance(value, Mapping):
            yield from flat(cast("Mapping[str, Any]", value), f"{above}{name}.")
        elif value != "":
            yield f"{above}{name}", value
