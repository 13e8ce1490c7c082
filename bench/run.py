"""One part of a run: what was asked for, and the raw figures, written after each so that a run can go on."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench import machine, stand


class Run:
    """The figures of one part, in `folder/part.json`. A round that is there already is not taken again."""

    def __init__(
        self,
        part: str,
        folder: Path,
        *,
        rounds: int,
        scale: float,
        only: Sequence[str],
        go_on: bool,
        until: float = math.inf,
    ) -> None:
        """`until`: nothing is begun behind this instant of `time.monotonic`."""
        self.part, self.path, self.scale, self.only = part, folder / f"{part}.json", scale, tuple(only)
        self._rounds, self._until = rounds, until
        kept = json.loads(self.path.read_text()) if go_on and self.path.exists() else {}
        self.raw: dict[str, list[dict[str, Any]]] = kept.get("raw", {})
        self.about = kept.get("about") or {
            "part": part,
            "commit": machine.commit(),
            "scale": scale,
            "machine": machine.shape(self.path.parent),
            "versions": machine.versions(),
            "postgres_settings": stand.POSTGRES,
        }

    def wanted(self, all_of_them: Iterable[str], *, rounds: int | None = None) -> Iterator[tuple[str, int]]:
        """What to measure now, and in which round: round by round what was asked for and is not there yet.

        It ends early where the time is over; then tables hold fewer rounds, and say so. What others have written is on
        the disk before: one that leaves that to the kernel would have those that wait for their disk pay for it.
        """
        names = [name for name in all_of_them if not self.only or name in self.only]
        for round_ in range(self._rounds if rounds is None else min(rounds, self._rounds)):
            for name in names:
                if not self.has(name, round_) and time.monotonic() < self._until:
                    os.sync()
                    yield name, round_

    def scaled(self, number: float, *, least: float) -> int:
        """A number of jobs at this run's scale."""
        return round(max(least, number * self.scale))

    def seconds(self, number: float) -> float:
        """A length of time at this run's scale."""
        return max(1.0, number * self.scale)

    def has(self, name: str, round_: int) -> bool:
        """Whether these figures are kept from a run that was cut short."""
        return len(self.raw.get(name, [])) > round_

    def keep(self, name: str, round_: int, figures: dict[str, Any]) -> None:
        """Keep figures, and write all that there are."""
        figures = {"taken": time.strftime("%H:%M:%S", time.gmtime()), **figures}
        self.raw.setdefault(name, []).append(figures)
        self.path.write_text(json.dumps({"about": self.about, "raw": self.raw}, indent=1) + "\n")
        _tell(f"{self.part} {name} {round_ + 1}/{self._rounds}: {_brief(figures)}")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _brief(figures: dict[str, Any]) -> str:
    numbers = {name: value for name, value in figures.items() if isinstance(value, (int, float))}
    told = [f"{name} {value:.4g}" for name, value in list(numbers.items())[:7]]
    return str(figures["absent"]) if "absent" in figures else ", ".join(told)
