"""One line per event on standard error, ours and uvicorn's, in one form."""

from __future__ import annotations

import logging
import sys
from typing import Final
from urllib.parse import unquote_to_bytes

import structlog
from structlog.typing import Processor

_SHARED: Final[list[Processor]] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure(form: str) -> None:
    """Write log lines as `json`, or as `text` for people. Process-wide: for a program, not for a library."""
    json = structlog.processors.JSONRenderer()
    render: Processor = json if form == "json" else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=_SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it warns of each malformed request, at a client's will
    structlog.configure(
        processors=[*_SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def shown(path: bytes) -> str:
    """An address as a log may have it: whoever knows one of a door may come in, however it is spelt."""
    return "/v1/in/*" if unquote_to_bytes(path).startswith(b"/v1/in/") else path.decode("latin-1")
