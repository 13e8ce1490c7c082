"""A flag for each setting of the server, made of the table that describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def settable(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command a flag for each setting, and `config`; a flag that is not given is None.

    Names of groups lose their dot: `retention.jobs_seconds` is passed as `retention_jobs_seconds`.
    """
    from steadhold.server.settings import describe

    command = click.option("--config", metavar="FILE", help="A settings file. [env: STEADHOLD_CONFIG]")(command)
    for setting in reversed(describe()):
        command = _flag(setting)(command)
    return command


def dotted(flags: dict[str, Any]) -> dict[str, Any]:
    """Flags by the names of their settings."""
    from steadhold.server.settings import describe

    return {setting["name"]: flags[setting["name"].replace(".", "_")] for setting in describe()}


def _flag(setting: dict[str, Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    name, default = setting["name"].replace(".", "-").replace("_", "-"), setting["default"]
    shown = "" if default in {"", ()} else f" [default: {default}]"
    if isinstance(default, bool):
        return click.option(f"--{name}/--no-{name}", default=None, help=setting["meaning"] + shown)
    kind = type(default).__name__.upper().replace("STR", "TEXT").replace("TUPLE", "A,B,…")
    return click.option(f"--{name}", metavar=kind, help=setting["meaning"] + shown)
