"""Consumers of an inbox: what they receive, and how they say that it is done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Literal

import msgspec

from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import InboxRestored
from steadhold.sdk.grammar import Async, Give, Mode, Player, Room, Script, Send, Stream, Sync, flow, verb
from steadhold.sdk.inboxes_shapes import ConsumerState, Event, Gap, Lease, Made, Page, Position
from steadhold.sdk.words import WAIT_SECONDS, at, change, made, members, put_if, read, removed


class Delivery(Room[Mode]):
    """An event that a consumer received. Nothing is acknowledged until you say so."""

    gap = False

    def __init__(self, consumer: ConsumerRoom[Mode], epoch: str, event: Event) -> None:
        super().__init__(consumer.player)
        self.consumer, self.epoch, self.event = consumer, epoch, event

    @property
    def sequence(self) -> int:
        """Its number."""
        return self.event.sequence

    @property
    def event_id(self) -> str:
        """What it is known by, however often it comes."""
        return self.event.event_id

    @property
    def type(self) -> str:
        """What happened."""
        return self.event.type

    @property
    def aggregate_id(self) -> str | None:
        """What it happened to, if that is known."""
        return self.event.aggregate_id

    @property
    def aggregate_revision(self) -> int | None:
        """Which revision of that it made."""
        return self.event.aggregate_revision

    @property
    def value(self) -> Any:
        """What its data says."""
        return self.event.value

    @verb
    def ack(self, *, fences: Sequence[FenceRef] = ()) -> Script[Position]:
        """Say that everything up to this event is done.

        Raises:
            GapNotAccepted: events before it were removed meanwhile. StaleFence, InboxRestored, OutcomeUnknown.
        """
        return (yield from self.consumer.acknowledged(self.epoch, self.event.sequence, fences=fences))


class Removed(Room[Mode]):
    """Events that a consumer did not receive: they were removed before."""

    gap = True

    def __init__(self, consumer: ConsumerRoom[Mode], epoch: str, range: Gap) -> None:
        super().__init__(consumer.player)
        self.consumer, self.epoch, self.range = consumer, epoch, range

    @verb
    def ack(self, *, fences: Sequence[FenceRef] = ()) -> Script[Position]:
        """Say that these events are dealt with: whatever they changed was read anew, say.

        Raises:
            StaleFence, InboxRestored, OutcomeUnknown.
        """
        last = self.range.to_sequence
        return (yield from self.consumer.acknowledged(self.epoch, last, accept_gap_through=last, fences=fences))


class ConsumerRoom(Room[Mode]):
    """One consumer. Iterate over it: each item is a `Delivery`, or a `Removed` where events are gone (`item.gap`)."""

    def __init__(self, player: Player, inbox: str, name: str, fence: int | None = None) -> None:
        super().__init__(player)
        self.inbox, self.name, self.fence = inbox, name, fence

    def __iter__(self: ConsumerRoom[Sync]) -> Iterator[Delivery[Sync] | Removed[Sync]]:
        """Everything from where the consumer stands, for ever."""
        return iter(self.receive())

    def __aiter__(self: ConsumerRoom[Async]) -> AsyncIterator[Delivery[Async] | Removed[Async]]:
        """Everything from where the consumer stands, for ever."""
        return aiter(self.receive())

    @flow
    def receive(self, *, limit: int | None = None) -> Stream[Any]:
        """Everything from where the consumer stands, and then each event that comes, for ever.

        When the inbox was restored it goes on from where the consumer stands in the new epoch: what comes again is
        known by its `event_id`.
        """
        epoch, after = yield from self._place()
        while True:
            target = at(
                "inboxes", self.inbox, "events", epoch=epoch, after=after, limit=limit, wait_seconds=WAIT_SECONDS
            )  # fmt: skip
            try:
                found = read((yield Send("GET", target, wait_seconds=WAIT_SECONDS)), Page)
            except InboxRestored:
                epoch, after = yield from self._place()
                continue
            for gap in found.gaps:
                yield Give(Removed(self, epoch, gap))
            for event in found.events:
                yield Give(Delivery(self, epoch, event))
            after = found.next_after

    def _place(self) -> Script[tuple[str, int]]:
        found = read((yield Send("GET", self._at())), ConsumerState)
        return found.epoch, found.position

    def _at(self, *more: str) -> str:
        return at("inboxes", self.inbox, "consumers", self.name, *more)

    @verb
    def create(
        self,
        start: Literal["earliest", "latest"] | tuple[str, int] = "earliest",
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Made]:
        """Make the consumer, or (`if_revision`) let it begin further on. `start` may be an epoch and a number.

        Raises:
            RevisionConflict: it is there already, or has another revision. InboxRestored, BeyondHead, NotFound.
        """
        begins = {"epoch": start[0], "sequence": start[1]} if isinstance(start, tuple) else start
        headers = put_if(if_revision)
        got = yield change(
            "PUT", self._at(), {"start": begins}, fences=fences, operation_id=operation_id, headers=headers
        )
        return read(got, Made)

    @verb
    def get(self) -> Script[ConsumerState]:
        """Read how the consumer stands.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", self._at())), ConsumerState)

    @verb
    def delete(
        self, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[None]:
        """Delete the consumer.

        Raises:
            NotFound: there is none. RevisionConflict, OutcomeUnknown.
        """
        yield from removed(self._at(), if_revision, fences, operation_id)

    @verb
    def acknowledge(
        self,
        epoch: str,
        sequence: int,
        *,
        accept_gap_through: int | None = None,
        fences: Sequence[FenceRef] = (),
    ) -> Script[Position]:
        """Say that everything up to `sequence` is done. Lower than where it stands changes nothing.

        Raises:
            BeyondHead: nothing has this number yet. GapNotAccepted: events in between were removed.
            InboxRestored: the epoch has ended. StaleFence: another has the consumer alone. NotFound, OutcomeUnknown.
        """
        return (yield from self.acknowledged(epoch, sequence, accept_gap_through=accept_gap_through, fences=fences))

    def acknowledged(
        self,
        epoch: str,
        sequence: int,
        *,
        accept_gap_through: int | None = None,
        fences: Sequence[FenceRef] = (),
    ) -> Script[Position]:
        """The script of an acknowledgement."""
        body = members(epoch=epoch, sequence=sequence, fence=self.fence, accept_gap_through=accept_gap_through)
        got = yield change("POST", self._at("acknowledge"), body, identity="own", fences=fences)
        return read(got, Position)

    @verb
    def lease(
        self,
        owner: str,
        *,
        lease_seconds: float = 30.0,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Lease]:
        """Have the consumer alone. `inbox.consumer(name, fence=lease.fence)` acknowledges under it.

        Raises:
            ConsumerLeased: another has it. StaleFence: under this operation id it was had before. OutcomeUnknown.
        """
        body = {"owner": owner, "lease_seconds": lease_seconds}
        got = yield change("POST", self._at("lease"), body, fences=fences, operation_id=operation_id, identity="own")
        return self._leased(read(got, Lease))

    @verb
    def renew(
        self, fence: int, *, lease_seconds: float | None = None, fences: Sequence[FenceRef] = ()
    ) -> Script[Lease]:
        """Have the consumer for longer.

        Raises:
            StaleFence: it has ended, even if nobody took it since. OutcomeUnknown.
        """
        body = members(fence=fence, lease_seconds=lease_seconds)
        return self._leased(read((yield change("POST", self._at("renew"), body, fences=fences, identity="own")), Lease))

    def _leased(self, lease: Lease) -> Lease:
        return msgspec.structs.replace(lease, subject=f"consumer:{self.inbox}/{self.name}")

    @verb
    def release(self, fence: int, *, fences: Sequence[FenceRef] = ()) -> Script[None]:
        """Give the consumer back. Saying it again does nothing.

        Raises:
            StaleFence: it had ended otherwise. OutcomeUnknown: or an answer was lost, and another has it since.
        """
        yield from made(
            change("POST", self._at("release"), {"fence": fence}, fences=fences, identity="own", led_to="stale_fence")
        )
