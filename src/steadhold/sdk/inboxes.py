"""inboxes: numbers without a hole, read from any position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from steadhold.kit import ids
from steadhold.kit.exact import JsonValue
from steadhold.kit.fields import FenceRef
from steadhold.sdk.errors import BadAnswer, problem_of
from steadhold.sdk.grammar import Give, Got, Mode, More, Pause, Player, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.inboxes_consuming import ConsumerRoom
from steadhold.sdk.inboxes_doors import DoorsRoom
from steadhold.sdk.inboxes_shapes import Appended, ConsumerState, Event, Gap, InboxState, Line, Made, New, Page
from steadhold.sdk.sse import Reader, Told
from steadhold.sdk.words import (
    UNSET,
    WAIT_SECONDS,
    Unset,
    as_json,
    at,
    change,
    members,
    pages,
    put_if,
    raw_json,
    read,
    relying,
    removed,
)

NDJSON: Final = "application/x-ndjson"
SILENT_SECONDS: Final = 45.0
"""How long a stream may say nothing: the server says at least that it is there every fifteen seconds."""


class InboxesRoom(Room[Mode]):
    """`client.inboxes`: `client.inboxes["orders"]` is one of them."""

    def __getitem__(self, name: str) -> InboxRoom[Mode]:
        """The inbox of a name, whether there is one or not."""
        return InboxRoom(self.player, name)

    @flow
    def list(self) -> Stream[InboxState]:
        """Every inbox, in the order of names."""
        yield from pages(lambda cursor: at("inboxes", cursor=cursor), InboxState)


class InboxRoom(Room[Mode]):
    """One inbox."""

    def __init__(self, player: Player, name: str) -> None:
        super().__init__(player)
        self.name = name

    def consumer(self, name: str, *, fence: int | None = None) -> ConsumerRoom[Mode]:
        """A consumer, whether there is one or not. `fence` is that of its lease, if it is held alone."""
        return ConsumerRoom(self.player, self.name, name, fence)

    @property
    def doors(self) -> DoorsRoom[Mode]:
        """Its doors for third parties."""
        return DoorsRoom(self.player, self.name)

    @verb
    def create(
        self,
        *,
        max_age_seconds: float | Unset | None = UNSET,
        max_events: int | None = None,
        max_bytes: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Made]:
        """Make the inbox. It keeps events of thirty days, unless it is told otherwise (None: without end).

        Raises:
            RevisionConflict: it is there already. OutcomeUnknown.
        """
        return (yield from self._put(None, max_age_seconds, max_events, max_bytes, fences, operation_id))

    @verb
    def configure(
        self,
        *,
        if_revision: int,
        max_age_seconds: float | Unset | None = UNSET,
        max_events: int | None = None,
        max_bytes: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Made]:
        """Change what the inbox keeps.

        Raises:
            RevisionConflict: it has another revision, or is not there. OutcomeUnknown.
        """
        return (yield from self._put(if_revision, max_age_seconds, max_events, max_bytes, fences, operation_id))

    def _put(
        self,
        revision: int | None,
        age: float | Unset | None,
        events: int | None,
        size: int | None,
        fences: Sequence[FenceRef],
        key: str | None,
    ) -> Script[Made]:
        keeps: dict[str, Any] = members(max_events=events, max_bytes=size)
        if not isinstance(age, Unset):
            keeps["max_age_seconds"] = age
        target, headers = at("inboxes", self.name), put_if(revision)
        got = yield change("PUT", target, {"retention": keeps}, fences=fences, operation_id=key, headers=headers)
        return read(got, Made)

    @verb
    def get(self) -> Script[InboxState]:
        """Read how the inbox stands.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", at("inboxes", self.name))), InboxState)

    @verb
    def delete(
        self, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[None]:
        """Delete the inbox with its events and consumers.

        Raises:
            NotFound: there is none. RevisionConflict, OutcomeUnknown.
        """
        yield from removed(at("inboxes", self.name), if_revision, fences, operation_id)

    @verb
    def append(
        self,
        type: str,
        data: JsonValue | Unset = UNSET,
        *,
        raw: bytes | None = None,
        key: str | None = None,
        schema_version: int | str | None = None,
        aggregate_id: str | None = None,
        aggregate_revision: int | None = None,
        occurred_at: str | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
        data_ref: str | None = None,
        fences: Sequence[FenceRef] = (),
    ) -> Script[Appended]:
        """Append an event. Under one `key` it is accepted once, however often it is sent; without, one is made.

        Raises:
            OperationMismatch: the key was used for an event of other content. NotFound: there is no inbox.
            OutcomeUnknown.
        """
        said = members(
            type=type, schema_version=schema_version, aggregate_id=aggregate_id, aggregate_revision=aggregate_revision,
            occurred_at=occurred_at, correlation_id=correlation_id, causation_id=causation_id, data_ref=data_ref,
        )  # fmt: skip
        if data_ref is None:
            said["data"] = msgspec.Raw(raw_json(data, raw))
        target = at("inboxes", self.name, "events")
        got = yield change("POST", target, said, fences=fences, operation_id=key or ids.new_id(), identity="own")
        return read(got, Appended)

    @verb
    def append_bytes(
        self, type: str, data: bytes, content_type: str, *, key: str | None = None, fences: Sequence[FenceRef] = ()
    ) -> Script[Appended]:
        """Append an event whose data is no JSON, as `append`."""
        target, named = at("inboxes", self.name, "events", type=type), key or ids.new_id()
        headers = {"idempotency-key": named, "content-type": content_type, **relying(fences)}
        return read((yield Send("POST", target, headers, data, "own", named)), Appended)

    @verb
    def append_many(self, events: Sequence[New], *, fences: Sequence[FenceRef] = ()) -> Script[list[Line]]:
        """Append many events in one transaction: an outcome each, in order. Their keys make it safe to send again.

        Raises:
            NotFound: there is no inbox. OutcomeUnknown.
        """
        body = b"".join([as_json(event) + b"\n" for event in events])
        target = at("inboxes", self.name, "events")
        got = yield Send("POST", target, {"content-type": NDJSON, **relying(fences)}, body, "own")
        try:
            return [msgspec.json.decode(line, type=Line) for line in got.body.splitlines()]
        except msgspec.DecodeError as error:
            raise BadAnswer(f"The answer is no batch of lines: {error}.") from error

    @verb
    def receipt(self, key: str) -> Script[Appended]:
        """What was accepted under a key.

        Raises:
            NotFound: nothing was. OperationExpired: the key is older than keys are known.
        """
        return read((yield Send("GET", at("inboxes", self.name, "receipts", key))), Appended)

    @verb
    def read(
        self, *, epoch: str | None = None, after: int | None = None, limit: int | None = None, wait_seconds: float = 0.0
    ) -> Script[Page]:
        """What follows a position, or is retained; with `wait_seconds` (at most 30) as soon as something does.

        Raises:
            InboxRestored: the position is of another epoch. BeyondHead: nothing has this number yet. NotFound.
        """
        return (yield from page(self.name, epoch, after, limit, wait_seconds))

    @flow
    def follow(self, *, epoch: str | None = None, after: int | None = None) -> Stream[Event | Gap]:
        """Every event and gap behind a position, or all that is retained, and then each that comes, for ever.

        Raises:
            InboxRestored: the epoch has ended; read anew. BeyondHead, NotFound.
        """
        while True:
            found = yield from page(self.name, epoch, after, None, WAIT_SECONDS if epoch else 0.0)
            for item in (*found.gaps, *found.events):
                yield Give(item)
            epoch, after = found.epoch, found.next_after

    @flow
    def stream(self, *, epoch: str | None = None, after: int | None = None) -> Stream[Event | Gap]:
        """As `follow`, over one connection on which the server sends: it is made anew wherever it breaks.

        It goes on behind what was given last, so nothing comes twice and nothing is left out.

        Raises:
            InboxRestored: the epoch has ended; read anew. BeyondHead, NotFound. Problem: too many streams are open.
        """
        last, tries = None if epoch is None or after is None else f"{epoch}:{after}", 0
        while True:
            headers = {} if last is None else {"last-event-id": last}
            yield Send("GET", at("inboxes", self.name, "stream"), headers, opens=True)
            reader = Reader()
            while isinstance(piece := (yield More(SILENT_SECONDS)), bytes):
                for told in reader.feed(piece):
                    if told.kind == "problem":
                        raise _ended(told)
                    yield Give(_item(told))
                    last, tries = told.id or last, 0
            tries += 1
            yield Pause(min(5.0, 0.1 * 2.0 ** min(tries, 10)))

    @flow
    def export(self, *, epoch: str | None = None, after: int | None = None) -> Stream[Event | Gap]:
        """Every event and gap behind a position that there is now.

        Raises:
            InboxRestored: the epoch has ended; read anew. BeyondHead, NotFound.
        """
        last = None
        while True:
            found = yield from page(self.name, epoch, after, None, 0.0)
            last = found.last_sequence if last is None else last
            for item in (*found.gaps, *found.events):
                yield Give(item)
            epoch, after = found.epoch, found.next_after
            if after >= last:
                return

    @flow
    def consumers(self) -> Stream[ConsumerState]:
        """Every consumer of the inbox, in the order of names."""
        yield from pages(lambda cursor: at("inboxes", self.name, "consumers", cursor=cursor), ConsumerState)


def _item(told: Told) -> Event | Gap:
    kind: type[Event | Gap] = Gap if told.kind == "gap" else Event
    try:
        return msgspec.json.decode(told.data, type=kind)
    except msgspec.DecodeError as error:
        raise BadAnswer(f"The stream holds what is no event: {error}.") from error


def _ended(told: Told) -> Exception:
    """Why a stream that had begun goes no further."""
    try:
        status = int(msgspec.json.decode(told.data)["status"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return BadAnswer("The stream has ended with what is no problem.")
    return problem_of(Got(status, {"content-type": "application/problem+json"}, told.data))


def page(inbox: str, epoch: str | None, after: int | None, limit: int | None, wait_seconds: float) -> Script[Page]:
    """Read a page."""
    target = at(
        "inboxes", inbox, "events", epoch=epoch, after=after, limit=limit, wait_seconds=wait_seconds or None
    )  # fmt: skip
    return read((yield Send("GET", target, wait_seconds=wait_seconds)), Page)
