"""commits: each change is the verb of its own room, noted down up to its request and sent with the others."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, Generic
from urllib.parse import unquote

import msgspec

from steadhold.kit import fields, ids
from steadhold.kit.fields import ExactTag, FenceRef
from steadhold.sdk.commits import GRANTS, Conditions, Done, Results
from steadhold.sdk.grammar import Async, Got, Later, Mode, Pending, Player, Script, Send, Stream, Sync
from steadhold.sdk.rooms import Rooms
from steadhold.sdk.words import as_json, at, change, read

OPS: Final = {
    "state.put": ("PUT", r"/v1/state/(?P<name>.+)"),
    "state.delete": ("DELETE", r"/v1/state/(?P<name>.+)"),
    "context.put": ("PUT", r"/v1/context/(?P<path>.+)"),
    "jobs.submit": ("POST", r"/v1/jobs"),
    "jobs.checkpoint": ("PUT", r"/v1/jobs/(?P<job_id>[^/]+)/checkpoints/(?P<stage>[^/]+)"),
    "jobs.settle": ("POST", r"/v1/jobs/(?P<job_id>[^/]+)/settle"),
    "locks.release": ("POST", r"/v1/locks/(?P<name>[^/]+)/release"),
    "events.append": ("POST", r"/v1/aggregates/(?P<aggregate_id>[^/?]+)/events"),
    "inboxes.append": ("POST", r"/v1/inboxes/(?P<inbox>[^/?]+)/events"),
    "consumers.acknowledge": ("POST", r"/v1/inboxes/(?P<inbox>[^/]+)/consumers/(?P<consumer>[^/]+)/acknowledge"),
    "effects.plan": ("POST", r"/v1/effects"),
    "approvals.use": ("POST", r"/v1/approvals/(?P<approval_id>[^/]+)/use"),
}
"""The requests that a commit can hold, and what they are called there."""

CONTENT: Final = {"state.put": "value"}
"""The member that holds a body whole; other bodies are members."""


class Commit(Generic[Mode]):
    """`client.commit()`: what its block notes is sent at its end, and takes effect together or not at all.

    `apply` has the verbs of the client's rooms; each answers a `Pending`, whose `result` is there after the block.
    `require` has the conditions. If the block raises, nothing is sent. `replayed`, after the block: the answers are the
    first ones to this operation, told again.
    """

    def __init__(self, player: Player, operation_id: str | None) -> None:
        self.operation_id = ids.new_id() if operation_id is None else operation_id
        self.require, self.apply = Conditions(self._condition), _Noting(self._change)
        self.replayed = False
        self._player = player
        self._conditions: list[bytes] = []
        self._changes: list[tuple[bytes, Pending[Any]]] = []
        self._fences: dict[FenceRef, None] = {}  # which no condition can name

    def __enter__(self: Commit[Sync]) -> Commit[Sync]:
        return self

    def __exit__(self, raised: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if raised is None:
            self._player.play(self._sent())

    async def __aenter__(self: Commit[Async]) -> Commit[Async]:
        return self

    async def __aexit__(self, raised: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        if raised is None:
            await self._player.play(self._sent())

    def _condition(self, item: bytes) -> None:
        if item not in self._conditions:
            self._conditions.append(item)

    def _change(self, send: Send, pending: Pending[Any]) -> None:
        for ref in _fences(send):
            if ref.kind in GRANTS:
                self.require.grant(ref)
            else:
                self._fences[ref] = None
        self._changes.append((_item(send), pending))

    def _sent(self) -> Script[None]:
        if not self._changes:
            raise ValueError("The commit applies nothing: note at least one change by commit.apply in its block.")
        lists = b",".join(self._conditions), b",".join(item for item, _ in self._changes)
        got = yield change(
            "POST", at("commits"), b'{"require":[%b],"apply":[%b]}' % lists,
            operation_id=self.operation_id, fences=list(self._fences),
        )  # fmt: skip
        self.replayed = got.replayed
        for (_, pending), done in zip(self._changes, read(got, Results).apply, strict=True):
            pending.answer(_got(done, got))


class _Noting(Rooms[Later]):
    """The rooms of a commit: a verb is noted up to its request, and goes on with its answer after the block."""

    def __init__(self, note: Callable[[Send, Pending[Any]], None]) -> None:
        super().__init__()
        self._note = note

    def play(self, script: Script[Any]) -> Pending[Any]:
        """Note the one request of a script."""
        pending: Pending[Any] = Pending(script)
        self._note(pending.request(), pending)
        return pending

    def flow(self, stream: Stream[Any]) -> Any:
        """Streams read, and a commit does not."""
        stream.close()
        raise TypeError("A commit holds changes only: read before it, and require what you have read.")


def _op(send: Send) -> tuple[str, dict[str, str]]:
    for op, (method, path) in OPS.items():
        if send.method == method and (found := re.fullmatch(path, send.target)):
            return op, {name: unquote(value) for name, value in found.groupdict().items()}
    raise TypeError(f"A commit cannot hold {send.method} {send.target}; it can hold {', '.join(sorted(OPS))}.")


def _item(send: Send) -> bytes:
    """The request as an item. The bytes of its body stay as they are."""
    op, params = _op(send)
    said: dict[str, Any] = {"op": op, **params}
    if op == "inboxes.append":
        said["key"] = send.operation_id
    if isinstance(tag := fields.condition(send.headers.get("if-match")), ExactTag):
        said["if_match"] = tag.revision
    if "if-none-match" in send.headers:
        said["if_none_match"] = send.headers["if-none-match"]
    if op == "context.put":
        inline = base64.b64encode(send.body or b"").decode()
        return as_json({**said, "base64": inline, "content_type": send.headers["content-type"]})
    body = send.body or b"{}"
    if op in CONTENT:
        return as_json({**said, CONTENT[op]: msgspec.Raw(body)})
    more = body.strip()[1:-1].strip()
    return as_json(said)[:-1] + (b"," + more if more else b"") + b"}"


def _fences(send: Send) -> Sequence[FenceRef]:
    found = fields.fences(send.headers.get("fence"))
    return found if isinstance(found, tuple) else ()


def _got(done: Done, whole: Got) -> Got:
    """The answer that the item's own request would have got."""
    headers = {"idempotent-replayed": "true"} if whole.replayed else {}
    if done.revision is not None:
        headers |= {"revision": str(done.revision), "etag": fields.etag(done.revision)}
    return Got(done.status, headers, bytes(done.result))
