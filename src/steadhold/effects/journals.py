"""Journals: charges that are kept here, each once under its id, for ever."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from steadhold.access import Actor
from steadhold.effects.model import Entered, Entry, money_fault
from steadhold.effects.moving import SQL
from steadhold.effects.outcomes import EnterOutcome, EntryConflict, Recorded
from steadhold.effects.plans import OLDEST
from steadhold.kit.ids import id_fault
from steadhold.kit.outcome import Missing
from steadhold.kit.plan import Plan, each, one, operation, rows


@operation
def enter(workspace: str, journal: str, entry: Entry, *, by: Actor) -> Plan[EnterOutcome]:
    """Keep a charge. The same again answers the one that there is; other content under its id is refused.

    Raises:
        ValueError: the amount or the currency is none, or an id is.
    """
    if fault := id_fault(journal) or id_fault(entry.id) or money_fault(entry.amount, entry.currency):
        raise ValueError(fault)
    made = bool((yield from each(SQL.enter, [_row(workspace, journal, entry, by)]))[0])
    kept = yield from one(SQL.entered, Entered.read, workspace=workspace, journal=journal, id=entry.id)
    return Recorded(kept, repeated=not made) if kept.entry == entry else EntryConflict(entry.id)


@operation
def entries(
    workspace: str, journal: str, after: tuple[datetime, str] | None, limit: int
) -> Plan[list[Entered] | Missing]:
    """List the charges of a journal, the oldest first, from a place on. One that has none is not there."""
    at, id = after or (OLDEST, "")
    found = yield from rows(SQL.entries, workspace=workspace, journal=journal, after_at=at, after=id, limit=limit)
    return [Entered.read(*row) for row in found] if found or after else Missing()


def _row(workspace: str, journal: str, entry: Entry, by: Actor) -> dict[str, Any]:
    return {
        "workspace": workspace,
        "journal": journal,
        "id": entry.id,
        "amount": entry.amount,
        "currency": entry.currency,
        "effect": entry.effect_id,
        "data_ref": entry.data_ref,
        "causation_id": entry.causation_id,
        "note": entry.note,
        "actor": by.subject,
        "key_id": by.key_id,
    }
