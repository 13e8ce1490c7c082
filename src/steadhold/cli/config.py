"""`steadhold config`: what a server would run with, and why."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from steadhold.cli.flags import dotted, settable
from steadhold.cli.show import Out, printed


@click.group()
def config() -> None:
    """Settings: flags before STEADHOLD_* variables before a TOML file before defaults."""


@config.command()
@click.option("--origin", is_flag=True, help="Also say where each value came from.")
@printed
@settable
def show(config: str | None, origin: bool, out: Out, **flags: Any) -> None:  # noqa: FBT001 - a flag
    """Show every setting as `serve` would read it. Give it the same flags. Secrets are not shown."""
    from steadhold.server.sources import load, shown

    loaded = load(dotted(flags), os.environ, Path(config) if config else None)
    columns = ("name", "value", "origin")[: 3 if origin else 2]
    out.many((dict(zip(columns, row, strict=False)) for row in shown(loaded)), columns)
