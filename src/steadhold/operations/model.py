"""What an operation's identity can turn out to be."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, TypeAlias, TypeVar

import msgspec

from steadhold.kit.plan import Refusal

T = TypeVar("T")
Headers: TypeAlias = tuple[tuple[str, str], ...]

KEPT_SECONDS: Final = 7 * 86_400
"""How long a receipt is kept, unless the server is set otherwise (contracts: retention)."""

ADMIN: Final = "operations:admin"
"""The scope that may read and list every receipt."""

ABANDONED: Final = b""
"""The fingerprint of a claim that was made to abandon its key: no request has it."""


@dataclass(slots=True)
class Sealed:
    """What a receipt keeps of an outcome: the answer that a replay gives again, and what the effect was.

    `resource` names what was changed, `revision` and `fence` are the numbers that the effect issued.
    """

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Headers = ()
    resource: str | None = None
    revision: int | None = None
    fence: int | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """That an operation has a receipt: whose, for what, and since when. `needs` as of `Receipt`."""

    key: str
    kind: str
    scope: str
    scoped: str
    subject: str
    status: int
    committed_at: datetime

    @property
    def needs(self) -> list[tuple[str, str]]:
        """The scopes of whoever may read it, each with the name it is for or ""."""
        return _needs(self.scope, self.scoped)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of an operation. It never changes.

    `scope` is what its verb needed and `scoped` the name that a scope's prefix applies to; it is empty where any
    key will do, as where the operation was abandoned. Of several changes each has a line. The fields are the columns of
    its row.
    """

    key: str
    abandoned: bool
    kind: str
    scope: str
    scoped: str
    subject: str
    status: int
    body: bytes
    content_type: str
    written_headers: bytes
    resource: str | None
    revision: int | None
    fence: int | None
    committed_at: datetime

    @property
    def state(self) -> Literal["committed", "abandoned"]:
        """How it ended: it took effect, or it never will."""
        return "abandoned" if self.abandoned else "committed"

    @property
    def needs(self) -> list[tuple[str, str]]:
        """The scopes of whoever may read it, each with the name it is for or ""."""
        return _needs(self.scope, self.scoped)

    @property
    def headers(self) -> Headers:
        """The header fields of the first answer that are its own."""
        return msgspec.json.decode(self.written_headers, type=tuple[tuple[str, str], ...])


def _needs(scope: str, scoped: str) -> list[tuple[str, str]]:
    return list(zip(scope.split("\n"), scoped.split("\n"), strict=True))


@dataclass(frozen=True, slots=True)
class Replayed:
    """The key's first call has taken effect already; this one did nothing, and this was the answer."""

    receipt: Receipt

    def into(self, outcome: type[T]) -> T:
        """Read the outcome that the library form kept.

        Raises:
            msgspec.ValidationError: the first call's outcome was another type.
        """
        return msgspec.json.decode(self.receipt.body, type=outcome)


@dataclass(frozen=True, slots=True)
class OperationMismatch(Refusal):
    """Another request took effect under this key (422)."""

    key: str


@dataclass(frozen=True, slots=True)
class OperationAbandoned(Refusal):
    """The key was abandoned before any call took effect: none ever will (409)."""

    key: str


@dataclass(frozen=True, slots=True)
class OperationExpired(Refusal):
    """A UUIDv7 older than receipts are kept: whether it took effect is no longer known, so it never may again (410)."""

    key: str
    server_time: datetime


@dataclass(frozen=True, slots=True)
class OperationClock(Refusal):
    """A UUIDv7 from too far in the future: its receipt would be purged while the id still counted as new (422)."""

    key: str
    server_time: datetime


@dataclass(frozen=True, slots=True)
class InFlightHere(Refusal):
    """Another call under this key is being played in this very transaction, and its end is open.

    `again` asks the player to begin this call once more when the transaction has ended; a player of single calls
    has nobody to wait for, so there it means that an operation was begun within itself (409).
    """

    again: ClassVar[bool] = True

    key: str


@dataclass(frozen=True, slots=True)
class NotCommitted(Refusal):
    """Nothing is committed under this key. Its call may still be in flight, unless it was abandoned (404)."""

    key: str


Unplayed: TypeAlias = (
    Replayed | OperationMismatch | OperationAbandoned | OperationExpired | OperationClock | InFlightHere
)
"""Why a call under a key was not played."""


@dataclass(frozen=True, slots=True)
class Known:
    """A claimed key: whose request claimed it, and its receipt. None: its call is in this transaction, unended."""

    fingerprint: bytes
    receipt: Receipt | None


@dataclass(frozen=True, slots=True)
class OutOfScope(Refusal):
    """The receipt is of a verb that the asker's key may not do (403)."""

    scope: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look found: the receipt, or whether the id is older than what is kept."""

    server_time: datetime
    late: bool
    row: tuple[Any, ...]

    @property
    def receipt(self) -> Receipt | None:
        """The receipt, if there is one."""
        return None if self.row[0] is None else Receipt(*self.row)


def judge(
    key: str, fingerprint: bytes, known: Known
) -> Replayed | OperationMismatch | OperationAbandoned | InFlightHere:
    """Say what a claimed key means to another call under it."""
    if known.receipt is None:
        return InFlightHere(key)
    if known.receipt.abandoned:
        return OperationAbandoned(key)
    if known.fingerprint != fingerprint:
        return OperationMismatch(key)
    return Replayed(known.receipt)


def written(needs: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Scopes and the names that they are for, as a receipt keeps them. Neither has line breaks."""
    if len(needs) == 1:
        return needs[0]
    return "\n".join([scope for scope, _ in needs]), "\n".join([name for _, name in needs])


def may_act(scopes: Sequence[str]) -> bool:
    """Whether a key with these scopes may do more than read: then an unknown id may be one of its own."""
    return any(scope.split(":")[1:2] != ["read"] for scope in scopes)


def fingerprint(*parts: bytes | str | None) -> bytes:
    """Digest all that makes a request this request and no other.

    Each part goes in with its length, so that bytes moved from one part to the next make another digest; no part
    (None) is not like an empty one.
    """
    told: list[bytes] = []
    for part in parts:
        if part is None:
            told.append(b"-")
        else:
            given = part.encode() if isinstance(part, str) else part
            told.append(b"%d:%b" % (len(given), given))
    return hashlib.sha256(b"".join(told)).digest()


def write_headers(headers: Headers) -> bytes:
    """Encode headers for a row."""
    return msgspec.json.encode(headers)


def known(fingerprint: bytes, key: str | None, *rest: Any) -> Known:
    """Make of a row what is known of a claimed key."""
    return Known(fingerprint, None if key is None else Receipt(key, *rest))
