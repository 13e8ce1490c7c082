"""Log lines of a server, as events with facts. A program formats them (`server/logs.py`); a library hands them to
`logging`, whose handlers are the host's.
"""

from __future__ import annotations

import logging
from typing import Any, Final

import structlog
from structlog.typing import Processor

from steadhold.telemetry import plainly

SHARED: Final[list[Processor]] = [
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    plainly.processor,
]
_formatted = False


def formatted() -> None:
    """Say that the handlers of this program format events: they are given them whole."""
    global _formatted  # noqa: PLW0603 - handlers are the process's, and so is this
    _formatted = True


def logger(name: str) -> Any:
    """A logger whose lines go this way, however the host has set structlog up: its usual form shows variables."""
    return structlog.wrap_logger(
        logging.getLogger(name),
        processors=[*SHARED, _handed],
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def _handed(logger: Any, method: str, told: Any) -> Any:
    if _formatted:
        return structlog.stdlib.ProcessorFormatter.wrap_for_formatter(logger, method, told)
    facts = {name: fact for name, fact in told.items() if name not in {"event", "exception", "level", "timestamp"}}
    said = " ".join([told["event"], *(f"{name}={fact}" for name, fact in facts.items())])
    return {
        "msg": "\n".join([said, *([told["exception"]] if "exception" in told else [])]),
        "extra": {"steadhold": facts},
    }
