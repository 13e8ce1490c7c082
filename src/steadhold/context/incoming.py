"""context: a body on its way in. Few bytes are written in one transaction; more are kept piece by piece before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from steadhold import private
from steadhold.context import plans, uploads
from steadhold.context.model import Upload, WriteOutcome, Written
from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.kit.limits import CONTEXT_CHUNK_BYTES, CONTEXT_WHOLE_BYTES_MAX
from steadhold.kit.plan import Call, Refusal
from steadhold.kit.sealed import MEDIA_TYPE, SealReader
from steadhold.web.ask import Pull, Request
from steadhold.web.problem import stop

Asking: TypeAlias = Generator[Pull | Call[Any], Any, Any]
Read: TypeAlias = Callable[[int], Generator[Pull, Any, bytes]]
"""Reads so many bytes, fewer only at the end, where it reads none."""


@dataclass(slots=True)
class Target:
    """Where bytes are to go: `size` of them, None where nobody said. `fresh` would be the id of their upload."""

    workspace: str
    path: str
    expected: int | None
    content_type: str
    fresh: str
    fences_held: tuple[FenceRef, ...] = ()
    size: int | None = None
    upload: str | None = field(default=None, init=False)
    seal: SealReader = field(default_factory=SealReader, init=False)

    def after(self, outcome: object) -> Call[bool] | None:
        """Give the upload up, if there is one and this did not write it."""
        if self.upload is None or isinstance(outcome, Written):
            return None
        return uploads.release.call(self.workspace, self.upload)


def gather(
    target: Target, read: Read, hashes: Mapping[str, Any]
) -> Generator[Pull | Call[Any], Any, Call[WriteOutcome] | Refusal]:
    """Read bytes to their end; the call that writes them, or why they cannot come. `hashes` see them all."""
    if target.content_type == MEDIA_TYPE:
        hashes = {**hashes, "seal": target.seal}
    few: list[bytes] = []
    if target.size is None or target.size <= CONTEXT_WHOLE_BYTES_MAX:
        few = yield from _few(read, hashes)
        if sum(map(len, few)) <= CONTEXT_WHOLE_BYTES_MAX:
            return plans.put.call(
                target.workspace, target.path, b"".join(few), target.expected, target.content_type, target.fences_held
            )
    return (yield from _upload(target, read, few, hashes))


def _few(read: Read, hashes: Mapping[str, Any]) -> Generator[Pull, Any, list[bytes]]:
    """Read as much as may be written at once, and a piece more where that is not all."""
    few: list[bytes] = []
    while sum(map(len, few)) <= CONTEXT_WHOLE_BYTES_MAX and (piece := (yield from read(CONTEXT_CHUNK_BYTES))):
        see(hashes, piece)
        few.append(piece)
    return few


def _upload(
    target: Target, read: Read, few: list[bytes], hashes: Mapping[str, Any]
) -> Generator[Pull | Call[Any], Any, Call[WriteOutcome] | Refusal]:
    size = sum(map(len, few)) if target.size is None else target.size
    target.upload = target.fresh
    if not few and target.content_type == MEDIA_TYPE:
        few = [(yield from _seen(read, hashes))]  # what it begins with tells most
    sealed = target.content_type == MEDIA_TYPE and not target.seal.broken
    room = yield uploads.begin_upload.call(
        target.workspace, target.path, target.expected, size, target.fresh, sealed=sealed
    )
    if isinstance(room, Refusal):
        return room
    whole, length, chunk = hashlib.sha256(), 0, 0
    few.reverse()
    while piece := few.pop() if few else (yield from _seen(read, hashes)):
        whole.update(piece)
        length += len(piece)
        grown = None if length <= size else (int(target.expected is None), max(length - room.credit, 0))
        kept = yield uploads.keep.call(target.workspace, target.fresh, chunk, piece, grown)
        if isinstance(kept, Refusal):
            return kept
        chunk += 1
    sealed = private.bound_revision(target.workspace, "context", target.path, target.seal.end())
    made = Upload(target.fresh, length, whole.digest(), sealed)
    return plans.put_upload.call(
        target.workspace, target.path, made, target.expected, target.content_type, target.fences_held
    )


def _seen(read: Read, hashes: Mapping[str, Any]) -> Generator[Pull, Any, bytes]:
    piece = yield from read(CONTEXT_CHUNK_BYTES)
    see(hashes, piece)
    return piece


def see(hashes: Mapping[str, Any], piece: bytes) -> None:
    """Show a piece to digests."""
    for one in hashes.values():
        one.update(piece)


def body(most: int) -> Generator[Pull, Any, bytes]:
    """Read of the request's own body."""
    piece = yield Pull(most)
    return piece if isinstance(piece, bytes) else b""


def declared(ask: Request) -> dict[str, bytes]:
    """What `Content-Digest` and `Repr-Digest` say, which must agree: a body without coding is what it represents."""
    said: dict[str, bytes] = {}
    for name in ("content-digest", "repr-digest"):
        found = fields.digests(ask.headers.get(name))
        if isinstance(found, fields.FieldFault):
            stop("bad_header", found.why)
        if any(said.get(algorithm, digest) != digest for algorithm, digest in found.items()):
            stop("digest_mismatch", "Content-Digest and Repr-Digest say different things of the same bytes.")
        said |= found
    return said


def hashes_for(said: Mapping[str, bytes]) -> dict[str, Any]:
    """What computes the digests that were declared."""
    return {algorithm: hashlib.new(algorithm.replace("-", "")) for algorithm in said}


def mismatch(said: Mapping[str, bytes], hashes: Mapping[str, Any]) -> str | None:
    """The algorithm by which the bytes are others than was declared."""
    return next((algorithm for algorithm, digest in said.items() if hashes[algorithm].digest() != digest), None)
