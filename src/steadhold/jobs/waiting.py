"""Waits: a job hands itself back until a fact holds, and the fact becomes a checkpoint.

The wait and the change it is for lock the same row (the job itself for its signals, the other job for its end, the
head of an approval or an effect), so either the wait sees the fact or the change sees the wait. What inboxes hold is
seen later, too: there nobody has to see the wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, assert_never

import msgspec

from steadhold import events
from steadhold.jobs import model, moving, watching
from steadhold.jobs.model import ApprovalEnd, EffectEnd, InboxEvent, JobEnd, Settlement, Signal, Timer, Wait
from steadhold.jobs.moving import SQL, Change, Entry, Held
from steadhold.jobs.outcomes import NothingToAwait, Settled, StagesFull
from steadhold.jobs.verdicts import Move
from steadhold.kit.limits import STAGES_MAX
from steadhold.kit.plan import Plan, each, rows

Begun: TypeAlias = Change | Settled | NothingToAwait | StagesFull | None
WAITED = Move(model.WAITING, "wait", refund=True)


def touched(settlements: Iterable[Settlement]) -> list[str]:
    """The jobs whose rows settlements need: their own, and those they are to wait for."""
    ids: list[str] = []
    for settlement in settlements:
        ids.append(settlement.id)
        if isinstance(settlement.said, Wait) and isinstance(settlement.said.awaited, JobEnd):
            ids.append(settlement.said.awaited.job_id)
    return ids


def awaited_subject(id: str, awaited: model.Awaited) -> str | None:
    """The name under which the change is announced; time announces itself."""
    match awaited:
        case Timer():
            return None
        case Signal(name):
            return signal_subject(id, name)
        case JobEnd(job_id):
            return moving.subject(job_id)
        case ApprovalEnd() | EffectEnd():
            return headed(awaited)
        case InboxEvent():
            return None  # its counter tells: see `watching`
        case _:
            assert_never(awaited)


def signal_subject(id: str, name: str) -> str:
    """The name under which a job's signal is announced."""
    return f"signal:{id}/{name}"


HEADED: Final = ("approval:", "effect:")
"""What is waited for at its head, which is locked before a wait for it is registered."""


def headed(awaited: ApprovalEnd | EffectEnd) -> str:
    """The name under which what has a head is announced."""
    return f"approval:{awaited.approval_id}" if isinstance(awaited, ApprovalEnd) else f"effect:{awaited.effect_id}"


def begin(
    workspace: str, held: Held, wait: Wait, said: bytes, others: Mapping[str, Held], more: list[Entry]
) -> Plan[Begun]:
    """Begin to wait; or, where the stage is committed or the fact is true already, go on running with it."""
    if kept := (yield from moving.stage_kept(workspace, held.root, wait.stage)):
        return Settled(held.id, "running", held.revision, woke=kept.result)
    if held.stages >= STAGES_MAX:
        return StagesFull(held.id)
    awaited = wait.awaited
    if isinstance(awaited, InboxEvent):
        return (yield from _inbox(workspace, held, wait, awaited, said, more))
    if isinstance(awaited, JobEnd) and awaited.job_id not in others:
        return NothingToAwait(moving.subject(awaited.job_id))
    if isinstance(awaited, ApprovalEnd | EffectEnd) and not (yield from events.head(workspace, headed(awaited))):
        return NothingToAwait(headed(awaited))
    if (yield from _true_already(workspace, held, awaited, others)):
        body = yield from fact(workspace, held.id, named(awaited), happened=True)
        return (yield from _at_once(workspace, held, wait, body, more))
    if isinstance(awaited, JobEnd):
        other = others[awaited.job_id]
        item = {"workspace": workspace, "id": other.id, "held": other.revision}
        if not (yield from each(SQL.await_end, [item]))[0]:
            return None
    now: datetime = (yield from rows(SQL.moment))[0][0]
    return Change(held, WAITED, held.fence, said, wait=_wait(held, wait, now))


def _inbox(workspace: str, held: Held, wait: Wait, awaited: InboxEvent, said: bytes, more: list[Entry]) -> Plan[Begun]:
    found = yield from watching.look(workspace, awaited)
    if found is None:
        return NothingToAwait(f"inbox:{awaited.inbox}")
    if isinstance(found, bytes):
        return (yield from _at_once(workspace, held, wait, found, more))
    now: datetime = (yield from rows(SQL.moment))[0][0]
    watch = moving.Watch(held.id, awaited.inbox, awaited.epoch, found)
    return Change(held, WAITED, held.fence, said, wait=_wait(held, wait, now), watch=watch)


