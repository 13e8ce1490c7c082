"""What only you can read: values are sealed before they are sent, and opened when they come.

Nothing here falls back: what is no envelope of this keyring, bound to this name and revision, is an `EnvelopeRefused`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

import msgspec

from steadhold.envelopes import Bound, HighWater, Keyring, open_envelope, seal
from steadhold.kit import exact
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.kit.ids import new_id
from steadhold.kit.sealed import MEDIA_TYPE, Kind, Seal, seal_of
from steadhold.sdk.errors import BadAnswer, EnvelopeMismatch, NotFound, RevisionConflict
from steadhold.sdk.grammar import Mode, Pause, Player, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.state import TRIES_MAX, Name, State, StateRoom, Written
from steadhold.sdk.words import UNSET, Unset, at, change, put_if, raw_json, read

JSON: Final = "application/json"


class _Self(msgspec.Struct):
    workspace: str


class Vault:
    """A keyring, and where its envelopes lie. Names are as they are: only what they hold is sealed."""

    __slots__ = ("_workspace", "high_water", "keyring")

    def __init__(self, keyring: Keyring, high_water: HighWater | None = None) -> None:
        self.keyring, self.high_water = keyring, high_water
        self._workspace = ""

    def bound(self, kind: Kind, name: str, revision: int, content_type: str = JSON) -> Script[Bound]:
        """What an envelope for a name has to be bound to."""
        if not self._workspace:
            self._workspace = read((yield Send("GET", at("whoami"))), _Self).workspace
        return Bound(
            workspace=self._workspace, kind=kind, name=name, content_type=content_type, revision=revision
        )  # fmt: skip

    def opened(self, bound: Bound, envelope: bytes, *, newest: bool = True) -> bytes:
        """What an envelope holds. The `newest` of a name may be no older than what was seen.

        Raises:
            EnvelopeRefused: it was not sealed for this. RolledBack: a newer one was seen before.
        """
        data = open_envelope(self.keyring, bound, envelope)
        if newest:
            self.saw(bound)
        return data

    def saw(self, bound: Bound) -> None:
        """Take a revision into account, where that is asked for.

        Raises:
            RolledBack: a higher one was seen before.
        """
        if self.high_water is not None:
            self.high_water.saw(bound.workspace, bound.kind, bound.name, bound.revision)


class PrivateStateRoom(Room[Mode]):
    """`client.private(keyring).state`: as `client.state`, under a private prefix."""

    def __init__(self, player: Player, vault: Vault) -> None:
        super().__init__(player)
        self.vault = vault

    @verb
    def get(self, name: str, *, revision: int | None = None) -> Script[State]:
        """Read a name, or an older `revision` of it, and open it.

        Raises:
            NotFound, RevisionPruned, BadAnswer: as `client.state.get`.
            EnvelopeRefused: what came was not sealed for this name and revision by a key of the keyring.
            RolledBack: it is older than what was seen before.
        """
        return (yield from self._read(name, revision))

    def _read(self, name: str, revision: int | None = None) -> Script[State]:
        found = yield from self._found(name, revision)
        if revision is not None and found.revision != revision:
            raise BadAnswer(f"Revision {revision} of {name!r} was asked for, and another came.")
        bound = yield from self.vault.bound("state", name, found.revision)
        raw = self.vault.opened(bound, found.raw, newest=revision is None)
        return State(raw, name=name, revision=found.revision, digest=hashlib.sha256(raw).digest())

    def _found(self, name: str, revision: int | None) -> Script[State]:
        try:
            return (yield from StateRoom.get.script(self, name, revision=revision))
        except NotFound as absent:
            if absent.last_revision is not None and revision is None:
                self.vault.saw((yield from self.vault.bound("state", name, absent.last_revision)))
            raise

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
        """Replace revision `if_revision` by a value that is sealed first.

        Raises:
            RevisionConflict, StaleFence, StorageExhausted, OutcomeUnknown: as `client.state.put`.
            PlaintextRefused: no private prefix covers the name.
        """
        return (yield from self._write(name, raw_json(value, raw), if_revision, fences, operation_id))

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
        """Write a name that holds nothing by a value that is sealed first.

        Raises:
            RevisionConflict, StaleFence, StorageExhausted, OutcomeUnknown: as `client.state.create`.
            PlaintextRefused: no private prefix covers the name.
        """
        return (yield from self._write(name, raw_json(value, raw), None, fences, operation_id))

    def _write(
        self, name: str, raw: bytes, expected: int | None, fences: Sequence[FenceRef], operation_id: str | None
    ) -> Script[Written]:
        """Seal for the revision that is next in all likelihood, and once more for the one that the server names."""
        if fault := exact.check(raw):
            raise ValueError(f"What is sealed is exact JSON, too: {fault.why}")
        key, bound = operation_id or new_id(), (yield from self.vault.bound("state", name, (expected or 0) + 1))
        try:
            return (yield from self._sent(bound, raw, expected, fences, key))
        except EnvelopeMismatch as other:
            if other.next_revision is None:
                raise
            bound = msgspec.structs.replace(bound, revision=other.next_revision)
            return (yield from self._sent(bound, raw, expected, fences, key))

    def _sent(
        self, bound: Bound, raw: bytes, expected: int | None, fences: Sequence[FenceRef], key: str
    ) -> Script[Written]:
        headers = {**put_if(expected), "content-type": MEDIA_TYPE}
        sealed, target = seal(self.vault.keyring, bound, raw), at("state", path=bound.name)
        got = yield change("PUT", target, sealed, operation_id=key, fences=fences, headers=headers)
        if got.revision != bound.revision:
            raise BadAnswer(f"{bound.name!r} was sealed as revision {bound.revision}, and stored as another.")
        self.vault.saw(bound)
        return Written(bound.name, got.revision, got.replayed)

    @verb
    def delete(
        self, name: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[Written]:
        """Delete revision `if_revision`: as `client.state.delete`."""
        return (
            yield from StateRoom.delete.script(
                self, name, if_revision=if_revision, fences=fences, operation_id=operation_id
            )
        )

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

        Raises:
            NotFound: the name holds nothing, and there is no `create`. RevisionConflict: `tries_max` times others
            wrote first. EnvelopeRefused, RolledBack, StaleFence, StorageExhausted, OutcomeUnknown.
        """
        for tries in range(1, tries_max + 1):
            value, revision = yield from self._before(name, create)
            try:
                raw = exact.encode(fn(value))
                written = yield from self._write(name, raw, revision, fences, None)
            except (RevisionConflict, EnvelopeMismatch):
                if tries == tries_max:
                    raise
                yield Pause(0.005 * 2.0 ** min(tries, 7))
            else:
                return State(raw, name=name, revision=written.revision, digest=hashlib.sha256(raw).digest())
        raise ValueError("tries_max is at least 1.")

    def _before(self, name: str, create: JsonValue | Unset) -> Script[tuple[Any, int | None]]:
        try:
            found = yield from self._read(name)
        except NotFound:
            if isinstance(create, Unset):
                raise
            return create, None
        return found.value, found.revision

    @flow
    def names(self, prefix: str = "") -> Stream[Name]:
        """Every name under a prefix: as `client.state.names`. `bytes` and `digest` are the envelope's."""
        yield from StateRoom.names.script(self, prefix)

    @verb
    def rewrap(self, name: str) -> Script[bool]:
        """Seal a name anew with the primary key, as its next revision; False: it was, or holds nothing any more.

        Raises:
            EnvelopeRefused: it cannot be opened. RevisionConflict: somebody writes it all the time.
        """
        for tries in range(1, TRIES_MAX + 1):
            try:
                return (yield from self._rewrapped(name))
            except RevisionConflict:
                if tries == TRIES_MAX:
                    raise
                yield Pause(0.1)
        raise AssertionError("the last try returns or raises")

    def _rewrapped(self, name: str) -> Script[bool]:
        try:
            found = yield from StateRoom.get.script(self, name)
        except NotFound:
            return False
        said = seal_of(found.raw)
        if isinstance(said, Seal) and said.kid == self.vault.keyring.primary.kid:
            return False
        bound = yield from self.vault.bound("state", name, found.revision)
        yield from self._write(name, self.vault.opened(bound, found.raw), found.revision, (), None)
        return True


class Private(Generic[Mode]):
    """`client.private(keyring)`: the rooms whose contents only holders of the keyring can read."""

    def __init__(self, player: Player, keyring: Keyring, high_water: HighWater | None = None) -> None:
        vault = Vault(keyring, high_water)
        self.state: PrivateStateRoom[Mode] = PrivateStateRoom(player, vault)
