"""Files that only you can read: sealed whole before they are sent, opened whole when they come."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from steadhold.kit.fields import FenceRef
from steadhold.sdk.context import OCTETS, TEXT, ContextRoom
from steadhold.sdk.context_shapes import Envelope, File, FileEntry, FileWritten
from steadhold.sdk.deciding import TRIES_MAX, deciding
from steadhold.sdk.errors import EnvelopeMismatch, NotFound
from steadhold.sdk.grammar import Mode, Player, Room, Script, Stream, flow, verb
from steadhold.sdk.memory import Drawer
from steadhold.sdk.vault import Shown, Vault
from steadhold.sdk.words import read


class PrivateContextRoom(Room[Mode]):
    """`client.private(keyring).context`: as `client.context`, under a private prefix."""

    def __init__(self, player: Player, vault: Vault) -> None:
        super().__init__(player)
        self.vault = vault

    @verb
    def read(self, path: str, *, revision: int | None = None) -> Script[File]:
        """Read a file, or an older `revision` of it, and open it. Its digest is that of the opened bytes.

        Its reference names the envelope, which is what the server has.

        Raises:
            NotFound, RevisionPruned, BadAnswer: as `client.context.read`.
            EnvelopeRefused: what came was not sealed for this path and revision by a key of the keyring.
            RolledBack: it is older than what was seen before.
        """
        return (yield from self._read(path, revision))

    def _read(self, path: str, revision: int | None = None) -> Script[File]:
        shown = yield from self._shown(path, revision)
        body, bound = yield from self.vault.opened("context", path, shown, revision)
        envelope = Envelope(hashlib.sha256(shown.raw).digest(), len(shown.raw))
        return File(path, shown.revision, bound.content_type, hashlib.sha256(body).digest(), body, envelope)

    def _shown(self, path: str, revision: int | None = None) -> Script[Shown]:
        least = yield from self.vault.least("context", path)
        try:
            found = yield from ContextRoom.read.script(self, path, revision=revision)
        except NotFound as absent:
            if revision is None:
                yield from self.vault.absent("context", path, absent.last_revision, least)
            raise
        return Shown(found.body, found.revision, least)

    @verb
    def write(
        self,
        path: str,
        body: bytes | str,
        *,
        if_revision: int | None,
        content_type: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[FileWritten]:
        """Replace revision `if_revision`, or create a file where that is None, by bytes that are sealed first.

        Raises:
            RevisionConflict, StaleFence, StorageExhausted, OutcomeUnknown: as `client.context.write`.
            ValueError: sealed, they would be more than `sealed_bytes_max`.
        """
        raw, kind = (body.encode(), TEXT) if isinstance(body, str) else (body, OCTETS)
        return (yield from self._write(path, raw, content_type or kind, if_revision, fences, operation_id))

    def _write(
        self,
        path: str,
        raw: bytes,
        kind: str,
        expected: int | None,
        fences: Sequence[FenceRef],
        operation_id: str | None,
    ) -> Script[FileWritten]:
        got = yield from self.vault.put(
            "context", path, raw, kind, expected=expected, fences=fences, operation_id=operation_id
        )
        made = read(got, FileWritten)
        return FileWritten(made.path, made.revision, made.reference, got.replayed)

    @verb
    def append(
        self, path: str, body: bytes | str, *, tries_max: int = TRIES_MAX, fences: Sequence[FenceRef] = ()
    ) -> Script[FileWritten]:
        """Put bytes behind those of a file, which is created if there is none. Raises as `edit`."""
        more = body.encode() if isinstance(body, str) else body
        return (
            yield from PrivateContextRoom.edit.script(
                self, path, lambda old: old + more, create=b"", tries_max=tries_max, fences=fences
            )
        )

    @verb
    def edit(
        self,
        path: str,
        fn: Callable[[bytes], bytes],
        *,
        create: bytes | None = None,
        tries_max: int = TRIES_MAX,
        fences: Sequence[FenceRef] = (),
    ) -> Script[FileWritten]:
        """Write what `fn` makes of the bytes, and read and decide again while others write first.

        Raises:
            NotFound: there is no file, and no `create`. RevisionConflict: others wrote first `tries_max` times.
            EnvelopeRefused, RolledBack, StaleFence, StorageExhausted, OutcomeUnknown.
        """

        def decide(found: File | None) -> Script[FileWritten]:
            if found is None:
                return self._write(path, fn(create or b""), OCTETS, None, fences, None)
            return self._write(path, fn(found.body), found.content_type, found.revision, fences, None)

        creates = create is not None
        return (yield from deciding(lambda: self._read(path), decide, tries_max, EnvelopeMismatch, creates=creates))

    @verb
    def delete(
        self, path: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[int]:
        """Delete revision `if_revision`: as `client.context.delete`."""
        return (
            yield from ContextRoom.delete.script(
                self, path, if_revision=if_revision, fences=fences, operation_id=operation_id
            )
        )

    @flow
    def files(self, prefix: str = "") -> Stream[FileEntry]:
        """Every file under a prefix: as `client.context.files`. `bytes` and `digest` are the envelope's."""
        yield from ContextRoom.files.script(self, prefix)

    @verb
    def rewrap(self, path: str, *, fences: Sequence[FenceRef] = ()) -> Script[bool]:
        """Seal a file anew with the primary key, as its next revision; False: it was, or is not there any more.

        Raises:
            EnvelopeRefused: it cannot be opened. RevisionConflict: somebody writes it all the time.
        """
        return (yield from self.vault.rewrap("context", path, lambda: self._shown(path), fences))


def drawer(room: PrivateContextRoom[Any], fences: Sequence[FenceRef] = ()) -> Drawer:
    """The files of `client.private(keyring).context`, for a memory; what is written relies on grants."""
    write, delete = PrivateContextRoom.write.script, PrivateContextRoom.delete.script
    return Drawer(
        lambda path: PrivateContextRoom.read.script(room, path),
        lambda path, body, expected, kind: write(
            room, path, body, if_revision=expected, content_type=kind, fences=fences
        ),
        lambda path, revision: delete(room, path, if_revision=revision, fences=fences),
        lambda prefix: PrivateContextRoom.files.script(room, prefix),
    )
