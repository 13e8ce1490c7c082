"""A keyring at work: what is written is sealed before it is sent, what is read is opened, and nothing falls back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from steadhold.envelopes import (
    PADDED,
    Bound,
    EnvelopeRefused,
    HighWater,
    Keyring,
    open_envelope,
    padded,
    seal,
    unpadded,
)
from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.sealed import MEDIA_TYPE, Kind, Seal, seal_of
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.errors import BadAnswer, EnvelopeMismatch
from steadhold.sdk.grammar import Got, Script, Send
from steadhold.sdk.words import at, change, put_if, read

REVISION_END: Final = 2**63


class _Self(msgspec.Struct):
    workspace: str


class Shown(NamedTuple):
    """What a server shows of a name: an envelope, it says, and its revision. `least` was seen when it was asked."""

    raw: bytes
    revision: int
    least: int | None = None


class Vault:
    """Names are as they are: only what they hold is sealed."""

    __slots__ = ("_pad", "_workspace", "high_water", "keyring")

    def __init__(
        self,
        keyring: Keyring,
        high_water: HighWater | None = None,
        workspace: str | None = None,
        *,
        pad: bool = False,
    ) -> None:
        self.keyring, self.high_water, self._pad = keyring, high_water, pad
        self._workspace = workspace or ""

    def bound(self, kind: Kind, name: str, revision: int, content_type: str) -> Script[Bound]:
        """What an envelope for a name has to be bound to."""
        if not self._workspace:
            self._workspace = read((yield Send("GET", at("whoami"))), _Self).workspace
        return Bound(
            workspace=self._workspace, kind=kind, name=name, content_type=content_type, revision=revision
        )  # fmt: skip

    def opened(
        self, kind: Kind, name: str, shown: Shown, asked: int | None = None, content_type: str | None = None
    ) -> Script[tuple[bytes, Bound]]:
        """What is in an envelope, and what it was bound to. `asked` is the revision that was asked for, if one was.

        Raises:
            EnvelopeRefused: it was not sealed for this. RolledBack: a newer one was seen before.
            BadAnswer: another revision came than was asked for.
        """
        if asked not in (None, shown.revision):
            raise BadAnswer(f"Revision {asked} of {name!r} was asked for, and another came.")
        said = seal_of(shown.raw)
        sealed_as = said.bound.content_type if isinstance(said, Seal) else ""
        kept = sealed_as if sealed_as == PADDED else content_type or sealed_as
        bound = yield from self.bound(kind, name, shown.revision, kept)
        data = open_envelope(self.keyring, bound, shown.raw)
        if kept == PADDED:
            data, within = unpadded(data)
            if content_type not in (None, within):
                raise EnvelopeRefused(f"The envelope is refused. It holds {within!a}, and not {content_type!a}.")
            bound = msgspec.structs.replace(bound, content_type=within)
        if asked is None:
            self.saw(bound, shown.least)
        return data, bound

    def absent(self, kind: Kind, name: str, last_revision: int | None, least: int | None = None) -> Script[None]:
        """Take into account that a name holds nothing, where the server says since when.

        Raises:
            RolledBack: it had a higher revision once. BadAnswer: no name can have had that revision.
        """
        if last_revision is None:
            return
        if isinstance(last_revision, bool) or not 0 < last_revision < REVISION_END:
            raise BadAnswer(f"{name!r} is said to have had revision {last_revision}, which none can have.")
        self.saw((yield from self.bound(kind, name, last_revision, "")), least)

    def least(self, kind: Kind, name: str) -> Script[int | None]:
        """What has been seen of a name when it is about to be asked; None where nobody keeps that."""
        if self.high_water is None:
            return None
        bound = yield from self.bound(kind, name, 1, "")
        return self.high_water.seen(bound.workspace, kind, name)

    def saw(self, bound: Bound, least: int | None) -> None:
        """Take a revision into account, where that is asked for; `least` had been seen before it was asked for.

        Raises:
            RolledBack: it is lower than that.
        """
        if self.high_water is not None:
            self.high_water.saw(bound.workspace, bound.kind, bound.name, bound.revision, least)

    def put(
        self,
        kind: Kind,
        name: str,
        data: bytes,
        content_type: str,
        *,
        expected: int | None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Got]:
        """Seal for the revision that is next in all likelihood, and once more for the one that the server names."""
        if self._pad:
            data, content_type = padded(data, content_type), PADDED
        key, bound = operation_id or new_id(), (yield from self.bound(kind, name, (expected or 0) + 1, content_type))
        try:
            return (yield from self._sent(bound, data, expected, fences, key))
        except EnvelopeMismatch as other:
            bound = msgspec.structs.replace(bound, revision=_next(other, name, expected or 0))
            return (yield from self._sent(bound, data, expected, fences, key))

    def _sent(
        self, bound: Bound, data: bytes, expected: int | None, fences: Sequence[FenceRef], key: str
    ) -> Script[Got]:
        headers = {**put_if(expected), "content-type": MEDIA_TYPE}
        sealed, target = seal(self.keyring, bound, data), at(bound.kind, path=bound.name)
        least = yield from self.least(bound.kind, bound.name)
        got = yield change("PUT", target, sealed, operation_id=key, fences=fences, headers=headers)
        if got.revision != bound.revision:
            raise BadAnswer(f"{bound.name!r} was sealed as revision {bound.revision}, and stored as another.")
        self.saw(bound, least)
        return got

    def rewrap(
        self, kind: Kind, name: str, look: Callable[[], Script[Shown]], fences: Sequence[FenceRef] = ()
    ) -> Script[bool]:
        """Seal a name anew with the primary key, as its next revision; False: it was, or holds nothing any more.

        Raises:
            EnvelopeRefused: it cannot be opened. RevisionConflict: somebody writes it all the time.
        """
        return (
            yield from deciding(look, lambda found: self._rewrapped(kind, name, found, fences), TRIES_MAX, creates=True)
        )

    def _rewrapped(self, kind: Kind, name: str, shown: Shown | None, fences: Sequence[FenceRef]) -> Script[bool]:
        if shown is None:
            return False
        said = seal_of(shown.raw)
        if isinstance(said, Seal) and said.kid == self.keyring.primary.kid:
            return False
        data, bound = yield from self.opened(kind, name, shown)
        yield from self.put(kind, name, data, bound.content_type, expected=shown.revision, fences=fences)
        return True


def _next(told: EnvelopeMismatch, name: str, expected: int) -> int:
    """The revision to seal for: what has a number that the name has had could be shown in place of what had it."""
    revision = told.next_revision
    if revision is None:
        raise told
    if isinstance(revision, bool) or not expected < revision < REVISION_END:
        raise BadAnswer(f"{name!r} is said to be at revision {revision} next, after {expected}.") from told
    return revision


__all__ = ["EnvelopeRefused", "Shown", "Vault"]
