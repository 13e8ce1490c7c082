"""What is given up because its turn does not come: an endpoint that is slower than its events for ever."""

from __future__ import annotations

from steadhold.kit.plan import Plan, rows, single_operation
from steadhold.webhooks.delivering import blocked, move, move_up
from steadhold.webhooks.model import BLOCKED, EXHAUSTED, Delivery, Endpoint, Move
from steadhold.webhooks.plans import SQL, hold
from steadhold.webhooks.replaying import KEPT_SECONDS


@single_operation
def give_up(workspace: str, limit: int, *, kept_seconds: float = KEPT_SECONDS) -> Plan[int]:
    """End what has been due for as long as deliveries are kept, and was not begun; says how many."""
    found = yield from rows(SQL.late, workspace=workspace, limit=limit, kept_seconds=float(kept_seconds))
    for webhook in sorted({of for _, of in found}):
        held = yield from hold(workspace, webhook)
        if isinstance(held, Endpoint):
            yield from _end(workspace, held, [id for id, of in found if of == webhook], kept_seconds)
    return len(found)


def _end(workspace: str, at: Endpoint, ids: list[str], kept_seconds: float) -> Plan[None]:
    item = {"workspace": workspace, "ids": ids, "kept_seconds": float(kept_seconds)}
    late = [Delivery(*row) for row in (yield from rows(SQL.hold_late, **item))]
    moves = [Move(d.id, BLOCKED if d.lane is not None and at.spec.blocks else EXHAUSTED, d.tries) for d in late]
    yield from move(workspace, moves)
    over = [d for d, moved in zip(late, moves, strict=True) if moved.number == EXHAUSTED]
    yield from move_up(workspace, [(d, d.skipped + 1) for d in over])
    for d in late:
        if d not in over:
            at = yield from blocked(workspace, at, d.lane or "", d.id)
