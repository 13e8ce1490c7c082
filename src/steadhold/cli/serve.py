"""`steadhold serve`: a server on your own database, one of as many as you like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steadhold.cli.database import reaching
from steadhold.cli.flags import dotted, settable

if TYPE_CHECKING:
    from collections.abc import Callable

    from steadhold.server.settings import Settings


@click.command()
@settable
def serve(config: str | None, **flags: Any) -> None:
    """Run a server on your database, with background work unless --no-background.

    Settings come from flags, STEADHOLD_* variables and a TOML file, in that order; `steadhold config show` tells
    which. A log line "ready" says when requests are answered. SIGTERM and Ctrl-C stop it within a second.
    With --processes N there are N processes that answer, and this one, which looks after them.
    """
    import logging

    import structlog

    from steadhold.cli.supervisor import inherited, tell
    from steadhold.server.sources import load

    given = dotted(flags)
    if given["listen_fd"] is None and (socket := inherited(os.environ, os.getpid())) is not None:
        given["listen_fd"] = socket
    settings = load(given, os.environ, Path(config) if config else None).settings
    logging.getLogger(__name__).setLevel(logging.INFO)
    log = structlog.get_logger(__name__)

    def ready(url: str) -> None:
        log.info("ready", url=url, pid=os.getpid(), background=settings.background, processes=settings.processes)
        tell(os.environ, "READY=1")

    with reaching():
        _run(settings, ready)
    log.info("stopped")


def _run(settings: Settings, ready: Callable[[str], object]) -> None:
    """Serve by as many processes as the settings say; one is this one."""
    if settings.processes > 1:
        from steadhold.server.processes import parent

        parent.run(settings, ready)
    else:
        from steadhold.server.run import run

        run(settings, lambda _app, url: ready(url))
