"""Failures as a log may have them: where it happened and what it was, and nothing that somebody stored."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from typing import Any, Final, cast

DRIVERS: Final = ("asyncpg.", "psycopg", "sqlalchemy.")
"""What these raise quotes rows and arguments."""

NAMED: Final = ("sqlstate", "schema_name", "table_name", "column_name", "constraint_name")


def why(error: BaseException) -> str:
    """One line: the class, and the message where that can hold no user's data."""
    kind = type(error)
    if not kind.__module__.startswith(DRIVERS):
        return f"{kind.__name__}: {error}".rstrip(": ")
    named = [f"{name}={value}" for name in NAMED if (value := getattr(error, name, None))]
    return f"{kind.__name__}: {' '.join(named)}".rstrip(": ")


def whole(error: BaseException) -> str:
    """All of it: where it was raised, and what led to it, first things first."""
    return "\nthen\n".join(_one(each) for each in reversed([*_chain(error)]))


def processor(_logger: Any, _method: str, told: Any) -> Any:
    """Say a line's failure so (a processor of structlog)."""
    if (failed := _failure(told.pop("exc_info", None))) is not None:
        told["exception"] = whole(failed)
    return told


def _failure(given: object) -> BaseException | None:
    """What loggers are given of it: itself, what `sys.exc_info` says of it, or that it is that."""
    if isinstance(given, BaseException):
        return given
    if isinstance(given, tuple):
        return cast("tuple[Any, BaseException | None, Any]", given)[1]
    return sys.exc_info()[1] if given else None


def _one(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__)) + why(error)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
