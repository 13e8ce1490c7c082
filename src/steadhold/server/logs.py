"""One line per event on standard error, ours and uvicorn's, in one form."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from typing import Any, Final, TextIO
from urllib.parse import unquote_to_bytes

import structlog
from structlog.typing import EventDict, Processor

from steadhold.kit.legible import legible
from steadhold.telemetry.background import Background
from steadhold.telemetry.lines import SHARED, formatted

WRITING: Final = Background("steadhold-log")


class Aside(logging.Handler):
    """Has lines written by a thread: whoever reads them slowly, or not at all, keeps no request waiting, and no end.

    The end of a process waits for the lock of each handler and of each file of Python's, so the thread holds none.
    """

    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Have a line written, unless too many wait for that."""
        WRITING.do(self._written, record)

    def _written(self, record: logging.LogRecord) -> None:
        self._write(self.format(record) + "\n")


def writer(stream: TextIO) -> Callable[[str], object]:
    """What writes to a stream, past its buffer if it leads to a file."""
    try:
        fd = stream.fileno()
    except OSError:
        return stream.write

    def write(text: str) -> None:
        left = text.encode(errors="backslashreplace")
        while left:
            left = left[os.write(fd, left) :]

    return write


def configure(form: str, level: str = "warning") -> None:
    """Write lines of a `level` and above as `json`, or as `text` for people. For a program, not for a library."""
    render: list[Processor] = [structlog.processors.JSONRenderer()]
    if form != "json":
        render = [for_people, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=SHARED, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *render]
    )
    aside = Aside(writer(sys.stderr))
    aside.setFormatter(formatter)
    logging.basicConfig(handlers=[aside], level=logging.WARNING, force=True)
    logging.getLogger("steadhold").setLevel(level.upper())
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # it warns of each malformed request, at a client's will
    formatted()
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


def for_people(_logger: Any, _method: str, told: EventDict) -> EventDict:
    """What the renderer writes as it is: without what moves a cursor, or looks like a line of its own."""
    for name, besides in (("event", ""), ("exception", "\n\t")):
        if name in told:
            told[name] = legible(str(told[name]), besides)
    return told


def shown(path: bytes) -> str:
    """An address as a log may have it, however it is spelt: the room that it leads to, and no name or door in it."""
    words = [word.decode("latin-1") for word in unquote_to_bytes(path).split(b"/") if word]
    room = "/" + "/".join(words[:2])
    return f"{room}/*" if words[2:] else room
