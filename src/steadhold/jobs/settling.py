"""What becomes of a job when its owner says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias, assert_never

import msgspec

from steadhold import context, fences
from steadhold.jobs import model, moving, relying, verdicts, waiting
from steadhold.jobs.model import Complete, ConfirmCancel, Fail, Release, Said, Settlement, Wait
from steadhold.jobs.moving import SQL, Change, Entry, Finished, Held, Written
from steadhold.jobs.outcomes import (
    CancelNotRequested,
    CancelStands,
    EvidenceRequired,
    JobEnded,
    NothingToAwait,
    Settled,
    StagesFull,
    StaleEvidence,
)
from steadhold.jobs.verdicts import Move
from steadhold.kit.fields import FenceRef
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, each, operation, whole_operation

Refused: TypeAlias = (
    StaleFence
    | JobEnded
    | RevisionConflict
    | EvidenceRequired
    | StaleEvidence
    | CancelNotRequested
    | CancelStands
    | NothingToAwait
    | StagesFull
    | context.Unresolved
    | Missing
)
SettleOutcome: TypeAlias = Settled | Refused
COMPLETED: Final = Move(model.COMPLETED, "complete")
CONFIRMED: Final = Move(model.CANCELLED, "confirm")
_NOTHING: Final[dict[str, Any]] = {"expected": None, "fence": None, "said": None, **moving.NO_CONTENTS}


@dataclass(slots=True)
class Tally:
    """What a settlement of many has come to so far."""

    finds: context.Finds = field(default_factory=dict[str, context.Found | context.Unresolved])
    answers: dict[int, SettleOutcome] = field(default_factory=dict[int, SettleOutcome])
    late: list[int] = field(default_factory=list[int])
    finished: list[Finished] = field(default_factory=list[Finished])
    done: list[tuple[Change, Written]] = field(default_factory=list[tuple[Change, Written]])
    more: list[Entry] = field(default_factory=list[Entry])


@operation
def settle(workspace: str, settlement: Settlement) -> Plan[SettleOutcome]:
    """Say what became of a job. Repeated under the same fence with the same content, it answers the same."""
    return (yield from settle_all.plan(workspace, [settlement]))[0]


@operation
def settle_all(workspace: str, settlements: Sequence[Settlement]) -> Plan[list[SettleOutcome]]:
    """Settle many jobs, one answer each; what is refused of one changes nothing about the others."""
    stale = yield from fences.owned(workspace, [FenceRef(moving.subject(s.id), s.fence) for s in settlements])
    tally = Tally(late=[n for n, answer in enumerate(stale) if answer is not None])
    left = {n: settlements[n] for n, answer in enumerate(stale) if answer is None}
    tally.finds = yield from context.find(workspace, map(relying.said, left.values()))
    if any(isinstance(settlement.said, Complete) for settlement in left.values()):
        left = yield from _finish(workspace, left, tally)
    while left:  # again for those that a twin in the same transaction overtook
        left = yield from _round(workspace, left, tally)
    yield from _late(workspace, settlements, tally)
    yield from _rely(workspace, settlements, tally)
    yield from moving.follow(workspace, tally.done, tally.more, tally.finished)
    changes = [change for change, _ in tally.done]
    waits = [change.wait for change in changes if change.wait is not None]
    yield from waiting.register(workspace, waits, [change.watch for change in changes if change.watch is not None])
    yield from moving.let_go(workspace, changes, tally.finished, released=True)
    return [tally.answers[n] for n in range(len(settlements))]


def plain(settlement: Settlement) -> bool:
    """Whether `complete_all` may be asked: it says of its job that it is complete, and nothing but a result."""
    said = settlement.said
    return isinstance(said, Complete) and moving.bare(said) and settlement.revision is None


@whole_operation(SQL.complete, single=True)
def complete_all(workspace: str, settlements: Sequence[Settlement]) -> Plan[list[Settled | None]]:
    """Complete jobs of which only that is said (`plain`), in one statement.

    None: nothing was done; ask `settle_all`, which knows every case.
    """
    hands = yield from each(SQL.complete, [
        {"workspace": workspace, "id": s.id, "fence": s.fence, "said": words(s.said), "result": s.said.result}
        for s in settlements
        if isinstance(s.said, Complete)
    ])  # fmt: skip
    return [
        Settled(settlement.id, "completed", hand[0][0]) if hand else None
        for settlement, hand in zip(settlements, hands, strict=True)
    ]


def _finish(workspace: str, left: dict[int, Settlement], tally: Tally) -> Plan[dict[int, Settlement]]:
    """Complete those of which only that is said, and lock the others; answer those that are to be looked at."""
    items = [_said(workspace, settlement, tally.finds) for settlement in left.values()]
    owned = {settlement.id for settlement in left.values()}
    items += [
        {**_NOTHING, "workspace": workspace, "id": id} for id in waiting.touched(left.values()) if id not in owned
    ]
    hands = yield from each(SQL.finish, items)
    again: dict[int, Settlement] = {}
    for (n, settlement), hand in zip(left.items(), hands, strict=False):
        if hand:
            job = Finished(settlement.id, settlement.fence, *hand[0])
            tally.finished.append(job)
            tally.answers[n] = Settled(job.id, "completed", job.revision)
        else:
            again[n] = settlement
    return again


def _rely(workspace: str, settlements: Sequence[Settlement], tally: Tally) -> Plan[None]:
    """Pin what came of jobs that are completed now."""
    if tally.finds:
        taken = (n for n, answer in tally.answers.items() if isinstance(answer, Settled) and not answer.repeated)
        pins = [(moving.subject(settlements[n].id), relying.said(settlements[n])) for n in taken]
        yield from context.pin_found(workspace, tally.finds, pins)


def _said(workspace: str, settlement: Settlement, finds: context.Finds) -> dict[str, Any]:
    said = settlement.said
    if not isinstance(said, Complete) or context.unknown(finds, [relying.said(settlement)]):
        return {**_NOTHING, "workspace": workspace, "id": settlement.id}
    return {
        "workspace": workspace,
        "id": settlement.id,
        "expected": settlement.revision,
        "fence": settlement.fence,
        "said": words(said),
        **moving.contents(settlement.id, said),
    }


def _round(workspace: str, left: dict[int, Settlement], tally: Tally) -> Plan[dict[int, Settlement]]:
    """Decide and write each; answer those that have to look again."""
    held = yield from moving.hold(workspace, waiting.touched(left.values()))
    policies = yield from _policies(workspace, left, held)
    again: dict[int, Settlement] = {}
    changes: dict[int, Change] = {}
    turns: set[str] = set()
    for n, settlement in left.items():
        if settlement.id in turns:  # the first of a job goes first
            again[n] = settlement
            continue
        turns.add(settlement.id)
        row = held.get(settlement.id)
        if row is None or row.state != model.RUNNING or row.fence != settlement.fence:
            tally.late.append(n)
            continue
        verdict = decided(settlement, row, policies.get((row.type, row.configuration_revision)))
        if isinstance(verdict, Change) and (lost := context.unknown(tally.finds, [relying.said(settlement)])):
            verdict = lost
        if isinstance(verdict, Wait):
            verdict = yield from waiting.begin(workspace, row, verdict, words(verdict), held, tally.more)
        if verdict is None:
            again[n] = settlement
        elif isinstance(verdict, Change):
            changes[n] = verdict
        else:
            tally.answers[n] = verdict
    written = yield from moving.write(workspace, list(changes.values()))
    for (n, change), wrote in zip(changes.items(), written, strict=True):
        if wrote is None:
            again[n] = left[n]
        else:
            tally.done.append((change, wrote))
            tally.answers[n] = _settled(change, wrote)
    return again


def _settled(change: Change, written: Written) -> Settled:
    due = written.run_at if change.move.state == model.ACCEPTED else None
    return Settled(change.held.id, model.STATES[change.move.state], written.revision, due)


def _policies(
    workspace: str, left: dict[int, Settlement], held: dict[str, Held]
) -> Plan[dict[tuple[str, int], bytes | None]]:
    """Only a failure needs the policy of its retries."""
    failing = [held[s.id] for s in left.values() if isinstance(s.said, Fail) and s.id in held]
    return (yield from moving.policies(workspace, failing)) if failing else {}


def decided(settlement: Settlement, held: Held, policy: bytes | None) -> Change | Refused | Wait:
    """What a running job's owner may do to it. A wait is decided by whoever can look at what it is for."""
    said = settlement.said
    if settlement.revision is not None and settlement.revision != held.revision:
        return RevisionConflict(held.revision)
    match said:
        case Complete():
            fault = verdicts.evidence_fault(held.evidence_not_before, said.evidence_at)
            return fault or Change(held, COMPLETED, held.fence, words(said), result=said)
        case Fail():
            retry = verdicts.configuration(policy).retry
            move = verdicts.failed(held.standing(), said.error_code, said.message, said.klass, retry)
        case ConfirmCancel():
            if not held.cancel_requested:
                return CancelNotRequested(held.id)
            move = CONFIRMED
        case Release():
            move = verdicts.released(said.after_seconds, cancel_requested=held.cancel_requested)
        case Wait():
            return CancelStands(held.id) if held.cancel_requested else said
        case _:
            assert_never(said)
    return Change(held, move, held.fence, words(said))


