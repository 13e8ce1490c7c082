"""How events find their way: subscriptions, publications, lanes, and what a target may say. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta

from steadhold.events.globs import matches, may_begin
from steadhold.events.model import Event
from steadhold.kit.ids import ID_PATTERN, NO_NUL, whole
from steadhold.kit.limits import ID_CHARS_MAX, PUBLICATION_ATTEMPTS_MAX, PUBLICATION_BACKOFF_SECONDS_MAX
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Plan, Refusal

State: TypeAlias = Literal["pending", "blocked", "parked", "published", "skipped"]
STATES: Final[tuple[State, ...]] = ("pending", "blocked", "parked", "published", "skipped")
JOBS: Final = "job:"
LANES: Final = 16
"""Lanes of a target: a lane belongs to one relay at a time, and a key to one lane for ever."""

PUBLICATION_MOVES: Final = {
    "pending": {"published", "blocked", "parked", "skipped"},
    "blocked": {"published", "pending", "parked", "skipped"},
    "parked": {"pending", "skipped"},
    "published": {"pending"},
    "skipped": {"pending"},
}
"""What becomes of a publication; what has ended begins again by a replay alone."""


Glob: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX, pattern=NO_NUL)]
Where: TypeAlias = Annotated[str, Meta(pattern=whole(f"(inbox|sink):{ID_PATTERN}"))]


@dataclass(frozen=True, slots=True)
class Spec:
    """Which events go where. `types` and `aggregates` are globs; `target` is `inbox:<name>` or `sink:<name>`."""

    types: tuple[Glob, ...]
    target: Where
    aggregates: tuple[Glob, ...] = ()
    ordered: bool = True


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription as it is kept."""

    id: str
    revision: int
    spec: Spec
    made_at: datetime
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Publication:
    """One event on its way to one subscription's target. `attempts` are those that failed."""

    id: str
    subscription: str
    target: str
    key: str
    attempts: int
    event: Event


@dataclass(frozen=True, slots=True)
class Told:
    """A publication as it is told to an operator."""

    id: str
    subscription: str
    target: str
    aggregate_id: str
    aggregate_revision: int
    state: State
    attempts: int
    next_at: datetime | None
    why: str | None
    made_at: datetime
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Taken:
    """The target has it; a duplicate is taken, too."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Not now. Asked again after `seconds`, or by the usual steps; parked when the attempts are used up."""

    why: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """Never: it is parked at once."""

    why: str


Answer: TypeAlias = Taken | Retry | Reject
Append: TypeAlias = Callable[[str, str, Sequence[Publication]], Plan[list[Answer]]]
"""A target that brings its own plan: workspace, name, what to append in order. Settled in the same transaction."""

Taker: TypeAlias = Callable[[str, Sequence[Event]], Plan[None]]
"""Who else is given what was matched, in the transaction that matches it."""


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a target's own plan stands that appends to it."""

    append: Append


def anywhere(_workspace: str, _name: str) -> bool:
    """Each target of this kind is known."""
    return True


@dataclass(frozen=True, slots=True)
class Outside:
    """Where a target is asked over the network. What it does not answer in `seconds` is asked again later.

    One that this process does not know (`knows`, of workspace and name) is left to others.
    """

    publish: Callable[[str, str, Sequence[Publication]], Awaitable[list[Answer]]]
    seconds: float = 10.0
    knows: Callable[[str, str], bool] = anywhere


Target: TypeAlias = Inside | Outside


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The subscription is so now; what commits after this has committed is published."""

    subscription: Subscription
    created: bool = False


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """The subscription is gone, and what was on its way to it is skipped."""

    revision: int


@dataclass(frozen=True, slots=True)
class WritersOpen(Refusal):
    """Transactions that write events have been open for too long to begin to watch them (409, try again)."""


@dataclass(frozen=True, slots=True)
class Settled(Refusal):
    """It is in a state in which there is nothing to retry or to skip (409)."""

    state: State


@dataclass(frozen=True, slots=True)
class Steered:
    """An operator's word was obeyed."""

    publication: Told


@dataclass(frozen=True, slots=True)
class Replayed:
    """So many events are published again, or for the first time. `after` is where to go on, None at the end."""

    events: int
    after: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionsFull(Refusal):
    """The workspace has all the subscriptions it may have (409)."""


