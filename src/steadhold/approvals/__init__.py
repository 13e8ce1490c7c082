"""approvals: one outcome, bound to the exact artifact, and a grant that is used once."""

from __future__ import annotations

from steadhold.approvals.model import Approval, Artifact, Asked, By, Deed
from steadhold.approvals.outcomes import (
    AlreadyUsed,
    AlreadyVoted,
    ApprovalEnded,
    ArtifactMismatch,
    Moved,
    NotApprover,
    NotRequester,
    NotUsable,
    QuorumUnreachable,
    Verdict,
)
from steadhold.approvals.plans import (
    approvals,
    get,
    pass_time,
    request,
    require,
    revoke,
    use,
    verify,
    vote,
    withdraw,
)

CAPABILITIES = {"approval_hashes": ["sha256", "sha512"]}
"""What an artifact may be hashed by, as capabilities show it."""

__all__ = [
    "CAPABILITIES",
    "AlreadyUsed",
    "AlreadyVoted",
    "Approval",
    "ApprovalEnded",
    "Artifact",
    "ArtifactMismatch",
    "Asked",
    "By",
    "Deed",
    "Moved",
    "NotApprover",
    "NotRequester",
    "NotUsable",
    "QuorumUnreachable",
    "Verdict",
    "approvals",
    "get",
    "pass_time",
    "request",
    "require",
    "revoke",
    "use",
    "verify",
    "vote",
    "withdraw",
]
