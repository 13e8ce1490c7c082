"""Effects: what somebody has to look at first, and the three histories of each."""

from __future__ import annotations

import asyncio
from typing import Final

from steadhold.dashboard.page import Action, Outcome, Page, Refused, Room, View
from steadhold.effects.model import RECONCILIATIONS

READ, WRITE = "effects:read", "effects:write"
MACHINES: Final = (
    ("execution", "Execution", "did it happen?"),
    ("settlement", "Settlement", "what became of the money?"),
    ("reconciliation", "Reconciliation", "does somebody have to look?"),
)
LINES_SHOWN: Final = 200


async def index(view: View) -> Outcome:
    """Those at which somebody has to look, the longest first; and the others, the newest first."""
    wanted, cursor = view.query.get("reconciliation", ""), view.query.get("cursor")
    both = not wanted and not cursor
    needed, listed = await asyncio.gather(
        view.get("/v1/effects", reconciliation="needed", limit=50 if both else 1),
        view.get("/v1/effects", reconciliation=wanted or None, limit=50, cursor=cursor),
    )
    return view.show(
        "effects/index.html", needed=needed if both else None, listed=listed, wanted=wanted, states=RECONCILIATIONS
    )


async def one(view: View) -> Outcome:
    """An effect with all that it became."""
    return await _one(view, None)


async def _one(view: View, no: Refused | None) -> Outcome:
    id = view.params["id"]
    found, history = await asyncio.gather(
        view.get("/v1/effects", id),
        view.get("/v1/effects", id, "history", limit=LINES_SHOWN, cursor=view.query.get("cursor")),
    )
    return view.show(
        "effects/one.html", effect=found.facts, revision=found.revision, lines=history.items, machines=MACHINES,
        more=history.next_cursor, no=no,
    )  # fmt: skip


async def reconcile(view: View) -> Outcome:
    """Say what somebody found who looked, and at what."""
    said = {"outcome": view.form.get("outcome", ""), "evidence_ref": view.form.get("evidence_ref", "").strip()}
    if evidence := view.form.get("evidence_id", "").strip():
        said["evidence_id"] = evidence
    return await view.act("/effects", "reconcile", _one, body=said, revision=view.number("revision"))


async def abandon(view: View) -> Outcome:
    """Give up what was not begun."""
    return await view.act("/effects", "abandon", _one, body={}, revision=view.number("revision"))


ROOM = Room(
    "effects", "Effects", "Work", scope=READ,
    pages=(Page("/effects", index, READ), Page("/effects/{id}", one, READ)),
    actions=(
        Action("/effects/{id}/reconcile", reconcile, WRITE, done="What you found is kept."),
        Action("/effects/{id}/abandon", abandon, WRITE, done="It was given up: nobody begins it any more."),
    ),
)  # fmt: skip
