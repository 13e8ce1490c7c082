"""schedules: what the answers say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

_MEMBERS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule. `told` is its spec, byte for byte; every instant up to `cursor` is settled for ever.

    `made_again`: an earlier schedule of this id was deleted, and no instant up to `cursor` will run.
    """

    id: str
    revision: int
    told: msgspec.Raw = msgspec.field(name="spec")
    paused: bool
    next_at: datetime | None
    cursor: datetime
    zone_tables: str
    made_at: datetime
    changed_at: datetime
    made_again: bool = False

    @property
    def spec(self) -> dict[str, Any]:
        """What a PUT sends, such as `put_spec` takes. An `input` is a `msgspec.Raw`, so that its bytes stay."""
        found = _MEMBERS.decode(self.told)
        target = {kind: _exact(said) for kind, said in _MEMBERS.decode(found.pop("target")).items()}
        return {name: msgspec.json.decode(said) for name, said in found.items()} | {"target": target}


def _exact(target: msgspec.Raw) -> dict[str, Any]:
    said = _MEMBERS.decode(target)
    return {
        name: msgspec.Raw(bytes(raw)) if name == "input" else msgspec.json.decode(raw) for name, raw in said.items()
    }


class Window(msgspec.Struct, frozen=True):
    """The interval that a run answers for: `start` is in it, `end` is not."""

    start: datetime
    end: datetime


class Covered(msgspec.Struct, frozen=True):
    """Consecutive instants that a run stands for."""

    first: datetime
    last: datetime
    count: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an instant, or of `count` of them up to `last_at`.

    `reason` says why it was skipped, `code` how its job was refused; `inbox` and `event_id` what was sent.
    """

    schedule_id: str
    kind: Literal["schedule", "backfill", "manual"]
    scheduled_at: datetime
    local_time: str
    window: Window
    trigger_id: str
    spec_revision: int
    outcome: Literal["started", "waiting", "coalesced", "skipped", "failed"]
    recorded_at: datetime
    reason: str | None = None
    code: str | None = None
    job_id: str | None = None
    inbox: str | None = None
    event_id: str | None = None
    operation_id: str | None = None
    last_at: datetime | None = None
    count: int = 1
    covers: Sequence[Covered] = ()


class Backfill(msgspec.Struct, frozen=True):
    """The runs of a backfill: those that are new, and those that were there."""

    runs: Sequence[Run]
    existing: Sequence[Run]


class PreviewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An instant to come; or (`skipped`) local times, the first to the last, that have none."""

    local_time: str
    scheduled_at: datetime | None = None
    offset_seconds: int | None = None
    moved: Literal["gap", "fold"] | None = None
    asked: str | None = None
    skipped: Literal["gap", "first_pass", "second_pass"] | None = None
    last_local_time: str | None = None


class Preview(msgspec.Struct, frozen=True):
    """The instants to come, found by these zone tables. They run only if the schedule is not paused."""

    paused: bool
    zone_tables: str
    items: Sequence[PreviewItem]
