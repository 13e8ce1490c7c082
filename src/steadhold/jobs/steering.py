"""What anybody may do to a job, whoever runs it: cancel, retry, signal, one or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from steadhold import events
from steadhold.jobs import admission, model, moving, relying, verdicts, waiting
from steadhold.jobs.model import Count, State
from steadhold.jobs.moving import SQL, Change
from steadhold.jobs.outcomes import (
    Cancelling,
    CountChanged,
    Counted,
    JobEnded,
    JobNotEnded,
    KeyConflict,
    NotReadmitted,
    Retried,
    Signalled,
    SignalsFull,
    Steered,
    TooMany,
)
from steadhold.jobs.verdicts import Move
from steadhold.kit.limits import PAGE_ITEMS_MAX, SIGNAL_DATA_BYTES_MAX, SIGNALS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.plan import Plan, each, operation, rows, single_operation
from steadhold.kit.rules import Comment, Id, Moment, Text, Uuid, json_of

Data: TypeAlias = Annotated[bytes, json_of(SIGNAL_DATA_BYTES_MAX)]

BULK_MAX = PAGE_ITEMS_MAX
CANCELLED = Move(model.CANCELLED, "cancel")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which jobs are meant. What is None does not matter."""

    state: State | None = None
    type: Id | None = None
    unique_key: Id | None = None
    tag: Id | None = None
    created_after: Moment | None = None
    created_before: Moment | None = None


CancelOutcome: TypeAlias = Cancelling | Missing | RevisionConflict
RetryOutcome: TypeAlias = Retried | JobNotEnded | NotReadmitted | Missing | RevisionConflict
SignalOutcome: TypeAlias = Signalled | SignalsFull | JobEnded | Missing | RevisionConflict
BulkOutcome: TypeAlias = Counted | Steered | CountChanged | TooMany


@operation
def cancel(
    workspace: str, id: Uuid, by: Text, reason: Comment | None = None, *, revision: Count | None = None
) -> Plan[CancelOutcome]:
    """Cancel a job that nobody runs; ask whoever runs it to stop; say that it is too late. Repeats say the same."""
    while True:  # again where a twin in the same transaction moved the job first
        held = (yield from moving.hold(workspace, [id])).get(id)
        if held is None:
            return Missing()
        if revision is not None and revision != held.revision:
            return RevisionConflict(held.revision)
        verdict = verdicts.cancelling(held.state)
        asked = {"workspace": workspace, "id": id, "by": by, "reason": reason}
        if verdict.state is not None:
            change = Change(held, CANCELLED)
            if written := (yield from moving.write(workspace, [change]))[0]:
                yield from each(SQL.note_cancel, [asked])
                yield from moving.follow(workspace, [(change, written)])
                if held.state == model.WAITING:
                    yield from events.unwait(workspace, [id])
                return Cancelling(id, "cancelled", "cancelled", written.revision)
        elif held.state != model.RUNNING or held.cancel_requested:
            return Cancelling(id, verdict.outcome, model.STATES[held.state], held.revision)
        elif hand := (yield from each(SQL.ask_cancel, [{**asked, "held": held.revision}]))[0]:
            raised: int = hand[0][0]
            yield from events.record(workspace, [moving.recorded(id, raised, "cancel_requested", {"by": by})])
            return Cancelling(id, "requested", "running", raised)


@single_operation
def retry(workspace: str, id: Uuid, new_id: Uuid, *, revision: Count | None = None) -> Plan[RetryOutcome]:
    """Admit an ended job anew, as `new_id`, with the configuration and inputs it had and the stages it committed.

    The workspace must still be entitled to it, as to any other job.
    """
    old = yield from rows(SQL.keep_alive, workspace=workspace, id=id)
    if not old:
        return Missing()
    state: int = old[0][0]
    held: int = old[0][1]
    unique_key: str | None = old[0][2]
    type: str = old[0][3]
    if revision is not None and revision != held:
        return RevisionConflict(held)
    if state < model.COMPLETED:
        return JobNotEnded(id, model.STATES[state])
    if refused := admission.not_entitled(type, (yield from admission.terms_of(workspace, [type]))[type]):
        return refused
    while not (made := (yield from rows(SQL.readmit, workspace=workspace, id=new_id, retry_of=id))):
        found = (yield from each(SQL.present, [{"workspace": workspace, "id": new_id, "unique_key": unique_key}]))[0]
        if found:
            return KeyConflict(found[0][0])
    raised, root, configuration_revision, run_at, tags = made[0]
    yield from each(SQL.tag, [{"workspace": workspace, "id": new_id, "tag": tag} for tag in (tags or "").split()])
    yield from relying.again(workspace, id, new_id)
    data = {"cause": "retry", "type": type, "retry_of": id}
    yield from events.record(workspace, [moving.recorded(new_id, raised, "accepted", data)])
    return Retried(new_id, id, root, raised, configuration_revision, run_at)


