"""commits: several rooms, all or nothing, guarded by fences and revisions."""

from __future__ import annotations

from steadhold.commits.holding import job
from steadhold.commits.model import CommitOutcome, Committed, Refused, RepeatedName
from steadhold.commits.plans import run

CAPABILITIES = {
    "commits": {
        "require": [
            "aggregates.get",
            "approvals.verify",
            "consumers.get",
            "context.get",
            "jobs.get",
            "locks.get",
            "state.get",
        ],
        "apply": [
            "approvals.use",
            "consumers.acknowledge",
            "context.put",
            "effects.plan",
            "events.append",
            "inboxes.append",
            "jobs.checkpoint",
            "jobs.settle",
            "jobs.submit",
            "locks.release",
            "state.delete",
            "state.put",
        ],
    }
}
"""What this version can require and apply, as capabilities show it."""

__all__ = ["CAPABILITIES", "CommitOutcome", "Committed", "Refused", "RepeatedName", "job", "run"]
