"""access: keys, what they may do, and how much a workspace may hold. Everything here is pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from msgspec import Meta

from steadhold.access.scopes import Kind, scope_fault, scope_of
from steadhold.kit import limits
from steadhold.kit.plan import Refusal
from steadhold.kit.rules import Rule

HOUSE: Final = "~house"
"""Where operators' keys are kept. It is no workspace: no name of one may begin with a tilde."""

State: TypeAlias = Literal["active", "revoked", "expired"]

MOVES: Final[dict[State, set[State]]] = {"active": {"revoked", "expired"}, "revoked": set(), "expired": set()}

KINDS: Final[tuple[Kind, ...]] = ("service", "person", "operator")
"""Each may do what the ones before it may, and make keys of their kind, save that only a person votes."""

_WORKSPACE: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def workspace_fault(name: str) -> str | None:
    """Why no workspace can have this name, as a sentence; None when one can."""
    if _WORKSPACE.fullmatch(name):
        return None
    return "A workspace's name has 1 to 63 characters of a-z, 0-9 and -, and does not begin with -."


def _scope_fault(text: str) -> str | None:
    """Why no key of any kind can have this scope."""
    faults = [scope_fault(text, kind) for kind in KINDS]
    return faults[0] if all(faults) else None


Count: TypeAlias = Annotated[int, Meta(ge=0, le=limits.FENCE_NUMBER_MAX)]
JobTypes: TypeAlias = Annotated[tuple[str, ...], Meta(max_length=limits.JOB_TYPES_ENTITLED_MAX)]
PerSecond: TypeAlias = Annotated[int, Meta(ge=1, le=limits.RATE_PER_SECOND_MAX)]
RevisionsKept: TypeAlias = Annotated[int, Meta(ge=1, le=limits.REVISIONS_KEPT_MAX)]
Scopes: TypeAlias = Annotated[Sequence[Annotated[str, Rule(_scope_fault)]], Meta(max_length=limits.KEY_SCOPES_MAX)]
Lifetime: TypeAlias = Annotated[float, Meta(gt=0, le=limits.KEY_SECONDS_MAX)]
Grace: TypeAlias = Annotated[float, Meta(ge=0, le=limits.ROTATION_GRACE_SECONDS_MAX)]


# --- keys -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something that is recorded: `key_id` is None for whoever sits at the database itself."""

    subject: str
    key_id: str | None
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """What is known of a key, which is everything but its secret. Times are the database's."""

    key_id: str
    revision: int
    env: str
    subject: str
    kind: Kind
    scopes: tuple[str, ...]
    state: State
    made_by: str | None
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    old_secret_until: datetime | None

    @classmethod
    def read(cls, key_id: str, revision: int, env: str, subject: str, kind: Kind, scopes: list[str], *rest: Any) -> Key:
        """Make one of a row, whose scopes are an array."""
        return cls(key_id, revision, env, subject, kind, tuple(scopes), *rest)


@dataclass(frozen=True, slots=True)
class Made:
    """What was done to a key of this workspace, and how it stands now. Its secret is with whoever made that."""

    workspace: str
    key: Key


@dataclass(frozen=True, slots=True)
class Found:
    """A key as whoever tests a request needs it. Seconds count from now by the database's clock."""

    workspace: str
    key: Key
    alive: bool
    hash: bytes = field(repr=False)
    old_hash: bytes | None = field(repr=False)
    ends_in: float | None
    old_ends_in: float | None
    unused_seconds: float | None
    requests_per_second_max: int | None

    @classmethod
    def read(cls, workspace: str, *row: Any) -> Found:
        """Make one of a row: eight columns of its own, then the key's."""
        return cls(workspace, Key.read(*row[7:]), *row[:7])


@dataclass(frozen=True, slots=True)
class Exceeds(Refusal):
    """A key may not be more than the one that makes it: `what` says in which of scopes, kind and expiry it would."""

    what: str
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyEnded(Refusal):
    """The key is revoked or has expired, for good."""

    key_id: str


