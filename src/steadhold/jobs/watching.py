"""Waits for an inbox: whoever waits looks how far the inbox has come, and nobody who appends does anything for it.

An inbox's counter only rises, and what it counts stays or is told to be gone. So a watch keeps up to where all have
looked who wait, and whatever was appended since, by whom and when ever, is there for the sweep to see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from steadhold.jobs.model import InboxEvent, Match
from steadhold.jobs.moving import SQL, Watch
from steadhold.kit.plan import Plan, each, rows
from steadhold.kit.sql import Row

AT_ONCE: Final = 200
"""Events that one look goes through for one that matches; the sweep goes on behind them."""


class _Head(msgspec.Struct, frozen=True):
    """What an event says of itself, as far as it may be asked for."""

    type: str
    aggregate_id: str | None = None
    correlation_id: str | None = None


class _Asked(msgspec.Struct, frozen=True):
    """`for`, as a wait for an inbox keeps it."""

    inbox: str
    after: _Place
    match: Match | None = None


class _Place(msgspec.Struct, frozen=True):
    epoch: str
    sequence: int


class _What(msgspec.Struct, frozen=True):
    awaited: _Asked = msgspec.field(name="for")


def look(workspace: str, awaited: InboxEvent) -> Plan[bytes | int | None]:
    """What has happened already; or up to which number nothing has; None: there is no such inbox."""
    return (yield from _look(workspace, [awaited]))[0]


def _look(workspace: str, asked: Sequence[InboxEvent]) -> Plan[list[bytes | int | None]]:
    items = [
        {
            "workspace": workspace,
            "inbox": one.inbox,
            "epoch": one.epoch,
            "after": one.sequence,
            "most": 1 if one.match is None else AT_ONCE,
        }
        for one in asked
    ]
    hands = yield from each(SQL.ahead, items)
    return [_seen(one, hand) for one, hand in zip(asked, hands, strict=True)]


def _seen(awaited: InboxEvent, found: Sequence[Row]) -> bytes | int | None:
    """The first thing behind a position: what is gone, then an event that matches."""
    if not found:
        return None
    epoch, first, last = found[0][:3]
    if epoch != awaited.epoch:
        return fact(awaited.inbox, "restored", epoch=epoch, last_sequence=last)
    if first - 1 > awaited.sequence:
        return fact(awaited.inbox, "gap", **{"epoch": epoch, "from": awaited.sequence + 1, "to": first - 1})
    events = [row[3:] for row in found if row[3] is not None]
    for sequence, event_id, raw in events:
        head = msgspec.json.decode(b"{%b}" % raw, type=_Head)
        if awaited.match is None or _fits(awaited.match, head):
            return fact(awaited.inbox, "event", epoch=epoch, sequence=sequence, event_id=event_id, type=head.type)
    return events[-1][0] if len(events) == AT_ONCE else max(last, awaited.sequence)


def _fits(match: Match, head: _Head) -> bool:
    return all(
        wanted is None or wanted == said
        for wanted, said in (
            (match.type, head.type),
            (match.aggregate_id, head.aggregate_id),
            (match.correlation_id, head.correlation_id),
        )
    )


def fact(inbox: str, state: str, **more: Any) -> bytes:
    """What a wait for an inbox came to: `state` is event, gap, restored or deleted."""
    return msgspec.json.encode({"why": "happened", "inbox": inbox, "state": state, **more})


def watch(workspace: str, watches: Sequence[Watch]) -> Plan[None]:
    """Have the inbox looked at again for these jobs, whose waits this plan registered."""
    items = [{"workspace": workspace, **msgspec.structs.asdict(one)} for one in watches]
    yield from each(SQL.attend, items)
    yield from each(SQL.watch, [{name: value for name, value in one.items() if name != "job_id"} for one in items])


def again(workspace: str, ids: Sequence[str]) -> Plan[dict[str, bytes]]:
    """Look again for held jobs, if they wait for an inbox; what has happened makes their wait due."""
    if not ids:
        return {}
    waits = yield from rows(SQL.watching, workspace=workspace, ids=ids)
    asked = [_awaited(what, seen) for _, what, seen in waits]
    looks = yield from _look(workspace, asked)
    facts = [fact(one.inbox, "deleted") if found is None else found for one, found in zip(asked, looks, strict=True)]
    yield from each(SQL.saw, [
        {"workspace": workspace, "job_id": id, "seen": seen if isinstance(found, bytes) else found,
         "over": isinstance(found, bytes)}
        for (id, _, seen), found in zip(waits, facts, strict=True)
    ])  # fmt: skip
    return {id: found for (id, _, _), found in zip(waits, facts, strict=True) if isinstance(found, bytes)}


def _awaited(what: bytes, seen: int) -> InboxEvent:
    asked = msgspec.json.decode(what, type=_What).awaited
    return InboxEvent(asked.inbox, asked.after.epoch, seen, asked.match)


def rest(workspace: str, inboxes: Sequence[str]) -> Plan[None]:
    """Keep up to where all have looked now who wait for these inboxes."""
    held = [name for (name,) in (yield from rows(SQL.hold_watches, workspace=workspace, inboxes=inboxes))]
    if held:
        yield from rows(SQL.rest, workspace=workspace, inboxes=held)
