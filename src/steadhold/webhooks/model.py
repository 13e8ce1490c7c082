"""Webhooks: endpoints, deliveries and attempts, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta

from steadhold.kit import limits
from steadhold.webhooks import health
from steadhold.webhooks.health import Answered, Health

MOVES: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "pending": frozenset({"pending", "delivered", "exhausted", "cancelled", "skipped", "blocked"}),
    "blocked": frozenset({"exhausted", "cancelled", "skipped"}),
    "delivered": frozenset(),
    "exhausted": frozenset(),
    "cancelled": frozenset(),
    "skipped": frozenset(),
    "started": frozenset({"delivered", "refused", "unknown"}),
    "refused": frozenset(),
    "unknown": frozenset(),
    "running": frozenset({"done", "cancelled"}),
    "done": frozenset(),
})  # fmt: skip
"""What becomes of a delivery, of an attempt (from `started`), and of a replay (from `running`)."""

State: TypeAlias = Literal["pending", "delivered", "exhausted", "cancelled", "skipped", "blocked"]
STATES: Final[tuple[State, ...]] = ("pending", "delivered", "exhausted", "cancelled", "skipped", "blocked")
PENDING, DELIVERED, EXHAUSTED, CANCELLED, SKIPPED, BLOCKED = range(6)

AttemptState: TypeAlias = Literal["started", "delivered", "refused", "unknown"]
ATTEMPT_STATES: Final[tuple[AttemptState, ...]] = ("started", "delivered", "refused", "unknown")

EVENT, REPLAY, PING = range(3)
KINDS: Final = ("event", "replay", "ping")
Off: TypeAlias = Literal["new", "asked", "failing", "gone"]
"""Why an endpoint is disabled."""

Only: TypeAlias = Literal["failed", "missing", "all"]
ReplayState: TypeAlias = Literal["running", "done", "cancelled"]
REPLAY_STATES: Final[tuple[ReplayState, ...]] = ("running", "done", "cancelled")

TAKER: Final = "webhooks"
LANE_SECONDS: Final = 30.0
"""How long a sender has an endpoint for itself, unless it asks on."""

ATTEMPT_SECONDS: Final = 20.0
"""From the beginning of an attempt until nobody may be sending any more; 5 s later it is `unknown`."""

Type: TypeAlias = Annotated[str, Meta(min_length=1, max_length=limits.ID_CHARS_MAX)]
Types: TypeAlias = Annotated[tuple[Type, ...], Meta(min_length=1, max_length=limits.WEBHOOK_TYPES_MAX)]
Waits: TypeAlias = Annotated[
    tuple[Annotated[float, Meta(ge=0, le=limits.WEBHOOK_WAIT_SECONDS_MAX)], ...],
    Meta(min_length=1, max_length=limits.WEBHOOK_TRIES_MAX),
]
Rate: TypeAlias = Annotated[float, Meta(gt=0, le=limits.RATE_PER_SECOND_MAX)]
Concurrency: TypeAlias = Annotated[int, Meta(ge=1, le=health.CONCURRENCY_MAX)]
Grace: TypeAlias = Annotated[float, Meta(ge=0, le=limits.ROTATION_GRACE_SECONDS_MAX)]


@dataclass(frozen=True, slots=True)
class Spec:
    """Where deliveries go, and which. `headers` are sealed; `retry_seconds` are the waits before each try."""

    url: str
    types: Types
    ordered: bool = False
    blocks: bool = False
    rate: Rate | None = None
    concurrency: Concurrency = 4
    headers: bytes | None = None
    header_names: tuple[str, ...] = ()
    retry_seconds: Waits = health.RETRY_SECONDS


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint as it is kept. `why` tells why it is disabled: `new`, `asked`, `failing` or `gone`."""

    id: str
    revision: int
    spec: Spec
    enabled: bool
    why: Off | None
    health: Health
    last_success_at: datetime | None
    made_at: datetime
    changed_at: datetime

    @property
    def subject(self) -> str:
        """The aggregate of its events."""
        return f"webhook:{self.id}"


