"""What only you can read: values are sealed before they are sent, and opened when they come.

Nothing here falls back: what is no envelope of this keyring, bound to this name and revision, is an `EnvelopeRefused`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic

from steadhold.envelopes import HighWater, Keyring
from steadhold.kit import exact
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.errors import EnvelopeMismatch, NotFound
from steadhold.sdk.grammar import Mode, Player, Room, Script, Stream, flow, verb
from steadhold.sdk.memory import MemoryRoom
from steadhold.sdk.memory_text import Place
from steadhold.sdk.private_context import PrivateContextRoom, drawer
from steadhold.sdk.state import Name, State, StateRoom, Written, decided, made
from steadhold.sdk.vault import Shown, Vault
from steadhold.sdk.words import UNSET, Unset, raw_json

JSON: Final = "application/json"


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
        shown = yield from self._shown(name, revision)
        raw, _ = yield from self.vault.opened("state", name, shown, revision, JSON)
        return State(raw, name=name, revision=shown.revision, digest=hashlib.sha256(raw).digest())

    def _shown(self, name: str, revision: int | None = None) -> Script[Shown]:
        least = yield from self.vault.least("state", name)
        try:
            found = yield from StateRoom.get.script(self, name, revision=revision)
        except NotFound as absent:
            if revision is None:
                yield from self.vault.absent("state", name, absent.last_revision, least)
            raise
        return Shown(found.raw, found.revision, least)

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
        if fault := exact.check(raw):
            raise ValueError(f"What is sealed is exact JSON, too: {fault.why}")
        got = yield from self.vault.put(
            "state", name, raw, JSON, expected=expected, fences=fences, operation_id=operation_id
        )
        return Written(name, got.revision, got.replayed)

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

        def decide(found: State | None) -> Script[State]:
            value, revision = (create, None) if found is None else (found.value, found.revision)
            raw = decided(fn(value))
            return made(name, raw, self._write(name, raw, revision, fences, None))

        creates = not isinstance(create, Unset)
        return (yield from deciding(lambda: self._read(name), decide, tries_max, EnvelopeMismatch, creates=creates))

    @flow
    def names(self, prefix: str = "") -> Stream[Name]:
        """Every name under a prefix: as `client.state.names`. `bytes` and `digest` are the envelope's."""
        yield from StateRoom.names.script(self, prefix)

    @verb
    def rewrap(self, name: str, *, fences: Sequence[FenceRef] = ()) -> Script[bool]:
        """Seal a name anew with the primary key, as its next revision; False: it was, or holds nothing any more.

        Raises:
            EnvelopeRefused: it cannot be opened. RevisionConflict: somebody writes it all the time.
        """
        return (yield from self.vault.rewrap("state", name, lambda: self._shown(name), fences))


class Private(Generic[Mode]):
    """`client.private(keyring)`: the rooms whose contents only holders of the keyring can read."""

    def __init__(
        self,
        player: Player,
        keyring: Keyring,
        high_water: HighWater | None = None,
        workspace: str | None = None,
        *,
        pad: bool = False,
    ) -> None:
        vault = Vault(keyring, high_water, workspace, pad=pad)
        self.state: PrivateStateRoom[Mode] = PrivateStateRoom(player, vault)
        self.context: PrivateContextRoom[Mode] = PrivateContextRoom(player, vault)
        self._player = player

    def memory(self, prefix: str, *, root: str = "/memories", fences: Sequence[FenceRef] = ()) -> MemoryRoom[Mode]:
        """The commands of an agent's memory tool over sealed files: as `client.memory`, under a private prefix."""
        return MemoryRoom(self._player, drawer(self.context, fences), Place(prefix, root))
