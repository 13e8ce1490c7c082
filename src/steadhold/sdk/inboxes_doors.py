"""Doors of an inbox: secret addresses at which third parties' signed webhooks come in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Player, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import at, guarded, members, pages, read, removed

Scheme: TypeAlias = Literal["standard", "github", "stripe", "slack", "hmac"]


class Door(msgspec.Struct, frozen=True, kw_only=True):
    """A door. `old_secret_until`: so long the secret before the current one proves too."""

    door_id: str
    inbox: str
    revision: int
    scheme: Scheme
    id_from: str
    old_secret_until: datetime | None
    created_at: datetime
    changed_at: datetime


class ShownDoor(Door, frozen=True, kw_only=True):
    """A door with what is shown once: its address where it is new, its secret where that was made by the server.

    `secret_shown`: the answer is a replay, and none of it is shown again.
    """

    token: str | None = None
    url: str | None = None
    secret: str | None = None
    secret_shown: bool = False


class DoorsRoom(Room[Mode]):
    """`client.inboxes["orders"].doors`."""

    def __init__(self, player: Player, inbox: str) -> None:
        super().__init__(player)
        self.inbox = inbox

    @verb
    def create(
        self,
        scheme: Scheme,
        *,
        secret: str | None = None,
        id_from: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[ShownDoor]:
        """Make a door for what a sender signs in this way. Without a `secret` the server makes one, and shows it.

        `url` is a path where the server does not know its public address.

        Raises:
            NotFound: there is no inbox. MissingScope. Problem "bad_member", "doors_full", "no_sealing_key".
        """
        body = members(scheme=scheme, secret=secret, id_from=id_from)
        target = at("inboxes", self.inbox, "doors")
        return (yield from guarded(target, body, ShownDoor, fences, operation_id))

    @verb
    def get(self, door_id: str) -> Script[Door]:
        """Read a door; never its secrets.

        Raises:
            NotFound.
        """
        return read((yield Send("GET", at("inboxes", self.inbox, "doors", door_id))), Door)

    @flow
    def list(self) -> Stream[Door]:
        """Doors in the order in which they were made."""
        yield from pages(lambda cursor: at("inboxes", self.inbox, "doors", cursor=cursor), Door)

    @verb
    def rotate(
        self, door_id: str, *, secret: str | None = None, grace_seconds: float = 86_400.0,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[ShownDoor]:  # fmt: skip
        """Take a new secret, or have one made and shown; the one before it proves too for the grace.

        Raises:
            NotFound. Problem "bad_member", "no_sealing_key".
        """
        body = members(secret=secret, grace_seconds=grace_seconds)
        target = at("inboxes", self.inbox, "doors", door_id, "rotate")
        return (yield from guarded(target, body, ShownDoor, fences, operation_id))

    @verb
    def delete(
        self, door_id: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[None]:
        """Close a door for ever: once this has answered, nothing comes in by its address.

        Raises:
            NotFound, RevisionConflict.
        """
        target = at("inboxes", self.inbox, "doors", door_id)
        yield from removed(target, if_revision, fences, operation_id)
