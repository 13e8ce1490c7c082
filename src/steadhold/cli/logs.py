"""Log lines of a process go to standard error: one JSON object each, or text for a person."""

from __future__ import annotations

import logging
import sys
from typing import Any, Final

import structlog

LEVELS: Final = {"info": logging.INFO, "warning": logging.WARNING}


def to_stderr(form: str, *, level: str = "info") -> None:
    """Write log lines from `level` on, in `form` json or text."""
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        processors += [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer(ensure_ascii=False)]
    else:
        processors.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(name)s: %(message)s")