def _wait(held: Held, wait: Wait, now: datetime) -> events.Waiting:
    bounds = [at for at in (wait.until, held.deadline_at) if at is not None]
    if isinstance(wait.awaited, Timer):
        bounds.append(now + timedelta(seconds=wait.awaited.seconds))
    subject = awaited_subject(held.id, wait.awaited)
    return events.Waiting(held.id, wait.stage, subject, min(bounds, default=None), encoded(wait))


def register(workspace: str, waits: Sequence[events.Waiting], watches: Sequence[moving.Watch] = ()) -> Plan[None]:
    """Register waits, once all that is moved is moved.

    The outcome of an approval or an effect may have come after `begin` looked: heads are locked last of all rows, and
    not before. Locked, it is looked at again, and a wait that comes too late for it is over at once.
    """
    over: list[str] = []
    subjects = {wait.subject for wait in waits if wait.subject is not None}
    for subject in sorted(name for name in subjects if name.startswith(HEADED)):
        head = yield from events.hold(workspace, subject)
        if head is None or not head.open:
            over.append(subject)
    yield from events.wait(workspace, waits)
    yield from events.settled(workspace, over)
    yield from watching.watch(workspace, watches)


def encoded(wait: Wait) -> bytes:
    """What a waiting job shows of its wait."""
    return msgspec.json.encode({"stage": wait.stage, "for": named(wait.awaited), "until": wait.until})


def named(awaited: model.Awaited) -> dict[str, Any]:
    """`for`, as it is said and shown."""
    match awaited:
        case Timer(seconds):
            return {"timer": seconds}
        case Signal(name):
            return {"signal": name}
        case JobEnd(job_id):
            return {"job": job_id}
        case ApprovalEnd(approval_id):
            return {"approval": approval_id}
        case EffectEnd(effect_id):
            return {"effect": effect_id}
        case InboxEvent(inbox, epoch, sequence, match):
            place = {"inbox": inbox, "after": {"epoch": epoch, "sequence": sequence}}
            return place if match is None else {**place, "match": match}
        case _:
            assert_never(awaited)


def _true_already(
    workspace: str, held: Held, awaited: Timer | Signal | JobEnd | ApprovalEnd | EffectEnd, others: Mapping[str, Held]
) -> Plan[bool]:
    match awaited:
        case Timer(seconds):
            return seconds <= 0
        case Signal(name):
            item = {"workspace": workspace, "job": held.id, "name": name}
            return bool((yield from each(SQL.signalled, [item]))[0])
        case JobEnd(job_id):
            return others[job_id].state >= model.COMPLETED
        case ApprovalEnd() | EffectEnd():
            head = yield from events.head(workspace, headed(awaited))
            return head is not None and not head.open
        case _:
            assert_never(awaited)


def _at_once(workspace: str, held: Held, wait: Wait, body: bytes, more: list[Entry]) -> Plan[Settled | None]:
    revision = yield from moving.advance(workspace, held, stages=1)
    if revision is None:
        return None
    item = moving.stage_item(workspace, held.id, held.fence, wait.stage, body, None, root=held.root)
    if not (yield from each(SQL.keep, [item]))[0]:
        kept = yield from moving.stage_kept(workspace, held.root, wait.stage)
        body = kept.result or body if kept is not None else body
    more.append(moving.recorded(held.id, revision, "checkpointed", {"stage": wait.stage, "fence": held.fence}))
    return Settled(held.id, "running", revision, woke=body)


def fact(workspace: str, id: str, awaited: Mapping[str, Any], *, happened: bool) -> Plan[bytes]:
    """What a wait came to, as its checkpoint says it. A signal is taken by this."""
    if not happened:
        return msgspec.json.encode({"why": "timed_out"})
    found: dict[str, Any] = {"why": "happened", **awaited}
    if "signal" in awaited:
        item = {"workspace": workspace, "job": id, "name": awaited["signal"]}
        hand = (yield from each(SQL.hear, [item]))[0]
        found["data"] = msgspec.Raw(hand[0][0] or b"null") if hand else None
    elif "job" in awaited:
        hand = (yield from each(SQL.ends, [{"workspace": workspace, "id": awaited["job"]}]))[0]
        found |= _end(*hand[0]) if hand else {}
    elif names := awaited.keys() & {"approval", "effect"}:
        name = names.pop()
        head = yield from events.head(workspace, f"{name}:{awaited[name]}")
        found |= {"state": head.state} if head is not None else {}
    return msgspec.json.encode(found)


def _end(state: int, result_ref: str | None, error_code: str | None) -> dict[str, Any]:
    ended: dict[str, Any] = {"state": model.STATES[state]}
    if state == model.COMPLETED:
        ended["result_ref"] = result_ref
    if state == model.FAILED:
        ended["error_code"] = error_code
    return ended
