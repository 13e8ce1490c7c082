"""`steadhold serve`: a server on your own database, one of as many as you like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steadhold.cli.database import reaching
from steadhold.cli.flags import dotted, settable

if TYPE_CHECKING:
    from steadhold.server.app import App


@click.command()
@settable
def serve(config: str | None, **flags: Any) -> None:
    """Run a server on your database, with background work unless --no-background.

    Settings come from flags, STEADHOLD_* variables and a TOML file, in that order; `steadhold config show` tells
    which. A log line "ready" says when requests are answered. SIGTERM and Ctrl-C stop it within a second.
    """
    import logging

    import structlog

    from steadhold.cli.supervisor import inherited, tell
    from steadhold.server.run import run
    from steadhold.server.sources import load

    given = dotted(flags)
    if given["listen_fd"] is None and (socket := inherited(os.environ, os.getpid())) is not None:
        given["listen_fd"] = socket
    settings = load(given, os.environ, Path(config) if config else None).settings
    logging.getLogger(__name__).setLevel(logging.INFO)
    log = structlog.get_logger(__name__)

    def ready(_app: App, url: str) -> None:
        log.info("ready", url=url, pid=os.getpid(), background=settings.background)
        tell(os.environ, "READY=1")

    with reaching():
        run(settings, ready)
    log.info("stopped")
