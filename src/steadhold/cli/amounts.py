"""Numbers as they are typed: each can be held, sent and waited for, or is refused where it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

import click

from steadhold.kit.limits import FENCE_NUMBER_MAX

_WHOLE: Final = re.compile("-?[0-9]{1,16}")
"""No count, revision or fence has more digits. Python would read `1_0` and the digits of every script, too."""

_MEASURE: Final = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)")


class Whole(click.IntRange):
    """A whole number, in plain digits and no more of them than any has."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read it. Raises BadParameter."""
        if not _WHOLE.fullmatch(text := str(value)):
            self.fail(f"{text!r:.40} is no whole number of 1 to 16 plain digits, as in 12.", param, ctx)
        return super().convert(value, param, ctx)


FENCE: Final = Whole(min=1, max=FENCE_NUMBER_MAX)


def a_fence(text: str) -> int:
    """The fence of a grant. Raises BadParameter."""
    return FENCE.convert(text, None, None)


class Measure(click.FloatRange):
    """A length of time, or what else is measured, in plain digits: neither endless nor no number at all."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it. Raises BadParameter."""
        if not _MEASURE.fullmatch(text := str(value)):
            self.fail(f"{text!r:.40} is no number in plain digits, as in 12 or 0.5.", param, ctx)
        found = super().convert(value, param, ctx)
        if not math.isfinite(found):
            self.fail(f"{text:.40}… is more than any number here.", param, ctx)
        return found


def limited(default: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command that lists `--limit`, as `limit`."""
    return click.option(
        "--limit", type=Whole(min=1), default=default, show_default=True, metavar="N", help="Stop after so many."
    )
