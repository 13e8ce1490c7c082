"""For rooms above that submit jobs and take them back while nobody has claimed them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from steadhold.jobs import model, moving
from steadhold.jobs.moving import SQL, Change, Held
from steadhold.jobs.verdicts import Move
from steadhold.kit.plan import Plan, each

TAKEN_BACK = Move(model.CANCELLED, "cancel")


class Standing(msgspec.Struct, frozen=True):
    """Whether a job has not ended, and whether anybody has ever claimed it."""

    live: bool
    claimed: bool


def standings(workspace: str, ids: Iterable[str]) -> Plan[dict[str, Standing]]:
    """Where jobs stand; those that are gone are left out. Locks nothing."""
    wanted = list(dict.fromkeys(ids))
    hands = yield from each(SQL.remembered, [{"workspace": workspace, "id": id} for id in wanted])
    return {
        id: Standing(hand[0][0] < model.COMPLETED, hand[0][2] != 0)
        for id, hand in zip(wanted, hands, strict=True)
        if hand
    }


def hold_unclaimed(workspace: str, ids: Iterable[str]) -> Plan[dict[str, Held]]:
    """Lock jobs that nobody has ever claimed, so that nobody does until the commit; others are left out."""
    held = yield from moving.hold(workspace, ids)
    return {id: row for id, row in held.items() if row.state == model.ACCEPTED and not row.fence}


def withdraw(workspace: str, taken: Sequence[tuple[Held, str]], reason: str) -> Plan[None]:
    """Cancel jobs that `hold_unclaimed` holds, each for who asks. For single plans: no twin may move them meanwhile."""
    changes = [Change(held, TAKEN_BACK) for held, _ in taken]
    written = yield from moving.write(workspace, changes)
    notes = [{"workspace": workspace, "id": held.id, "by": by, "reason": reason} for held, by in taken]
    yield from each(SQL.note_cancel, notes)
    done = [(change, wrote) for change, wrote in zip(changes, written, strict=True) if wrote is not None]
    assert len(done) == len(changes), "a job that is held alone was moved by somebody else"
    yield from moving.follow(workspace, done)