@operation
def signal(
    workspace: str, id: Uuid, name: Id, data: Data | None = None, *, revision: Count | None = None
) -> Plan[SignalOutcome]:
    """Tell a job something. It is kept, exact JSON, until the job waits for this name; each wait takes one."""
    while True:
        held = (yield from moving.hold(workspace, [id])).get(id)
        if held is None:
            return Missing()
        if revision is not None and revision != held.revision:
            return RevisionConflict(held.revision)
        if held.state >= model.COMPLETED:
            return JobEnded(id, model.STATES[held.state])
        kept: int = (yield from each(SQL.told, [{"workspace": workspace, "job": id}]))[0][0][0]
        if kept >= SIGNALS_MAX:
            return SignalsFull(id, kept)
        raised = yield from moving.advance(workspace, held)
        if raised is not None:
            break
    yield from each(SQL.tell, [{"workspace": workspace, "job": id, "name": name, "data": data}])
    yield from events.record(workspace, [moving.recorded(id, raised, "signalled", {"name": name})])
    if held.state == model.WAITING:
        yield from events.settled(workspace, [waiting.signal_subject(id, name)])
    return Signalled(id, raised)


@single_operation
def cancel_all(
    workspace: str, which: Filter, expected: Count | None, by: Text, reason: Comment | None = None
) -> Plan[BulkOutcome]:
    """Cancel every live job that a filter means, if they are as many as expected; None only counts them."""
    ids = yield from _matching(workspace, which, model.LIVE)
    if (verdict := _counted(ids, expected)) is not None:
        return verdict
    outcomes: list[Cancelling | Retried | NotReadmitted] = []
    yield from moving.hold(workspace, ids)
    for id in ids:
        outcome = yield from cancel.plan(workspace, id, by, reason)
        if isinstance(outcome, Cancelling):
            outcomes.append(outcome)
    return Steered(tuple(outcomes))


@single_operation
def retry_all(workspace: str, which: Filter, expected: Count | None, new_ids: Sequence[Uuid]) -> Plan[BulkOutcome]:
    """Retry every ended job that a filter means, if they are as many as expected, under `new_ids`; None only counts."""
    ids = yield from _matching(workspace, which, (model.COMPLETED, model.FAILED, model.CANCELLED))
    if (verdict := _counted(ids, expected)) is not None:
        return verdict
    outcomes: list[Cancelling | Retried | NotReadmitted] = []
    for id, new_id in zip(ids, new_ids, strict=False):
        outcome = yield from retry.plan(workspace, id, new_id)
        if not isinstance(outcome, (JobNotEnded, Missing, RevisionConflict)):
            outcomes.append(outcome)
    return Steered(tuple(outcomes))


def _matching(workspace: str, which: Filter, of: Sequence[int]) -> Plan[list[str]]:
    wanted = of if which.state is None else [code for code in of if model.STATES[code] == which.state]
    found = yield from rows(
        SQL.matching,
        workspace=workspace,
        states=list(wanted),
        type=which.type,
        unique_key=which.unique_key,
        tag=which.tag,
        created_after=which.created_after,
        created_before=which.created_before,
        limit=BULK_MAX + 1,
    )
    return [id for (id,) in found]


def _counted(ids: Sequence[str], expected: int | None) -> Counted | CountChanged | TooMany | None:
    if len(ids) > BULK_MAX:
        return TooMany(BULK_MAX)
    if expected is None:
        return Counted(len(ids))
    return None if len(ids) == expected else CountChanged(len(ids))
