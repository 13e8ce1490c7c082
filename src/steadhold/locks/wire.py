"""What the doors of locks take and give."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from steadhold.kit import limits
from steadhold.kit.rules import Fence, Id, Length
from steadhold.web.reply import Instant


class AcquireBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Who wants it, for how long, and how long the answer may be held back for it."""

    owner: Id
    ttl_seconds: Length
    wait_seconds: Annotated[float, Meta(ge=0, le=limits.WAIT_SECONDS_MAX)] = 0.0


class RenewBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Under which fence it is held, and for how long from now."""

    fence: Fence
    ttl_seconds: Length


class FenceBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A fence."""

    fence: Fence


class GrantReply(msgspec.Struct, kw_only=True, frozen=True):
    """The grant. Rely on it until the request was sent, plus waited, plus ttl, on a monotonic clock.

    `waited_seconds` are below zero where the grant is older than the request: its key took it before.
    """

    name: str
    owner: str
    fence: int
    ttl_seconds: float
    waited_seconds: float
    expires_at: Instant
    server_time: Instant


class RenewReply(msgspec.Struct, kw_only=True, frozen=True):
    """The grant, renewed."""

    name: str
    fence: int
    ttl_seconds: float
    expires_at: Instant
    server_time: Instant


class LockItem(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """A lock. `fence` is the highest it ever had; `waiting` requests stand in line."""

    name: str
    held: bool
    fence: int
    revision: int
    waiting: int
    owner: str | None = None
    expires_at: Instant | None = None


class MarkReply(msgspec.Struct, kw_only=True, frozen=True):
    """The highest fence that the resource has seen."""

    resource: str
    highest: int