@dataclass(frozen=True, slots=True)
class Ending(Refusal):
    """A subscription of this id was deleted, and what was on its way to it is still being skipped (409, try again)."""


@dataclass(frozen=True, slots=True)
class ReplayPruned(Refusal):
    """Some of what happened then is removed; all of it is there from `first_retained_at` on (410)."""

    first_retained_at: datetime


PutOutcome: TypeAlias = Subscribed | RevisionConflict | Missing | StaleFence | WritersOpen | SubscriptionsFull | Ending
DeleteOutcome: TypeAlias = Unsubscribed | RevisionConflict | Missing | StaleFence
SteerOutcome: TypeAlias = Steered | Settled | Missing


def wants(spec: Spec, event: Event) -> bool:
    """Whether an event goes to a subscription."""
    return matches(spec.types, event.type) and (not spec.aggregates or matches(spec.aggregates, event.aggregate_id))


def goes_to(found: Subscription, event: Event) -> bool:
    """Whether an event goes to this subscription, which is not told of its own making, change and end."""
    own = event.aggregate_id == f"subscription:{found.id}" and event.type.startswith("subscription.")
    return not own and wants(found.spec, event)


def said_of(spec: Spec) -> dict[str, Any]:
    """What an event tells of a subscription."""
    order = "aggregate" if spec.ordered else "none"
    return {"types": spec.types, "aggregates": spec.aggregates, "target": spec.target, "ordered_by": order}


def may_want(spec: Spec, *, jobs: bool) -> bool:
    """Whether a subscription can want events of jobs, or others: who wants neither misses none that were removed."""
    if not jobs:
        return not spec.aggregates or not all(glob.startswith(JOBS) for glob in spec.aggregates)
    of_jobs = not spec.aggregates or any(may_begin(glob, JOBS) for glob in spec.aggregates)
    return of_jobs and any(may_begin(glob, "job.") for glob in spec.types)


def key_of(spec: Spec, event: Event) -> str:
    """What an event keeps its order with."""
    return event.aggregate_id if spec.ordered else f"{event.aggregate_id}@{event.aggregate_revision}"


def lane_of(key: str) -> int:
    """The lane of a key: the same in every process."""
    return zlib.crc32(key.encode()) % LANES


def subject(target: str, lane: int) -> str:
    """The grant under which a lane is published."""
    return f"lane:{target}/{lane}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a publication that was not taken. `seconds` is None where it is parked."""

    id: str
    attempts: int
    seconds: float | None
    why: str


def verdict(publication: Publication, answer: Retry | Reject) -> Verdict:
    """Block it for a while, twice as long each time; or park it, when it was rejected or tried often enough."""
    attempts = publication.attempts + 1
    parked = isinstance(answer, Reject) or attempts >= PUBLICATION_ATTEMPTS_MAX
    usual = 2.0 ** min(attempts - 1, 12)
    seconds = None if isinstance(answer, Reject) or answer.seconds is None else max(answer.seconds, 0.0)
    wait = min(usual if seconds is None else seconds, PUBLICATION_BACKOFF_SECONDS_MAX)
    return Verdict(publication.id, attempts, None if parked else wait, answer.why)


def settled(batch: Sequence[Publication], answers: Sequence[Answer]) -> tuple[list[str], list[Verdict]]:
    """What was published, and what was not. Behind a key's first that was not taken, nothing of that key is either."""
    if len(batch) != len(answers):
        raise ValueError(f"a target answered {len(answers)} of {len(batch)} publications")
    taken: list[str] = []
    held: dict[str, Verdict] = {}
    for publication, answer in zip(batch, answers, strict=True):
        if publication.key in held:
            continue
        if isinstance(answer, Taken):
            taken.append(publication.id)
        else:
            held[publication.key] = verdict(publication, answer)
    return taken, [*held.values()]


def subscription(
    id: str, revision: int, types: list[str], target: str, aggregates: list[str], *rest: Any
) -> Subscription:
    """Make a subscription of its row."""
    ordered, made_at, changed_at = rest
    return Subscription(id, revision, Spec(tuple(types), target, tuple(aggregates), ordered), made_at, changed_at)
