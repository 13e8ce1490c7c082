"""Parameters of a request's address, each with its own problem."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Final

from steadhold.kit import limits, paths
from steadhold.kit.moments import within_time
from steadhold.kit.page import CursorFault, Kind, read_cursor
from steadhold.web.ask import Problem, Request, Stop
from steadhold.web.problem import MISSING, stop

_WHOLE: Final = re.compile(r"0|[1-9][0-9]{0,14}")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)")
_SECONDS: Final = re.compile(r"[0-9]{1,4}(?:\.[0-9]{1,6})?")


def limit(ask: Request) -> int:
    """How many items a page holds."""
    found = whole(ask, "limit", low=1, high=limits.PAGE_ITEMS_MAX)
    return limits.PAGE_ITEMS_DEFAULT if found is None else found


def cursor(ask: Request, of: str, *kinds: Kind) -> tuple[Any, ...] | None:
    """Where a page begins, or None for the first one."""
    text_ = ask.query.get("cursor")
    if text_ is None:
        return None
    found = read_cursor(of, text_, *kinds)
    if isinstance(found, CursorFault):
        stop("bad_cursor", found.why, parameter="cursor")
    return found


def dated_cursor(ask: Request, of: str, *kinds: Kind) -> tuple[Any, ...] | None:
    """The same where a page begins at a moment, and something more."""
    found = cursor(ask, of, str, *kinds)
    if found is None:
        return None
    if (at := moment(found[0])) is None:
        stop("bad_cursor", "This is no cursor of this list; leave it out.", parameter="cursor")
    return at, *found[1:]


def moment(text: str) -> datetime | None:
    """The moment that a text of RFC 3339 says, if it can be reckoned with."""
    try:
        found = datetime.fromisoformat(text) if _MOMENT.fullmatch(text) else None
    except ValueError:
        return None
    return found if found is not None and within_time(found) else None


def wait_seconds(ask: Request) -> float:
    """How long the answer may be held back; 0 when the request does not say."""
    text_ = ask.query.get("wait_seconds")
    if text_ is None:
        return 0.0
    if not _SECONDS.fullmatch(text_) or float(text_) > limits.WAIT_SECONDS_MAX:
        stop("bad_query", f"wait_seconds is a number from 0 to {limits.WAIT_SECONDS_MAX}.", parameter="wait_seconds")
    return float(text_)


def whole(ask: Request, name: str, *, low: int = 0, high: int = 999_999_999_999_999) -> int | None:
    """A whole number within bounds, or None when the request does not say one."""
    text_ = ask.query.get(name)
    if text_ is None:
        return None
    if not _WHOLE.fullmatch(text_) or not low <= int(text_) <= high:
        stop("bad_query", f"{name} is a whole number from {low} to {high}.", parameter=name)
    return int(text_)


def text(ask: Request, name: str) -> str | None:
    """A text, or None when the request does not say one."""
    found = ask.query.get(name)
    if found is not None and "\0" in found:
        stop("bad_query", f"{name} has the character NUL, which nothing has.", parameter=name)
    return found


def one_of(ask: Request, name: str, *words: str) -> str | None:
    """One of some words, or None when the request does not say one."""
    found = ask.query.get(name)
    if found is not None and found not in words:
        stop("bad_query", f"{name} is one of: {', '.join(words)}.", parameter=name)
    return found


def prefix(ask: Request) -> str:
    """A prefix of paths by whole segments; "" covers all."""
    found = ask.query.get("prefix", "")
    if why := paths.prefix_fault(found):
        stop("bad_query", why, parameter="prefix")
    return found


def path(ask: Request, name: str) -> str:
    """A Path of the address. What is none cannot exist: a reading answers 404, a write says what is wrong."""
    found = ask.params[name]
    if why := paths.path_fault(found):
        raise Stop(MISSING if ask.method in {"GET", "HEAD"} else Problem("bad_name", why))
    return found
