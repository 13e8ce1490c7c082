"""The one way a job changes: its row is held, the change is written and recorded, what it leaves is given back.

Whoever moves jobs does it in this order, in which the ranks do not fall: grants, `hold`, `write`, `follow`. (Jobs that
are only completed are held and written at once: `settling`.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from steadhold import events, fences
from steadhold.events import Happened
from steadhold.jobs import model
from steadhold.jobs.model import Complete
from steadhold.jobs.outcomes import Checkpoint
from steadhold.jobs.verdicts import Move, Standing
from steadhold.kit.fields import FenceRef
from steadhold.kit.plan import Plan, each
from steadhold.kit.sql import load

SQL: Final = load(__file__)
Entry: TypeAlias = tuple[str, int, Happened]
"""A line of a job's history: its aggregate, its revision, what happened."""

NO_CONTENTS: Final[dict[str, Any]] = dict.fromkeys(("result", "result_ref", "coverage", "evidence_at"))


class Held(msgspec.Struct, frozen=True):
    """A job's row as it is while we hold it, and the database's clock after we did, if it is held to a time."""

    id: str
    state: int
    revision: int
    fence: int
    attempt: int
    attempts_max: int
    lapses: int
    stages: int
    slotted: bool
    root: str
    type: str
    configuration_revision: int
    cancel_requested: bool
    deadline_at: datetime | None
    timeout_at: datetime | None
    evidence_not_before: datetime | None
    now: datetime | None

    def standing(self) -> Standing:
        """What decides about it."""
        return Standing(
            self.id,
            self.attempt,
            self.attempts_max,
            self.lapses,
            self.cancel_requested,
            self.deadline_at,
            self.timeout_at,
            self.now,
        )


class Watch(msgspec.Struct, frozen=True):
    """A job that waits for an inbox, and up to where it has looked."""

    job_id: str
    inbox: str
    epoch: str
    seen: int


class Change(msgspec.Struct, frozen=True):
    """A move of a held job. `fence` and `said` (its digest) are remembered, so that an owner may ask again;
    a completion brings its result, a wait what it is for, a woken job the stage it gained.
    """

    held: Held
    move: Move
    fence: int | None = None
    said: bytes | None = None
    stages: int = 0
    result: Complete | None = None
    wait: events.Waiting | None = None
    watch: Watch | None = None

    def permitted(self) -> bool:
        """Whether the table of moves has it."""
        return self.move.cause in model.MOVES.get((model.STATES[self.held.state], model.STATES[self.move.state]), ())


class Finished(msgspec.Struct, frozen=True, gc=False):
    """A job that was completed at once, without being held before: what its owner said, and then what its row says."""

    id: str
    fence: int
    revision: int
    attempt: int
    slotted: bool
    awaited: bool


class Written(msgspec.Struct, frozen=True, gc=False):
    """The revision that a move made, whether anybody may wait for the end, and when the job is due."""

    revision: int
    awaited: bool
    run_at: datetime | None = None


def subject(id: str) -> str:
    """The name under which grants, events and waits know a job."""
    return f"job:{id}"


def hold(workspace: str, ids: Iterable[str]) -> Plan[dict[str, Held]]:
    """Lock jobs by their ids; what does not exist is left out."""
    wanted = list(dict.fromkeys(ids))
    hands = yield from each(SQL.hold, [{"workspace": workspace, "id": id} for id in wanted])
    return {id: Held(*hand[0]) for id, hand in zip(wanted, hands, strict=True) if hand}


def write(workspace: str, changes: Sequence[Change]) -> Plan[list[Written | None]]:
    """Move held jobs. None where a twin in the same transaction moved the job first: look again."""
    assert all(change.permitted() for change in changes), "a move that the table does not have"
    hands = yield from each(SQL.move, [_item(workspace, change) for change in changes])
    return [Written(*hand[0]) if hand else None for hand in hands]


def contents(id: str, result: Complete | None) -> dict[str, Any]:
    """What a completed job keeps; of every other, nothing. A bare result needs no reference: `words` is its digest."""
    if result is None:
        return NO_CONTENTS
    return {
        "result": result.result,
        "result_ref": None if bare(result) else _reference(id, result),
        "coverage": None if result.coverage is None else msgspec.json.encode(result.coverage),
        "evidence_at": result.evidence_at,
    }


def bare(said: Complete) -> bool:
    """Whether a result is all that was said, and lies here."""
    return said.result is not None and said.result_ref is None and said.coverage is None and said.evidence_at is None


def _reference(id: str, result: Complete) -> str:
    """What names a result: its own reference, or ours with its digest."""
    if result.result_ref is not None:
        return result.result_ref
    return f"job:{id}/result#sha256:{model.digest(result.result or b'').hex()}"


def _item(workspace: str, change: Change) -> dict[str, Any]:
    move = change.move
    return {
        "workspace": workspace,
        "id": change.held.id,
        "held": change.held.revision,
        "state": move.state,
        "after_seconds": move.after_seconds,
        "refund": move.refund,
        "lapses": move.lapses,
        "stages": change.stages,
        "error_code": move.error_code,
        "message": move.message,
        "class": move.klass,
        "awaits": change.wait and change.wait.what,
        "fence": change.fence,
        "said": change.said,
        **contents(change.held.id, change.result),
    }


