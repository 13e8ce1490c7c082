"""LangGraph: a checkpointer over context, so that a graph goes on where it was after its process was killed.

`pip install 'steadhold[langgraph]'`. A checkpoint is one file, and so are the writes of one task on it:

    <prefix>/<thread>/<namespace>/c/<checkpoint>        <prefix>/<thread>/<namespace>/w/<checkpoint>/<task>

The name of a checkpoint is its id complemented, so the newest is the first in the order of paths.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from steadhold.adapters.naming import segment
from steadhold.kit.fields import FenceRef
from steadhold.sdk.client import Client
from steadhold.sdk.errors import NotFound, RevisionConflict

SEGMENT_CHARS_MAX: Final = 110
"""Of a longer thread or namespace the path has the digest."""

Typed: TypeAlias = tuple[str, bytes]


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """A checkpoint as a file holds it; values as the serializer wrote them, with the kind that it told."""

    thread: str
    namespace: str
    id: str
    parent: str | None
    checkpoint: Typed
    metadata: Typed


class _Write(msgspec.Struct, frozen=True, array_like=True):
    place: int
    channel: str
    value: Typed


class _Writes(msgspec.Struct, frozen=True, array_like=True):
    """What one task wrote on a checkpoint, by place."""

    task: str
    path: str
    writes: list[_Write]


class SteadholdSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of graphs in the workspace of `client`, below `prefix`. Coroutines run it in a thread.

    `fences` are grants that must still be current: with its job's, a worker that was replaced writes nothing more. What
    writes raises as `client.context.write` does: StaleFence, StorageExhausted, OutcomeUnknown.
    """

    def __init__(
        self,
        client: Client,
        *,
        prefix: str = "langgraph",
        fences: Sequence[FenceRef] = (),
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        self._client, self._prefix, self._fences = client, prefix, tuple(fences)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; the configuration that names it. Under an id that is known it replaces the other."""
        del new_versions  # a file holds the whole checkpoint
        thread, namespace = _named(config)
        kept = _Kept(
            thread, namespace, checkpoint["id"], get_checkpoint_id(config),
            self.serde.dumps_typed(checkpoint),
            self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)),
        )  # fmt: skip
        self._write(self._checkpoint(thread, namespace, kept.id), msgspec.msgpack.encode(kept), lambda _, new: new)
        return _config(thread, namespace, kept.id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote on a checkpoint: what is at a place stays, but for errors, interrupts and resumes."""
        thread, namespace = _named(config)
        told = [
            _Write(WRITES_IDX_MAP.get(channel, place), channel, self.serde.dumps_typed(value))
            for place, (channel, value) in enumerate(writes)
        ]
        path = f"{self._writes(thread, namespace, _said(config)['checkpoint_id'])}/{_segment(task_id)}"
        self._write(path, msgspec.msgpack.encode(_Writes(task_id, task_path, told)), _merged)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a configuration names, or the newest of its thread and namespace."""
        thread, namespace = _named(config)
        if (id := get_checkpoint_id(config)) is not None:
            return self._read(self._checkpoint(thread, namespace, id))
        newest = islice(self._client.context.files(f"{self._namespace(thread, namespace)}/c"), 1)
        return next((self._read(entry.path) for entry in newest), None)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first, of a thread or of all, whose metadata has what `filter` says."""
        bound = get_checkpoint_id(before) if before else None
        found = (self._read(path) for path in self._paths(config) if bound is None or _last(path) > _descending(bound))
        wanted = (filter or {}).items()
        return islice((one for one in found if one and wanted <= one.metadata.items()), limit)

    def delete_thread(self, thread_id: str) -> None:
        """Delete all checkpoints of a thread, and what was written on them."""
        for entry in self._client.context.files(f"{self._prefix}/{_segment(thread_id)}"):
            try:
                self._client.context.delete(entry.path, if_revision=entry.revision, fences=self._fences)
            except NotFound:
                continue

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints of a thread, and what was written on them."""
        source, target = (f"{self._prefix}/{_segment(id)}" for id in (source_thread_id, target_thread_id))
        for entry in self._client.context.files(source):
            body = self._client.context.read(entry.path).body
            below = entry.path.removeprefix(source)
            if below.split("/")[2] == "c":
                kept = msgspec.structs.replace(_KEPT.decode(body), thread=str(target_thread_id))
                body = msgspec.msgpack.encode(kept)
            self._write(target + below, body, lambda _, new: new)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As `put`."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `put_writes`."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As `get_tuple`."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        found = await asyncio.to_thread(self.list, config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    def _namespace(self, thread: str, namespace: str) -> str:
        return f"{self._prefix}/{_segment(thread)}/{_segment(namespace)}"

    def _checkpoint(self, thread: str, namespace: str, id: str) -> str:
        return f"{self._namespace(thread, namespace)}/c/{_descending(id)}"

    def _writes(self, thread: str, namespace: str, id: str) -> str:
        return f"{self._namespace(thread, namespace)}/w/{_descending(id)}"

    def _write(self, path: str, body: bytes, merge: Callable[[bytes, bytes], bytes]) -> None:
        try:
            self._client.context.write(path, body, if_revision=None, fences=self._fences)
        except RevisionConflict:
            self._client.context.edit(
                path, lambda old: merge(old, body) if old else body, create=b"", fences=self._fences
            )

    def _paths(self, config: RunnableConfig | None) -> Iterator[str]:
        """Where the checkpoints are that a configuration leaves open, newest first."""
        named = _said(config)
        if (id := named.get("checkpoint_id")) is not None:
            return iter([self._checkpoint(*_named(config or {}), id)])
        place = self._prefix
        if "thread_id" in named:
            place += f"/{_segment(named['thread_id'])}"
            place += f"/{_segment(named['checkpoint_ns'])}/c" if "checkpoint_ns" in named else ""
        files = self._client.context.files(place)
        return iter(sorted((entry.path for entry in files if entry.path.split("/")[-2] == "c"), key=_last))

    def _read(self, path: str) -> CheckpointTuple | None:
        try:
            kept = _KEPT.decode(self._client.context.read(path).body)
        except NotFound:
            return None
        return CheckpointTuple(
            _config(kept.thread, kept.namespace, kept.id),
            self.serde.loads_typed(kept.checkpoint),
            self.serde.loads_typed(kept.metadata),
            None if kept.parent is None else _config(kept.thread, kept.namespace, kept.parent),
            self._pending(self._writes(kept.thread, kept.namespace, kept.id)),
        )

    def _pending(self, prefix: str) -> list[PendingWrite]:
        """What tasks wrote on a checkpoint, in the order in which it is applied."""
        tasks = [_WRITES.decode(body) for body in _unpacked(self._client.context.export(prefix))]
        found = [
            (writes_sort_key(one.path, one.task, write.place), one.task, write) for one in tasks for write in one.writes
        ]
        found.sort(key=lambda one: one[0])
        return [(task, write.channel, self.serde.loads_typed(write.value)) for _, task, write in found]


_KEPT: Final = msgspec.msgpack.Decoder(_Kept)
_WRITES: Final = msgspec.msgpack.Decoder(_Writes)


def _named(config: RunnableConfig) -> tuple[str, str]:
    named = _said(config)
    return str(named["thread_id"]), named.get("checkpoint_ns", "")


def _said(config: RunnableConfig | None) -> dict[str, Any]:
    return (config or {}).get("configurable", {})


def _config(thread: str, namespace: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id}}


def _segment(text: str) -> str:
    return segment(str(text), SEGMENT_CHARS_MAX)  # a thread may be named by a number


def _descending(id: str) -> str:
    """A name such that the later of two ids, as text, has the earlier one."""
    return "".join([f"{255 - byte:02x}" for byte in id.encode()]) + "~"


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _merged(old: bytes, new: bytes) -> bytes:
    told = _WRITES.decode(new)
    places = {write.place: write for write in _WRITES.decode(old).writes}
    for write in told.writes:
        if write.place < 0 or write.place not in places:
            places[write.place] = write
    return msgspec.msgpack.encode(msgspec.structs.replace(told, writes=list(places.values())))


def _unpacked(archive: bytes) -> Iterator[bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for file in files:
            if (content := files.extractfile(file)) is not None:
                yield content.read()
