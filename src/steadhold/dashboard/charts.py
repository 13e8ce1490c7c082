"""Small charts as SVG, drawn here: no script, and no style but the sheet's classes."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from markupsafe import Markup

WIDTH: Final = 160
HEIGHT: Final = 32


def sparkline(values: Sequence[float], *, label: str, tone: str = "") -> Markup:
    """A line over time, oldest first. `label` says in words what it shows; `tone`: a class of the sheet."""
    points = _points(values)
    area = f"0,{HEIGHT} {points} {WIDTH},{HEIGHT}"
    return _svg(label, f'<polygon class="area" points="{area}"/><polyline class="line" points="{points}"/>', tone)


def bars(values: Sequence[float], *, label: str, tone: str = "") -> Markup:
    """A bar for each value, oldest first."""
    most, wide = max([*values, 1]), WIDTH / max(len(values), 1)
    drawn = "".join(
        f'<rect class="bar" x="{at * wide:.1f}" y="{HEIGHT - tall:.1f}" width="{wide * 0.8:.1f}" height="{tall:.1f}"/>'
        for at, value in enumerate(values)
        if (tall := HEIGHT * value / most) > 0
    )
    return _svg(label, f'<line class="base" x1="0" y1="{HEIGHT}" x2="{WIDTH}" y2="{HEIGHT}"/>{drawn}', tone)


def meter(used: float, most: float, *, label: str) -> Markup:
    """How much of something is used, as one bar."""
    share = min(used / most, 1.0) if most > 0 else 1.0
    tone = "bad" if share >= 0.9 else "warn" if share >= 0.7 else ""
    inner = f'<rect class="track" width="{WIDTH}" height="8" rx="4"/>'
    if share > 0:
        inner += f'<rect class="bar" width="{max(WIDTH * share, 4):.1f}" height="8" rx="4"/>'
    return _svg(label, inner, tone, height=8)


def _points(values: Sequence[float]) -> str:
    shown = list(values) or [0.0]
    if len(shown) == 1:
        shown *= 2
    most, step = max(*shown, 1), WIDTH / (len(shown) - 1)
    return " ".join(f"{at * step:.1f},{HEIGHT - 2 - (HEIGHT - 4) * value / most:.1f}" for at, value in enumerate(shown))


def _svg(label: str, inner: str, tone: str, height: int = HEIGHT) -> Markup:
    head = f'<svg class="chart {escape(tone)}" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}"'
    return Markup(f'{head} preserveAspectRatio="none">{inner}</svg>')  # noqa: S704 - all of it is made here, and escaped
