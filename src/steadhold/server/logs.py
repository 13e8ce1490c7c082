"""One line per event on standard error, ours and uvicorn's, in one form."""

from __future__ import annotations

import logging
import sys
from typing import Final
from urllib.parse import unquote_to_bytes

import structlog
from structlog.typing import Processor

from steadhold.telemetry.background import Background
from steadhold.telemetry.lines import SHARED, formatted

WRITING: Final = Background("steadhold-log")


class Aside(logging.Handler):
    """Has lines written by a thread: whoever reads them slowly, or not at all, keeps no request waiting."""

    def __init__(self, writer: logging.Handler) -> None:
        super().__init__()
        self._writer = writer

    def emit(self, record: logging.LogRecord) -> None:
        """Have a line written, unless too many wait for that."""
        WRITING.do(self._writer.handle, record)


def configure(form: str, level: str = "warning") -> None:
    """Write lines of a `level` and above as `json`, or as `text` for people. For a program, not for a library."""
    json = structlog.processors.JSONRenderer()
    render: Processor = json if form == "json" else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, render]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[Aside(handler)], level=logging.WARNING, force=True)
    logging.getLogger("steadhold").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it warns of each malformed request, at a client's will
    formatted()
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def shown(path: bytes) -> str:
    """An address as a log may have it: whoever knows one of a door may come in, however it is spelt."""
    return "/v1/in/*" if unquote_to_bytes(path).startswith(b"/v1/in/") else path.decode("latin-1")