def words(said: Said) -> bytes:
    """The digest by which a repeated settlement is known to say the same."""
    if isinstance(said, Complete) and moving.bare(said):
        return model.digest(said.result or b"")
    return _all_words(said)


def _all_words(said: Said) -> bytes:
    if not isinstance(said, Complete):
        return model.digest(repr(said).encode())
    coverage = None if said.coverage is None else msgspec.json.encode(said.coverage)
    result = None if said.result is None else model.digest(said.result)
    return model.digest(repr(("Complete", result, said.result_ref, coverage, said.evidence_at)).encode())


def _is(said: Said, digest: bytes | None) -> bool:
    return digest in {words(said), _all_words(said)}  # the second: of a bare result, by a release before 0014


def _late(workspace: str, settlements: Sequence[Settlement], tally: Tally) -> Plan[None]:
    """Answer those whose grant is not theirs: an owner that repeats itself, or one that comes too late."""
    hands = yield from each(SQL.remembered, [{"workspace": workspace, "id": settlements[n].id} for n in tally.late])
    for n, hand in zip(tally.late, hands, strict=True):
        tally.answers[n] = _remembered(settlements[n], *hand[0]) if hand else Missing()


def _remembered(
    settlement: Settlement,
    state: int,
    revision: int,
    fence: int,
    settled_fence: int | None,
    settled_state: int | None,
    settled_digest: bytes | None,
    run_at: datetime,
) -> SettleOutcome:
    if settled_state is not None and settled_fence == settlement.fence and _is(settlement.said, settled_digest):
        due = run_at if settled_state == state == model.ACCEPTED else None
        return Settled(settlement.id, model.STATES[settled_state], revision, due, repeated=True)
    if state >= model.COMPLETED and fence == settlement.fence:
        return JobEnded(settlement.id, model.STATES[state])
    return StaleFence(moving.subject(settlement.id))
