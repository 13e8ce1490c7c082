"""commits: several rooms, all or nothing, guarded by fences and revisions."""

from __future__ import annotations

from steadhold.commits.holding import grant, job
from steadhold.commits.model import CommitOutcome, Committed, Refused, RepeatedName
from steadhold.commits.plans import run

__all__ = ["CommitOutcome", "Committed", "Refused", "RepeatedName", "grant", "job", "run"]
