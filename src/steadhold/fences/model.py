"""Who holds what, until when, under which number."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from steadhold.kit.plan import Refusal


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """A grant that is asked for: `subject` as in "lock:deploy", by `holder`, for `length_seconds`.

    Under the same `key` it is the same asking, repeated.
    """

    subject: str
    holder: str
    length_seconds: float
    key: str | None = None


class Granted(msgspec.Struct, frozen=True, gc=False):
    """The subject is the holder's until `until`, unless renewed. `again`: it was already, under the same key."""

    subject: str
    fence: int
    until: datetime
    length_seconds: float
    again: bool = False

    @property
    def granted_at(self) -> datetime:
        """When it began: time that was spent waiting lies before it."""
        return self.until - timedelta(seconds=self.length_seconds)


@dataclass(frozen=True, slots=True)
class Held(Refusal):
    """Somebody holds the subject."""

    subject: str
    holder: str
    fence: int
    until: datetime
    server_time: datetime

    @property
    def expires_in_seconds(self) -> float:
        """How long it is held from now, unless renewed or released."""
        return max((self.until - self.server_time).total_seconds(), 0.0)


@dataclass(frozen=True, slots=True)
class KeySpent(Refusal):
    """The key took the subject before, and that grant has ended: one asking is never granted twice."""

    subject: str
    fence: int


@dataclass(frozen=True, slots=True)
class Renewal:
    """A grant to be renewed, for `length_seconds` from now; None keeps its length."""

    subject: str
    fence: int
    length_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Renewed:
    """The grant runs until `until`, which is its length from `server_time`."""

    subject: str
    until: datetime
    server_time: datetime


@dataclass(frozen=True, slots=True)
class Released:
    """The grant has ended. `again`: its holder had released it before."""

    subject: str
    again: bool


@dataclass(frozen=True, slots=True)
class Grant:
    """A subject's row as it was read. `until` is when it ends or ended by the clock; None: it was ended.

    The fields are the columns of the row.
    """

    subject: str
    fence: int
    holder: str
    key: str | None
    length_seconds: float
    until: datetime | None
    released: bool
    server_time: datetime

    @property
    def held(self) -> bool:
        """Whether somebody holds it at `server_time`."""
        return self.until is not None and self.until > self.server_time


@dataclass(frozen=True, slots=True)
class Marked:
    """The fence is the highest that the resource has seen."""

    highest: int


@dataclass(frozen=True, slots=True)
class Outrun(Refusal):
    """The resource has seen a higher fence."""

    resource: str
    highest: int


def judge(wanted: Wanted, found: Grant | None) -> Granted | Held | KeySpent | None:
    """Say what a row means to somebody who could not take it. None: it is free by now, so ask again."""
    if found is None:
        return None
    if wanted.key is not None and found.key == wanted.key:
        if found.until is not None and found.held:
            return Granted(found.subject, found.fence, found.until, found.length_seconds, again=True)
        return KeySpent(found.subject, found.fence)
    if found.until is not None and found.held:
        return Held(found.subject, found.holder, found.fence, found.until, found.server_time)
    return None