def moved(change: Change, written: Written) -> Entry:
    """The event of a move."""
    move, held = change.move, change.held
    data: dict[str, Any] = {"cause": move.cause, "attempt": held.attempt - move.refund, "fence": held.fence}
    if move.error_code is not None:
        data |= {"error_code": move.error_code, "class": move.klass}
    return recorded(held.id, written.revision, model.STATES[move.state], data)


def recorded(id: str, revision: int, what: str, data: dict[str, Any]) -> Entry:
    """An event of a job: `job.<what>`."""
    return subject(id), revision, Happened(f"job.{what}", msgspec.json.encode(data))


def completed(job: Finished) -> Entry:
    """The event of a completion."""
    return recorded(
        job.id, job.revision, "completed", {"cause": "complete", "attempt": job.attempt, "fence": job.fence}
    )


def follow(
    workspace: str,
    changes: Sequence[tuple[Change, Written]],
    more: Sequence[Entry] = (),
    finished: Sequence[Finished] = (),
) -> Plan[None]:
    """Record moves, tell who waits for an end, and give back what the jobs held."""
    entries = [completed(job) for job in finished]
    entries += [moved(change, written) for change, written in changes]
    yield from events.record(workspace, [*entries, *more])
    awaited = [job.id for job in finished if job.awaited]
    awaited += [c.held.id for c, written in changes if written.awaited and c.move.state >= model.COMPLETED]
    yield from ended(workspace, awaited)
    yield from give_back(workspace, [*finished, *(change.held for change, _ in changes)])


def ended(workspace: str, ids: Sequence[str]) -> Plan[None]:
    """Mark the waits for these jobs due."""
    if ids:
        yield from events.settled(workspace, [subject(id) for id in ids])


def give_back(workspace: str, helds: Sequence[Held | Finished]) -> Plan[None]:
    """Free the slots that running jobs occupied."""
    slotted = [held for held in helds if held.slotted]
    yield from each(SQL.free, [{"workspace": workspace, "id": held.id, "fence": held.fence} for held in slotted])


def policies(workspace: str, helds: Iterable[Held]) -> Plan[dict[tuple[str, int], bytes | None]]:
    """The pinned configurations of jobs, by type and revision; revision 0 has no bytes."""
    pinned = {(held.type, held.configuration_revision) for held in helds}
    return (yield from pinned_bodies(workspace, pinned))


def pinned_bodies(workspace: str, pinned: Iterable[tuple[str, int]]) -> Plan[dict[tuple[str, int], bytes | None]]:
    """The bytes of configurations by type and revision; revision 0 has none."""
    kept = sorted({pin for pin in pinned if pin[1]})
    hands = yield from each(SQL.policies, [{"workspace": workspace, "type": t, "revision": r} for t, r in kept])
    found = {pin: hand[0][0] for pin, hand in zip(kept, hands, strict=True) if hand}
    return {**dict.fromkeys(pinned), **found}


def let_go(
    workspace: str, changes: Iterable[Change], finished: Iterable[Finished] = (), *, released: bool
) -> Plan[None]:
    """End the grants of these jobs, which the plan owns: those of jobs that ended leave no row."""
    gone = [subject(job.id) for job in finished]
    living: list[FenceRef] = []
    for change in changes:
        name = subject(change.held.id)
        if change.move.state >= model.COMPLETED:
            gone.append(name)
        else:
            living.append(FenceRef(name, change.held.fence))
    yield from fences.drop(workspace, gone)
    yield from fences.end(workspace, living, released=released)


def stage_item(
    workspace: str,
    id: str,
    fence: int,
    stage: str,
    result: bytes | None,
    result_ref: str | None,
    input_digest: bytes | None = None,
    root: str = "",
) -> dict[str, Any]:
    """A stage to be kept. An inline result is known by its digest, another by that of its reference."""
    content = model.digest(result if result is not None else (result_ref or "").encode())
    return {
        "workspace": workspace,
        "root": root,
        "stage": stage,
        "job": id,
        "fence": fence,
        "digest": content,
        "input_digest": input_digest,
        "result": result,
        "result_ref": result_ref or f"job:{id}/checkpoints/{stage}#sha256:{content.hex()}",
    }


def stage_kept(workspace: str, root: str, stage: str) -> Plan[Checkpoint | None]:
    """Read a committed stage."""
    hand = (yield from each(SQL.stage_of, [{"workspace": workspace, "root": root, "stage": stage}]))[0]
    return Checkpoint(*hand[0]) if hand else None


def advance(workspace: str, held: Held, *, stages: int = 0) -> Plan[int | None]:
    """Raise a held job's revision without moving it; None where a twin changed it first."""
    item = {"workspace": workspace, "id": held.id, "held": held.revision, "stages": stages}
    hand = (yield from each(SQL.advance, [item]))[0]
    return hand[0][0] if hand else None
