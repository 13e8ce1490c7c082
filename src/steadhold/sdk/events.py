"""events: aggregates and their history, subscriptions, and what is on its way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from steadhold.kit import fields
from steadhold.kit.fields import FenceRef
from steadhold.sdk.events_shapes import (
    Aggregate,
    AggregateType,
    Appended,
    Causes,
    DomainEvent,
    Edge,
    NewEvent,
    Replay,
    Subscription,
)
from steadhold.sdk.grammar import Give, Mode, Room, Script, Send, Stream, flow, verb
from steadhold.sdk.words import WAIT_SECONDS, at, change, if_match, instant, members, pages, put_if, read

__all__ = [
    "Aggregate", "AggregateType", "AggregatesRoom", "Appended", "Causes", "DomainEvent", "Edge", "EventsRoom",
    "NewEvent", "Replay", "Subscription", "SubscriptionsRoom",
]  # fmt: skip


class _Page(msgspec.Struct):
    items: list[DomainEvent]


class AggregatesRoom(Room[Mode]):
    """`client.aggregates`: each change of them is told by events, in the transaction of the change."""

    @verb
    def append(
        self,
        id: str,
        events: Sequence[NewEvent],
        *,
        if_revision: int | None = None,
        transition: tuple[str, str] | None = None,
        state: str | None = None,
        aggregate_type: str | None = None,
        owner: Literal["none", "lock", "job"] | None = None,
        job_id: str | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Appended]:
        """Write down what happened at revision `if_revision`; without it the aggregate is made, with type and owner.

        `transition` says from which state to which, `state` only to which.

        Raises:
            RevisionConflict: it is at another revision, or there is one. StaleFence, OutcomeUnknown.
            Problem: `transition_conflict`, `transition_not_permitted`, `event_taken`, `reserved_id`,
                `unknown_reference`.
        """
        body = members(
            events=[event.body() for event in events],
            transition=None if transition is None else {"from": transition[0], "to": transition[1]},
            state=state,
            aggregate_type=aggregate_type,
            owner=owner,
            job_id=job_id,
        )
        target, headers = at("aggregates", id, "events"), put_if(if_revision)
        got = yield change("POST", target, body, operation_id=operation_id, fences=fences, headers=headers)
        return read(got, Appended)

    @verb
    def get(self, id: str) -> Script[Aggregate]:
        """Read where an aggregate stands.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", at("aggregates", id))), Aggregate)

    @flow
    def list(self) -> Stream[Aggregate]:
        """Every aggregate that you made, by id."""
        yield from pages(lambda cursor: at("aggregates", cursor=cursor), Aggregate)

    @flow
    def events(self, id: str, *, after_revision: int = 0) -> Stream[DomainEvent]:
        """What happened to it above a revision, oldest first.

        Raises:
            NotFound: there is no such aggregate. Problem: `events_pruned`, where some of it is not kept any more.
        """
        start = after_revision or None
        yield from pages(
            lambda cursor: at("aggregates", id, "events", cursor=cursor, after_revision=None if cursor else start),
            DomainEvent,
        )

    @flow
    def tail(self, id: str, *, after_revision: int = 0) -> Stream[DomainEvent]:
        """As `events`, and then what happens from now on, for ever.

        Raises:
            NotFound: there is no such aggregate. Problem: `events_pruned`.
        """
        while True:
            page = read((yield Send("GET", at("aggregates", id, "events", after_revision=after_revision))), _Page)
            for event in page.items:
                after_revision = event.aggregate_revision
                yield Give(event)
            if not page.items:
                target = at("aggregates", id, wait_seconds=WAIT_SECONDS)
                yield Send("GET", target, {"if-none-match": fields.etag(after_revision)}, wait_seconds=WAIT_SECONDS)

    @verb
    def put_type(
        self,
        type: str,
        states: Sequence[str],
        edges: Sequence[tuple[str, str]],
        *,
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[AggregateType]:
        """Say in which states aggregates of a type can be, and from which to which they go.

        Raises:
            RevisionConflict: it has another revision, or there is one. StaleFence, OutcomeUnknown.
        """
        body = {"states": list(states), "edges": [Edge(*edge) for edge in edges]}
        target, headers = at("aggregate-types", type), put_if(if_revision)
        got = yield change("PUT", target, body, operation_id=operation_id, fences=fences, headers=headers)
        return read(got, AggregateType)

    @flow
    def types(self) -> Stream[AggregateType]:
        """Every type of aggregates, by name."""
        yield from pages(lambda cursor: at("aggregate-types", cursor=cursor), AggregateType)

    @verb
    def get_type(self, type: str) -> Script[AggregateType]:
        """Read what aggregates of a type may do.

        Raises:
            NotFound: anything.
        """
        return read((yield Send("GET", at("aggregate-types", type))), AggregateType)


class EventsRoom(Room[Mode]):
    """`client.events`: events by their ids, those of the house, too."""

    @verb
    def get(self, event_id: str) -> Script[DomainEvent]:
        """Read an event.

        Raises:
            NotFound: there is none, or it is not kept any more.
        """
        return read((yield Send("GET", at("events", event_id))), DomainEvent)

    @verb
    def causes(self, event_id: str) -> Script[Causes]:
        """What led to an event over all aggregates, nearest first.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", at("events", event_id, "causes"))), Causes)


class SubscriptionsRoom(Room[Mode]):
    """`client.subscriptions`: whatever commits after one was answered is published by it."""

    @verb
    def put(
        self,
        id: str,
        types: Sequence[str],
        target: Mapping[str, str],
        *,
        aggregates: Sequence[str] = (),
        ordered_by: Literal["aggregate", "none"] = "aggregate",
        if_revision: int | None = None,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[Subscription]:
        """Send events whose type matches a glob to {"inbox": name} or {"sink": name}; without `if_revision` it creates.

        Raises:
            RevisionConflict: it has another revision, or there is one. StaleFence, OutcomeUnknown.
            Problem: `writers_open`, `subscriptions_full`, `subscription_ending`, `target_unknown`.
        """
        body = {
            "types": list(types), "target": dict(target), "aggregates": list(aggregates), "ordered_by": ordered_by,
        }  # fmt: skip
        address, headers = at("subscriptions", id), put_if(if_revision)
        got = yield change("PUT", address, body, operation_id=operation_id, fences=fences, headers=headers)
        return read(got, Subscription)

    @verb
    def get(self, id: str) -> Script[Subscription]:
        """Read a subscription.

        Raises:
            NotFound: there is none.
        """
        return read((yield Send("GET", at("subscriptions", id))), Subscription)

    @flow
    def list(self) -> Stream[Subscription]:
        """Every subscription, by id."""
        yield from pages(lambda cursor: at("subscriptions", cursor=cursor), Subscription)

    @verb
    def delete(
        self, id: str, *, if_revision: int, fences: Sequence[FenceRef] = (), operation_id: str | None = None
    ) -> Script[int]:
        """Delete revision `if_revision`; what is on its way is skipped. Answers the deletion's own revision.

        Raises:
            RevisionConflict: it has another revision, or there is none. StaleFence, OutcomeUnknown.
        """
        address, headers = at("subscriptions", id), if_match(if_revision)
        got = yield change("DELETE", address, operation_id=operation_id, fences=fences, headers=headers)
        return got.revision

    @verb
    def replay(
        self,
        id: str,
        start: datetime,
        end: datetime,
        *,
        fences: Sequence[FenceRef] = (),
        operation_id: str | None = None,
    ) -> Script[int]:
        """Publish again what happened from `start` on and before `end`; answers how many events.

        Under an `operation_id` each step of a long one has an id that begins with it.

        Raises:
            NotFound: there is none. OutcomeUnknown.
            Problem: `events_pruned`, where something of it is not kept any more (extras: `first_retained_at`).
        """
        total, step, cursor = 0, 0, None
        while True:
            body = members(**{"from": instant(start), "to": instant(end), "cursor": cursor})
            key = None if operation_id is None else f"{operation_id}.{step}" if step else operation_id
            sent = change("POST", at("subscriptions", id, "replay"), body, fences=fences, operation_id=key)
            found = read((yield sent), Replay)
            total, step, cursor = total + found.events, step + 1, found.next_cursor
            if cursor is None:
                return total
