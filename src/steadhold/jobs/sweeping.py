"""What happens to jobs when nobody does anything: leases and deadlines pass, waits end, windows close.

Each sweep decides under the lock of what it decides on, and is played alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from steadhold import events, fences
from steadhold.events import Due
from steadhold.jobs import model, moving, reading, relying, verdicts, waiting, watching
from steadhold.jobs.model import Retry
from steadhold.jobs.moving import SQL, Change, Held, Written
from steadhold.jobs.verdicts import Move
from steadhold.kit.limits import CLAIM_KEY_SECONDS_MAX
from steadhold.kit.plan import Plan, each, rows, single_operation
from steadhold.kit.sql import Row

WOKEN: Final = Move(model.ACCEPTED, "woken")
TIMED_OUT: Final = Move(model.ACCEPTED, "timed_out")

KEPT_SECONDS: Final = 30 * 86_400.0
"""How long a finished job is kept, unless its type or the server's settings say otherwise (contracts: retention)."""


@single_operation
def lapse(workspace: str, limit: int) -> Plan[int]:
    """End leases that ran out: their jobs are due again, cancelled, or failed. Answers how many."""
    refs = yield from fences.lapsed(workspace, "job", limit)
    held = yield from moving.hold(workspace, [ref.name for ref in refs])
    running = [
        row for ref in refs
        if (row := held.get(ref.name)) is not None and row.state == model.RUNNING and row.fence == ref.fence
    ]  # fmt: skip
    progressed = yield from each(SQL.progressed, [
        {"workspace": workspace, "id": row.id, "root": row.root, "fence": row.fence} for row in running
    ])  # fmt: skip
    policies = yield from moving.policies(workspace, running)
    changes = [
        Change(row, verdicts.lapsed(row.standing(), _retry(policies, row), progressed=hand[0][0]))
        for row, hand in zip(running, progressed, strict=True)
    ]
    yield from _make(workspace, changes)
    yield from moving.let_go(workspace, changes, released=False)
    moved = {change.held.id for change in changes}
    yield from fences.end(workspace, [ref for ref in refs if ref.name not in moved], released=False)
    return len(refs)


def _retry(policies: Mapping[tuple[str, int], bytes | None], held: Held) -> Retry:
    return verdicts.configuration(policies[held.type, held.configuration_revision]).retry


@single_operation
def overdue(workspace: str, limit: int) -> Plan[int]:
    """Fail accepted jobs whose deadline passed. Answers how many."""
    found = yield from rows(SQL.overdue, workspace=workspace, limit=limit)
    held = yield from moving.hold(workspace, [id for (id,) in found])
    yield from _make(workspace, [Change(row, verdicts.overdue()) for row in held.values()])
    return len(found)


@single_operation
def wake(workspace: str, limit: int) -> Plan[int]:
    """Move jobs whose wait is over, and commit what came of it as their stage. Answers how many."""
    return (yield from _awake(workspace, (yield from events.due(workspace, limit))))


@single_operation
def attend(workspace: str, limit: int) -> Plan[int]:
    """Look again where an inbox has something new for jobs that wait for it. Answers how many looked."""
    inboxes = [name for (name,) in (yield from rows(SQL.news, workspace=workspace, limit=limit))]
    if not inboxes:
        return 0
    found = yield from rows(SQL.watchers, workspace=workspace, inboxes=inboxes, limit=limit)
    yield from _awake(workspace, [id for (id,) in found])
    yield from watching.rest(workspace, inboxes)
    return max(len(found), len(inboxes))


def _awake(workspace: str, ids: Sequence[str]) -> Plan[int]:
    free = [id for (id,) in (yield from rows(SQL.asleep, workspace=workspace, ids=ids))] if ids else []
    held = yield from moving.hold(workspace, free)
    facts = yield from watching.again(workspace, free)
    waits = yield from events.take(workspace, free)
    over = [
        (held[wait.job_id], wait) for wait in waits if wait is not None and held[wait.job_id].state == model.WAITING
    ]
    changes: list[Change] = []
    for row, wait in over:
        changes.append((yield from _woken(workspace, row, wait, facts.get(wait.job_id))))
    yield from _make(workspace, changes)
    return len(changes)


def _woken(workspace: str, held: Held, wait: Due, found: bytes | None) -> Plan[Change]:
    asked: dict[str, Any] = msgspec.json.decode(wait.what)["for"]
    timer = "timer" in asked
    if verdicts.past(held.deadline_at, held.now) and not wait.happened:
        return Change(held, verdicts.overdue())
    happened = wait.happened or timer
    body = found or (yield from waiting.fact(workspace, held.id, asked, happened=happened))
    item = moving.stage_item(workspace, held.id, held.fence, wait.stage, body, None, root=held.root)
    kept = (yield from each(SQL.keep, [item]))[0]
    return Change(held, WOKEN if happened else TIMED_OUT, stages=len(kept))


def _make(workspace: str, changes: Sequence[Change]) -> Plan[None]:
    written = yield from moving.write(workspace, changes)
    done: list[tuple[Change, Written]] = []
    for change, wrote in zip(changes, written, strict=True):
        assert wrote is not None, "a sweep is played alone, and holds what it moves"
        done.append((change, wrote))
    yield from moving.follow(workspace, done)


@single_operation
def forget(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """Remove finished jobs past their window, with their stages, signals, tags and events; and what only they needed.

    That is old claims, and configurations that are not current and that no job is held to any more. The window is
    the type's own, or `kept_seconds`; a job of whose line an effect is open stays. Answers how many.
    """
    found = yield from rows(SQL.forgettable, workspace=workspace, limit=limit)
    left = limit - len(found)
    found += yield from rows(SQL.outlived, workspace=workspace, kept_seconds=kept_seconds, limit=left)
    found = yield from _without_open_effects(workspace, found)
    ids = [id for id, _, _ in found]
    if ids:
        tags = sorted({tag for _, _, tags in found for tag in (tags or "").split()})
        yield from events.forget(workspace, [moving.subject(id) for id in ids])
        yield from rows(SQL.forget, workspace=workspace, ids=ids, tags=tags)
        lines = yield from rows(SQL.forget_stages, workspace=workspace, roots=sorted({root for _, root, _ in found}))
        yield from relying.no_more(workspace, ids, sorted({root for (root,) in lines}))
    past = yield from rows(SQL.superseded, workspace=workspace, limit=limit)
    if past:
        types, revisions = zip(*past, strict=True)
        yield from rows(SQL.unpin, workspace=workspace, types=list(types), revisions=list(revisions))
    old = yield from rows(SQL.forget_rest, workspace=workspace, claim_seconds=CLAIM_KEY_SECONDS_MAX, limit=limit)
    return max(len(ids), len(past), old[0][0])


def _without_open_effects(workspace: str, found: Sequence[Row]) -> Plan[list[Row]]:
    """Those that may go; the others are put off, so that they keep nobody from going."""
    shown = yield from reading.effects_of(workspace, sorted({root for _, root, _ in found}), limit=1)
    kept = {id for id, root, _ in found if any(effect.open for effect in shown[root])}
    if kept:
        yield from rows(SQL.postpone, workspace=workspace, ids=sorted(kept))
    return [row for row in found if row[0] not in kept]
