"""Answers that say yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import urlencode

import msgspec

from steadhold.kit.page import Page
from steadhold.web.ask import Headers, Reply, Request

T = TypeVar("T")

Instant: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
"""A moment as JSON tells it: RFC 3339, UTC, microseconds."""

_ENCODER: Final = msgspec.json.Encoder()


def instant(moment: datetime) -> str:
    """Write a moment, of any zone, as RFC 3339 in UTC with six digits of a second."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def maybe_instant(moment: datetime | None) -> str | None:
    """Write a moment that may be missing."""
    return None if moment is None else instant(moment)


def encode(value: Any) -> bytes:
    """The JSON of a Struct, dict or list; a `msgspec.Raw` in it keeps its bytes."""
    return _ENCODER.encode(value)


def json(
    value: Any,
    status: int = 200,
    *,
    revision: int | None = None,
    resource: str | None = None,
    fence: int | None = None,
    headers: Headers = (),
) -> Reply:
    """Answer with JSON."""
    return Reply(status, _ENCODER.encode(value), headers=headers, revision=revision, resource=resource, fence=fence)


def no_content(revision: int | None = None, *, resource: str | None = None) -> Reply:
    """Answer 204: it is done, and there is nothing to tell."""
    return Reply(204, revision=revision, resource=resource)


def not_modified(revision: int) -> Reply:
    """Answer 304: it is what the asker has."""
    return Reply(304, revision=revision)


def listing(ask: Request, page: Page[T], item: Callable[[T], Any]) -> Reply:
    """Answer with a page of a collection, and a `Link` to the next one if there is more."""
    items: Sequence[Any] = [item(each) for each in page.items]
    headers: Headers = ()
    if page.next_cursor is not None:
        target = urlencode({**ask.query, "cursor": page.next_cursor})
        headers = (("link", f'<{ask.path}?{target}>; rel="next"'),)
    return json({"items": items, "next_cursor": page.next_cursor}, headers=headers)