def endpoint(
    id: str, revision: int, url: str, types: Sequence[str], ordered: bool, blocks: bool, rate: float | None,  # noqa: FBT001 - a row
    concurrency: int, headers: bytes | None, header_names: Sequence[str], retry_seconds: Sequence[float],
    enabled: bool, why: Off | None, failures: int, failing_since: datetime | None,  # noqa: FBT001 - a row
    paused_until: datetime | None,
    pauses: int, width: int | None, last_success_at: datetime | None, made_at: datetime, changed_at: datetime,
) -> Endpoint:  # fmt: skip
    """Make an endpoint of its row."""
    spec = Spec(
        url, tuple(types), ordered, blocks, rate, concurrency, headers, tuple(header_names), tuple(retry_seconds)
    )
    fares = Health(failures, failing_since, paused_until, pauses, width)
    return Endpoint(id, revision, spec, enabled, why, fares, last_success_at, made_at, changed_at)


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret as it is kept: sealed. `public` is what receivers verify by; `until` None: it is current."""

    n: int
    sealed: bytes
    public: str | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Shown:
    """An endpoint, with those of its secrets that sign now."""

    endpoint: Endpoint
    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class Delivery:
    """What is to be delivered, or was. The fields are the columns of its row."""

    id: str
    webhook: str
    event_id: str
    kind: int
    lane: str | None
    place: int
    number: int
    attempts: int
    tries: int
    next_at: datetime | None
    skipped: int
    replay_of: str | None
    made_at: datetime
    ended_at: datetime | None

    @property
    def state(self) -> State:
        """Where it stands."""
        return STATES[self.number]

    @property
    def ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.number not in {PENDING, BLOCKED}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, as it is kept. The fields are the columns of its row."""

    n: int
    number: int
    started_at: datetime
    ended_at: datetime | None
    status: int | None
    why: str | None
    address: str | None
    request: str | None
    response: str | None
    response_body: bytes | None

    @property
    def state(self) -> AttemptState:
        """What it came to."""
        return ATTEMPT_STATES[self.number]


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery with its attempts."""

    delivery: Delivery
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The delivery is attempted no more. `unknown`: an attempt had begun whose end nobody knows."""

    delivery: Delivery
    unknown: bool


@dataclass(frozen=True, slots=True)
class Placed:
    """A delivery was made that is to be sent: `id` names it."""

    id: str
    webhook: str


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay of many. The fields are the columns of its row."""

    id: str
    webhook: str
    only: Only
    since: datetime
    until: datetime
    looked: int
    made: int
    made_at: datetime
    ended_at: datetime | None
    number: int

    @property
    def state(self) -> ReplayState:
        """How far it is."""
        return REPLAY_STATES[self.number]


@dataclass(frozen=True, slots=True)
class Sending:
    """An attempt that was written down, and may be made. `kind`, `skipped` are its delivery's, `trace` its event's."""

    delivery: str
    n: int
    event_id: str
    kind: int
    skipped: int
    body: bytes
    started_at: datetime
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Attempts that begin together, and how to make them."""

    endpoint: Endpoint
    secrets: tuple[Secret, ...]
    sendings: tuple[Sending, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What an attempt came to. `made` False: it never was, since its endpoint or its lease was gone before.

    `ours`: its sender ended, which tells nothing of the endpoint.
    """

    delivery: str
    n: int
    state: AttemptState
    status: int | None = None
    why: str | None = None
    address: str | None = None
    request: str | None = None
    response: str | None = None
    response_body: bytes | None = None
    wait_seconds: float | None = None
    made: bool = True
    ours: bool = False

    @property
    def answered(self) -> Answered:
        """What it tells of the endpoint's health."""
        return Answered(self.state == "delivered", gone=self.status == 410, wait_seconds=self.wait_seconds)


@dataclass(frozen=True, slots=True)
class Move:
    """Where a delivery goes: its number of tries, and when it is tried again."""

    id: str
    number: int
    tries: int
    wait: float | None = None


def decide(delivery: Delivery, spec: Spec, result: Result) -> Move:
    """What becomes of a pending delivery once an attempt at it has ended."""
    if result.state == "delivered":
        return Move(delivery.id, DELIVERED, delivery.tries + 1)
    if not result.made:
        return Move(delivery.id, PENDING, delivery.tries, 0.0)
    tries = delivery.tries + 1
    wait = None if delivery.kind == PING else health.next_wait(spec.retry_seconds, tries, delivery.id)
    if wait is not None:
        return Move(delivery.id, PENDING, tries, wait)
    blocks = delivery.lane is not None and spec.blocks
    return Move(delivery.id, BLOCKED if blocks else EXHAUSTED, tries)
