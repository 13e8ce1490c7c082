"""What the doors for third parties take and give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from steadhold.inboxes.door_model import WHERE, Door
from steadhold.kit import limits
from steadhold.kit.ids import whole
from steadhold.web.reply import Instant, instant, maybe_instant

Secret: TypeAlias = Annotated[str, Meta(max_length=1_000, pattern=whole(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?"))]
SchemeName: TypeAlias = Literal["standard", "github", "stripe", "slack", "hmac"]


class DoorBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A door to make. Without a `secret` one is made and shown. `id_from` says where the sender has an event's id."""

    scheme: SchemeName
    secret: Secret | UnsetType = UNSET
    id_from: Annotated[str, Meta(max_length=200)] | None = None


class DoorRotateBody(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The secret that proves from now on, or none: one is made and shown. For the grace the one before proves too."""

    secret: Secret | UnsetType = UNSET
    grace_seconds: Annotated[float, Meta(ge=0, le=limits.ROTATION_GRACE_SECONDS_MAX)] = 86_400.0


class DoorItem(msgspec.Struct, kw_only=True, frozen=True):
    """A door; never its secret, nor its address. `old_secret_until`: so long the secret before proves too."""

    door_id: str
    inbox: str
    revision: int
    scheme: SchemeName
    id_from: str
    old_secret_until: Instant | None
    created_at: Instant
    changed_at: Instant


class DoorSecretReply(DoorItem, kw_only=True, frozen=True):
    """A door with what is shown once: `token` and `url` of a new one, and a secret that was made here."""

    token: str | UnsetType = UNSET
    url: str | UnsetType = UNSET
    secret: str | UnsetType = UNSET
    secret_shown: bool | UnsetType = UNSET


class CameInReply(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The event is accepted. `duplicate`: it was before, under its id."""

    event_id: str
    duplicate: bool = False


def door_item(door: Door) -> DoorItem:
    """A door as it is told."""
    return DoorItem(**_members(door))


def secret_reply(door: Door, shown: Mapping[str, str] | None) -> DoorSecretReply:
    """A door with what is shown once; None where it was shown before."""
    told: dict[str, Any] = {"secret_shown": True} if shown is None else dict(shown)
    return DoorSecretReply(**_members(door), **told)


def _members(door: Door) -> dict[str, Any]:
    return {
        "door_id": door.id,
        "inbox": door.inbox,
        "revision": door.revision,
        "scheme": door.scheme,
        "id_from": door.id_from or WHERE[door.scheme],
        "old_secret_until": maybe_instant(door.old_until),
        "created_at": instant(door.made_at),
        "changed_at": instant(door.changed_at),
    }
