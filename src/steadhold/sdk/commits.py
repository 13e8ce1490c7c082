"""commits: several changes, all or nothing: what they are made of, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.approvals_shapes import Artifact
from steadhold.sdk.grammar import Mode, Room, Script, verb
from steadhold.sdk.words import as_json, at, guarded, members

GRANTS: Final = {"lock": ("locks.get", "name"), "job": ("jobs.get", "job_id")}


class Done(msgspec.Struct, frozen=True):
    """What one item came to: what its own route would have answered. `result` are the bytes of its body."""

    op: str
    status: int
    revision: int | None = None
    fence: int | None = None
    result: msgspec.Raw = msgspec.Raw()


class Results(msgspec.Struct, frozen=True):
    """What each item came to, in the order asked."""

    require: list[Done]
    apply: list[Done]


class CommitsRoom(Room[Mode]):
    """`client.commits`: commits that are written as JSON. In Python `client.commit()` says them better."""

    @verb
    def run(self, raw: bytes, *, fences: Sequence[FenceRef] = (), operation_id: str | None = None) -> Script[Results]:
        """Send a commit as the bytes it is: `{"require": […], "apply": […]}`.

        Raises:
            Problem: an item was refused, and nothing was changed; its `extras` have `list` and `index`.
            OutcomeUnknown.
        """
        return (yield from guarded(at("commits"), raw, Results, fences, operation_id))


class Conditions:
    """`commit.require`: what must be true, and stay so until the commit. An item that is not refuses it all."""

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self.state, self.context, self.jobs = _OfState(note), _OfContext(note), _OfJobs(note)
        self.locks, self.approvals = _OfLocks(note), _OfApprovals(note)
        self.aggregates, self.inboxes = _OfAggregates(note), _OfInboxes(note)

    def grant(self, ref: FenceRef) -> Self:
        """A grant is current: `job.grant`, `lock.grant`."""
        if ref.kind not in GRANTS:
            raise ValueError(f"A commit cannot require {ref.subject}; it can require locks and jobs.")
        op, name = GRANTS[ref.kind]
        self._note(as_json({"op": op, name: ref.name, "fence": ref.fence}))
        return self


class _Noted:
    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note

    def _require(self, op: str, **said: Any) -> None:
        self._note(as_json({"op": op, **members(**said)}))


class _OfState(_Noted):
    def get(self, name: str, *, if_revision: int | None = None, absent: bool = False) -> None:
        """A name is at a revision; or it holds nothing, where `absent`."""
        if absent == (if_revision is not None):
            raise TypeError("Say what is required of the name: if_revision=N, or absent=True.")
        self._require("state.get", name=name, if_match=if_revision, if_none_match="*" if absent else None)


class _OfContext(_Noted):
    def get(self, path: str, *, if_revision: int | None = None, absent: bool = False) -> None:
        """A file is at a revision; or there is none at the path, where `absent`."""
        if absent == (if_revision is not None):
            raise TypeError("Say what is required of the path: if_revision=N, or absent=True.")
        self._require("context.get", path=path, if_match=if_revision, if_none_match="*" if absent else None)


class _OfAggregates(_Noted):
    def get(self, aggregate_id: str, *, if_revision: int) -> None:
        """An aggregate is at a revision."""
        self._require("aggregates.get", aggregate_id=aggregate_id, if_match=if_revision)


class _OfInboxes(_Noted):
    def __getitem__(self, inbox: str) -> _OfInbox:
        """The inbox of this name."""
        return _OfInbox(self._note, inbox)


class _OfInbox(_Noted):
    def __init__(self, note: Callable[[bytes], None], inbox: str) -> None:
        super().__init__(note)
        self._inbox = inbox

    def consumer(self, name: str) -> _OfConsumer:
        """A consumer of it."""
        return _OfConsumer(self._note, self._inbox, name)


class _OfConsumer(_Noted):
    def __init__(self, note: Callable[[bytes], None], inbox: str, consumer: str) -> None:
        super().__init__(note)
        self._place = {"inbox": inbox, "consumer": consumer}

    def get(self, *, epoch: str, position: int) -> None:
        """The consumer stands at a position."""
        self._require("consumers.get", **self._place, epoch=epoch, position=position)


class _OfJobs(_Noted):
    def get(self, job_id: str, *, fence: int | None = None, if_revision: int | None = None) -> None:
        """A job runs under a fence, is at a revision, or both."""
        if fence is None and if_revision is None:
            raise TypeError("Say what is required of the job: fence=, if_revision=, or both.")
        self._require("jobs.get", job_id=job_id, fence=fence, if_match=if_revision)


class _OfLocks(_Noted):
    def get(self, name: str, *, fence: int) -> None:
        """A lock is held under a fence."""
        self._require("locks.get", name=name, fence=fence)


class _OfApprovals(_Noted):
    def verify(
        self, approval_id: str, artifact: Artifact, *, use_id: str | None = None, if_revision: int | None = None
    ) -> None:
        """Exactly this artifact is approved, and may be acted on; by this use, where `use_id` says one."""
        self._require(
            "approvals.verify", approval_id=approval_id, **artifact.named(), use_id=use_id, if_match=if_revision
        )