@dataclass(frozen=True, slots=True)
class Taken(Refusal):
    """The name of a workspace, or the id of a key, is another one's."""

    name: str


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace in the list of all."""

    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Audited:
    """A row of the audit. `number` parts rows of one moment."""

    at: datetime
    number: int
    subject: str
    key_id: str | None
    kind: str
    resource: str
    operation_id: str | None


def exceeds(maker: Found, kind: Kind, scopes: Sequence[str], expires_in: float | None) -> Exceeds | None:
    """Say in what a wanted key would be more than its maker; without an expiry it takes its maker's."""
    if KINDS.index(kind) > KINDS.index(maker.key.kind):
        return Exceeds("kind")
    held = [scope_of(text) for text in maker.key.scopes]
    beyond = tuple(text for text in scopes if not any(scope.covers(scope_of(text)) for scope in held))
    if beyond:
        return Exceeds("scopes", beyond)
    if expires_in is not None and maker.ends_in is not None and expires_in > maker.ends_in:
        return Exceeds("expiry")
    return None


# --- entitlements -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entitlements:
    """How much of everything a workspace may have; None is no limit, as is having no entitlements at all.

    Names and bytes count what `state` and `context` hold now, older revisions left out; of those `revisions_kept`
    of a name stay readable, the current one among them.
    """

    job_types: JobTypes | None = None
    jobs_queued_max: Count | None = None
    jobs_running_max: Count | None = None
    requests_per_second_max: PerSecond | None = None
    names_max: Count | None = None
    bytes_max: Count | None = None
    endpoints_max: Count | None = None
    revisions_kept: RevisionsKept = limits.REVISIONS_KEPT_DEFAULT

    @property
    def columns(self) -> dict[str, Any]:
        """Its members by name, as a row holds them."""
        found = {name: getattr(self, name) for name in Entitlements.__slots__}
        return found | {"job_types": None if self.job_types is None else list(self.job_types)}


UNLIMITED: Final = Entitlements()


@dataclass(frozen=True, slots=True)
class Entitled:
    """A workspace's entitlements; revision 0 says that none were ever set. `used` has what is counted now."""

    revision: int
    limits: Entitlements
    used: Mapping[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def read(cls, revision: int, job_types: list[str] | None, *rest: Any) -> Entitled:
        """Make one of a row, whose job types are an array."""
        return cls(revision, Entitlements(None if job_types is None else tuple(job_types), *rest))


@dataclass(frozen=True, slots=True)
class NotEntitled(Refusal):
    """The workspace may not have `what` at all: 403."""

    what: str

    code: ClassVar = "not_entitled"
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()

    @property
    def detail(self) -> str:
        return f"This workspace is not entitled to {self.what}; an operator may change that."

    @property
    def extras(self) -> Mapping[str, Any]:
        return {"what": self.what}


@dataclass(frozen=True, slots=True)
class QueueFull(Refusal):
    """As many jobs wait as may: 429. It passes when some have been taken."""

    depth: int
    max: int

    code: ClassVar = "queue_full"
    headers: ClassVar = (("retry-after", "5"),)

    @property
    def detail(self) -> str:
        return f"{self.depth} jobs are queued and the workspace may have {self.max}; send it again later."

    @property
    def extras(self) -> Mapping[str, Any]:
        return {"depth": self.depth, "max": self.max}


@dataclass(frozen=True, slots=True)
class StorageExhausted(Refusal):
    """The workspace would hold more than it may: 507. `what` is names, bytes or endpoints."""

    what: str
    used: int
    max: int

    code: ClassVar = "storage_exhausted"
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()

    @property
    def detail(self) -> str:
        return f"The workspace has {self.used} of {self.max} {self.what}; delete some, or ask an operator for more."

    @property
    def extras(self) -> Mapping[str, Any]:
        return {"what": self.what, "used": self.used, "max": self.max}
