"""What became of a job, told line by line: its events, its leases, its effects, and the receipts of what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from steadhold.dashboard.facts import Facts
from steadhold.operations import Kept
from steadhold.web.reply import instant

TONES: Final = {
    "job.running": "busy",
    "job.waiting": "warn",
    "job.completed": "good",
    "job.failed": "bad",
    "job.cancelled": "warn",
    "job.cancel_requested": "warn",
    "job.checkpointed": "good",
}
CAUSES: Final = {
    "submit": "admitted",
    "claim": "claimed",
    "release": "handed back",
    "snooze": "handed back until later",
    "retry": "to be tried again",
    "lapse": "the lease lapsed",
    "wait": "waits",
    "woken": "woken",
    "timed_out": "the wait timed out",
    "complete": "completed",
    "error": "failed",
    "confirm": "cancelled by its worker",
    "cancel": "cancelled",
    "deadline": "past its deadline",
    "poison": "given up after lapse upon lapse",
}
"""How the cause of a move reads; of every other the word itself."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened. `to` is the page of what it is about, below the dashboard: its path and segments."""

    at: str
    title: str
    detail: str = ""
    tone: str = ""
    to: tuple[str, ...] = ()
    label: str = ""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who held the job under a fence, from when until when, and how that ended; an open one has no end."""

    fence: int
    attempt: int
    worker: str
    begun: str
    ended: str | None = None
    how: str = ""


def said(event: Facts) -> Mapping[str, Any]:
    """What an event of a job says of itself; those are the house's own words."""
    try:
        data = event.get("data", {})
    except msgspec.DecodeError:
        return {}
    return data if isinstance(data, Mapping) else {}  # pyright: ignore[reportUnknownVariableType]


def of_events(events: Iterable[Facts]) -> list[Line]:
    """A line for each event of a job."""
    return [_line(event, said(event)) for event in events]


def _line(event: Facts, data: Mapping[str, Any]) -> Line:
    kind: str = event["type"]
    cause, state = str(data.get("cause", "")), kind.removeprefix("job.").replace("_", " ")
    title = CAUSES.get(cause, cause) or state
    if kind in {"job.failed", "job.cancelled"} and state not in title:
        title = f"{state}: {title}"
    told = {
        "job.checkpointed": ("stage",),
        "job.signalled": ("name",),
        "job.cancel_requested": ("by",),
        "job.running": ("attempt", "fence", "worker"),
        "job.failed": ("error_code", "class", "attempt"),
        "job.accepted": ("type", "error_code", "class"),
    }.get(kind, ("fence",))
    detail = ", ".join(f"{name.replace('_', ' ')} {data[name]}" for name in told if data.get(name) is not None)
    if retried := data.get("retry_of"):
        return Line(event["occurred_at"], "admitted as a retry", detail, "", ("/jobs", retried), f"of {retried}")
    tone = "warn" if cause == "lapse" else TONES.get(kind, "")
    return Line(event["occurred_at"], title, detail, tone)


def leases(events: Iterable[Facts]) -> list[Lease]:
    """The leases that a job was held under, the newest first."""
    found: list[Lease] = []
    for event in events:
        data, kind, at = said(event), event["type"], event["occurred_at"]
        if kind == "job.running" and data.get("cause") == "claim":
            found.append(Lease(data["fence"], data["attempt"], str(data.get("worker", "")), at))
        elif "cause" in data and found and found[-1].ended is None:
            cause = str(data["cause"])
            last = found[-1]
            how = CAUSES.get(cause, cause)
            found[-1] = Lease(last.fence, last.attempt, last.worker, last.begun, at, how)
    return found[::-1]


def of_effect(effect_id: str, history: Iterable[Facts]) -> list[Line]:
    """The lines of an effect's history."""
    return [_moved(effect_id, line) for line in history]


def _moved(effect_id: str, line: Facts) -> Line:
    machine: str = line["machine"]
    if "to" not in line:
        title = f"effect: {line.get('said') or 'evidence'} told"
    elif line.get("from") == line["to"]:
        title = f"effect: still {line['to']}"
    else:
        title = f"effect: {machine} {line['to']}".replace("_", " ")
    because = line.get("because")
    tone = {"succeeded": "good", "failed": "bad", "unknown": "warn", "needed": "warn"}.get(line.get("to", ""), "busy")
    detail = str(because).replace("_", " ") if because else ""
    return Line(line["at"], title, detail, tone, ("/effects", effect_id), effect_id)


def of_receipts(receipts: Iterable[Kept]) -> list[Line]:
    """A line for each receipt, which leads to its operation."""
    return [
        Line(
            instant(one.committed_at),
            f"receipt of {one.kind}",
            f"for {one.subject}",
            to=("/operations", one.key),
            label=one.key,
        )
        for one in receipts
    ]


def merged(*parts: Sequence[Line]) -> list[Line]:
    """All lines by their time; what happened at once stays in the order of the parts."""
    return sorted((line for part in parts for line in part), key=lambda line: line.at)
