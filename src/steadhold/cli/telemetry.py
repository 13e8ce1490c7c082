"""`steadhold telemetry`: the files that dashboards and alerts are made of."""

from __future__ import annotations

from importlib import resources
from typing import Final

import click

FILES: Final = {"grafana": "grafana.json", "alerts": "alerts.yaml"}


@click.command("telemetry")
@click.argument("what", type=click.Choice(sorted(FILES)))
def telemetry(what: str) -> None:
    """Print a dashboard for Grafana, or alert rules for Prometheus."""
    click.echo(resources.files("steadhold.telemetry").joinpath(FILES[what]).read_text(encoding="utf-8"), nl=False)
