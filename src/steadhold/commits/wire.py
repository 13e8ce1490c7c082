"""commits: the shapes of its requests and replies."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from steadhold.kit import limits
from steadhold.kit.ids import ID_PATTERN, whole

Id: TypeAlias = Annotated[str, Meta(pattern=whole(ID_PATTERN))]
Fence: TypeAlias = Annotated[int, Meta(ge=1, le=limits.FENCE_NUMBER_MAX)]


class Taken(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is taken in: members that are not known are refused."""


class CommitBody(Taken, kw_only=True, frozen=True):
    """Conditions and changes, at most `commit_items_max` together. Each has `op` and the members of its op."""

    require: list[dict[str, Any]] = []
    apply: Annotated[list[dict[str, Any]], Meta(min_length=1)]


class NothingMore(Taken, kw_only=True, frozen=True):
    """A condition that its name, and what it must match, say whole."""


class HeldBody(Taken, kw_only=True, frozen=True):
    """The fence under which a lock must be held."""

    fence: Fence


class JobBody(Taken, kw_only=True, frozen=True):
    """The fence under which a job must be running."""

    fence: Fence | None = None


class PlaceBody(Taken, kw_only=True, frozen=True):
    """The position at which a consumer must stand."""

    epoch: Id
    position: Annotated[int, Meta(ge=0, le=limits.FENCE_NUMBER_MAX)]


class Done(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What one item came to: the status, revision and body that its own route would have answered."""

    op: str
    status: int
    revision: int | None = None
    fence: int | None = None
    result: Raw | UnsetType = UNSET


class CommitReply(msgspec.Struct, kw_only=True, frozen=True):
    """What each item came to, in the order asked."""

    require: list[Done]
    apply: list[Done]
