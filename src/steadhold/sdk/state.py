"""state: exact JSON under compare-and-swap. Every write names the revision it replaces; there is no blind one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from steadhold.kit import exact, fields
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.grammar import Got, Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.state_batch import Delete, Get, Item, Outcome, Put, wire
from steadhold.sdk.watching import each_content
from steadhold.sdk.words import UNSET, Exact, Unset, at, change, pages, put_if, raw_json, read, verified

__all__ = ["Absent", "Delete", "Get", "Kept", "Name", "Outcome", "Put", "State", "StateRoom", "Written"]


class State(Exact, frozen=True, kw_only=True):
    """What a name holds: its bytes, exactly as they were written, and their revision and SHA-256."""

    name: str
    revision: int
    digest: bytes


class Absent(msgspec.Struct, frozen=True):
    """A name that holds nothing; `last_revision` is what it had when it was deleted, if it ever was there."""

    name: str
    last_revision: int | None = None


class Written(msgspec.Struct, frozen=True):
    """A write that won. `replayed`: the answer is the first one to this operation, told again."""

    name: str
    revision: int
    replayed: bool = False


class Name(msgspec.Struct, frozen=True):
    """A name in a list: `bytes` counts what it holds, `digest` is their SHA-256 in hexadecimal."""

    name: str
    revision: int
    bytes: int
    digest: str
    changed_at: datetime


class Kept(msgspec.Struct, frozen=True):
    """A revision that is kept; `deleted`: it is the deletion of the name."""

    revision: int
    bytes: int
    digest: str
    written_at: datetime
    deleted: bool = False


class _Outcomes(msgspec.Struct):
    outcomes: list[Outcome]


class StateRoom(Room[Mode]):
    """`client.state`."""

    @verb
    def get(self, name: str, *, revision: int | None = None) -> Script[State]:
        """Read a name, or an older `revision` of it.

        Raises:
            NotFound: it holds nothing. RevisionPruned: the revision is not kept any more.
            BadAnswer: the bytes that came are not those that the server sent.
        """
        return (yield from _read(name, revision))

    @verb
    def put(
        self,
        name: str,
        value: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        if_revision: int,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Written]:
        """Replace revision `if_revision` by a value, or by JSON bytes that are stored as they are.

        Raises:
            RevisionConflict: the name has another revision, or none. StaleFence: a grant in `fences` is not current.
            StorageExhausted, OutcomeUnknown.
        """
        return (yield from _write(name, raw_json(value, raw), if_revision, fences, operation_id))

    @verb
    def create(
        self,
        name: str,
        value: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Written]:
        """Write a name that holds nothing.

        Raises:
            RevisionConflict: it holds something. StaleFence, StorageExhausted, OutcomeUnknown.
        """
        return (yield from _write(name, raw_json(value, raw), None, fences, operation_id))

    @verb
    def delete(
        self, name: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Written]:
        """Delete revision `if_revision`. The revision that is answered is the deletion's own.

        Raises:
            NotFound: the name holds nothing. RevisionConflict, StaleFence, OutcomeUnknown.
        """
        headers = {"if-match": fields.etag(if_revision)}
        target = at("state", path=name)
        got = yield change("DELETE", target, operation_id=operation_id, fences=fences, headers=headers)
        return Written(name, got.revision, got.replayed)

    @verb
    def update(
        self,
        name: str,
        fn: Callable[[Any], JsonValue],
        *,
        create: JsonValue | Unset = UNSET,
        tries_max: int = TRIES_MAX,
        fences: Sequence[FenceRef] = (),
    ) -> Script[State]:
        """Write what `fn` makes of the value, and read and decide again while others write first.

        `fn` may be called several times, so it only computes. An absent name starts from `create`, if that is given.

        Raises:
            NotFound: the name holds nothing, and there is no `create`.
            RevisionConflict: others wrote first `tries_max` times. StaleFence, StorageExhausted, OutcomeUnknown.
        """

        def decide(found: State | None) -> Script[State]:
            value, revision = (create, None) if found is None else (found.value, found.revision)
            raw = decided(fn(value))
            return made(name, raw, _write(name, raw, revision, fences, None))

        creates = not isinstance(create, Unset)
        return (yield from deciding(lambda: _read(name), decide, tries_max, creates=creates))

    @flow
    def names(self, prefix: str = "") -> Stream[Name]:
        """Every name under a prefix of whole segments, in the order of their bytes."""
        yield from pages(lambda cursor: at("state", prefix=prefix or None, cursor=cursor), Name)

    @flow
    def revisions(self, name: str) -> Stream[Kept]:
        """The revisions of a name that are kept, newest first."""
        yield from pages(lambda cursor: at("state", path=name, view="revisions", cursor=cursor), Kept)

    @flow
    def watch(self, name: str, *, since: int | None = None) -> Stream[State | Absent]:
        """What the name holds now, and then each time that it changed, for ever.

        Revisions that follow each other quickly may be passed over; the last one never is. `since` is a revision
        that you have already: it is not given again.
        """
        yield from each_content("state", name, since, _state, Absent)

    @verb
    def batch(
        self, items: Sequence[Item], *, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[list[Outcome]]:
        """Many readings and writes, an outcome each: what one came to changes nothing for the others.

        Raises:
            StaleFence: then nothing was written. OutcomeUnknown.
        """
        body = {"items": [wire(item) for item in items]}
        got = yield change("POST", at("state:batch"), body, operation_id=operation_id, fences=fences)
        return read(got, _Outcomes).outcomes


def _read(name: str, revision: int | None = None) -> Script[State]:
    return _state(name, (yield Send("GET", at("state", path=name, revision=revision))))


def _state(name: str, got: Got) -> State:
    digest = verified(f"The state of {name!r}", got)
    return State(got.body, name=name, revision=got.revision, digest=digest)


def made(name: str, raw: bytes, write: Script[Written]) -> Script[State]:
    """The state that a write of these bytes makes."""
    written = yield from write
    return State(raw, name=name, revision=written.revision, digest=hashlib.sha256(raw).digest())


def decided(value: JsonValue) -> bytes:
    """The JSON of what the function of an update returned.

    Raises:
        TypeError: it returned nothing, as one does that alters the value that it was given.
    """
    if value is None:
        raise TypeError("The function of an update returns the new value; it returned None. To write null, use put.")
    return exact.encode(value)


def _write(
    name: str, raw: bytes, if_revision: int | None, fences: Sequence[FenceRef], operation_id: str | None
) -> Script[Written]:
    condition = put_if(if_revision)
    got = yield change("PUT", at("state", path=name), raw, operation_id=operation_id, fences=fences, headers=condition)
    return Written(name, got.revision, got.replayed)
