"""Private prefixes: where the server stores nothing but envelopes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.grammar import Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import at, change, pages, put_if, read, removed


class PrivatePrefix(msgspec.Struct, frozen=True):
    """A private prefix."""

    prefix: str
    revision: int
    made_at: datetime


class PrefixesRoom(Room[Mode]):
    """`client.prefixes`."""

    @verb
    def make(
        self,
        kind: Literal["state", "context"],
        prefix: str,
        *,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[PrivatePrefix]:
        """Have nothing but envelopes stored under a prefix of whole segments. Again it changes nothing.

        Raises:
            PlaintextPresent: names under it hold what can be read. Unavailable: writers left no moment for it.
        """
        target = at("private-prefixes", kind, path=prefix)
        return read(
            (yield change("PUT", target, fences=fences, operation_id=operation_id, headers=put_if(None))), PrivatePrefix
        )

    @verb
    def lift(
        self,
        kind: Literal["state", "context"],
        prefix: str,
        *,
        if_revision: int,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[None]:
        """Let anything be stored under a prefix again. What is sealed there stays sealed.

        Raises:
            NotFound: it is not private. RevisionConflict.
        """
        target = at("private-prefixes", kind, path=prefix)
        yield from removed(target, if_revision, fences, operation_id)

    @verb
    def get(self, kind: Literal["state", "context"], prefix: str) -> Script[PrivatePrefix]:
        """Read a private prefix.

        Raises:
            NotFound: it is not private.
        """
        return read((yield Send("GET", at("private-prefixes", kind, path=prefix))), PrivatePrefix)

    @flow
    def list(self, kind: Literal["state", "context"]) -> Stream[PrivatePrefix]:
        """Every private prefix of a kind, in the order of their bytes."""
        yield from pages(lambda cursor: at("private-prefixes", kind, cursor=cursor), PrivatePrefix)
