"""Lines about jobs, as they may be written anywhere: what a handler's error says is others' words."""

from __future__ import annotations

import logging
import traceback
from typing import Final

from steadhold.kit.legible import legible

LOG: Final = logging.getLogger("steadhold.worker")


def _plainly(record: logging.LogRecord) -> bool:
    """Take from a line, and from its traceback, what a terminal would obey."""
    if isinstance(record.args, tuple):
        record.args = tuple([one if isinstance(one, int | float) else legible(str(one)) for one in record.args])
    if record.exc_info and record.exc_info[1] and not record.exc_text:
        told = "".join(traceback.format_exception(record.exc_info[1]))
        record.exc_text = legible(told.rstrip("\n"), "\n\t")  # which formatters write instead of their own
    return True


LOG.addFilter(_plainly)
