"""What the verbs of approvals come to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from steadhold.approvals.model import Approval, Artifact, Reason, State
from steadhold.context import Unresolved
from steadhold.kit.outcome import Missing, RevisionConflict, StaleFence
from steadhold.kit.plan import Refusal


@dataclass(frozen=True, slots=True)
class Moved:
    """It took effect, now or (`repeated`) when it was said before; the approval as it stands."""

    approval: Approval
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an artifact may be acted on, and why."""

    approved: bool
    reason: Reason


@dataclass(frozen=True, slots=True)
class QuorumUnreachable(Refusal):
    """Fewer can approve than have to (422)."""

    quorum: int
    able: int


@dataclass(frozen=True, slots=True)
class HashMismatch(Refusal):
    """The bytes of the artifact have another hash, which is `hash`, or (None) another length (422)."""

    reference: str
    hash: str | None
    length: int


@dataclass(frozen=True, slots=True)
class NotApprover(Refusal):
    """This one does not decide (403); `why` is a sentence."""

    why: str


@dataclass(frozen=True, slots=True)
class NotRequester(Refusal):
    """Only who asked may withdraw (403)."""

    id: str


@dataclass(frozen=True, slots=True)
class ApprovalEnded(Refusal):
    """It has its outcome, for ever (409)."""

    id: str
    outcome: State


@dataclass(frozen=True, slots=True)
class AlreadyVoted(Refusal):
    """This subject voted, and otherwise (409)."""

    decision: str


@dataclass(frozen=True, slots=True)
class ArtifactMismatch(Refusal):
    """What was named is not what is decided about (409), which is `artifact`."""

    artifact: Artifact


@dataclass(frozen=True, slots=True)
class AlreadyUsed(Refusal):
    """Another use has it (409)."""

    id: str


@dataclass(frozen=True, slots=True)
class NotUsable(Refusal):
    """There is no grant, or none any more (409)."""

    id: str
    reason: str


VoteRefusal: TypeAlias = NotApprover | ApprovalEnded | ArtifactMismatch | AlreadyVoted
UseRefusal: TypeAlias = ArtifactMismatch | AlreadyUsed | NotUsable
Common: TypeAlias = StaleFence | Missing | RevisionConflict
RequestOutcome: TypeAlias = Moved | QuorumUnreachable | HashMismatch | Unresolved | StaleFence
VoteOutcome: TypeAlias = Moved | VoteRefusal | Common
WithdrawOutcome: TypeAlias = Moved | NotRequester | ApprovalEnded | Common
UseOutcome: TypeAlias = Moved | UseRefusal | Common
RequireOutcome: TypeAlias = Verdict | UseRefusal | Missing | RevisionConflict
RevokeOutcome: TypeAlias = Moved | NotApprover | AlreadyUsed | NotUsable | Common
Refused: TypeAlias = QuorumUnreachable | HashMismatch | Unresolved | NotRequester | VoteRefusal | UseRefusal | Common
