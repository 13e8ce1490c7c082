"""What can go wrong, as exceptions. A `Problem` carries what the server said; codes to act on have a class."""

from __future__ import annotations

from steadhold.sdk.problem import (
    BadAnswer,
    OutcomeUnknown,
    Problem,
    Said,
    SteadholdError,
    Unreachable,
    problem_of,
)

__all__ = [
    "BadAnswer",
    "BeyondHead",
    "CancelRequested",
    "CheckpointConflict",
    "ConsumerLeased",
    "CountChanged",
    "EnvelopeMismatch",
    "EvidenceFault",
    "GapNotAccepted",
    "InboxRestored",
    "InvalidInput",
    "JobEnded",
    "JobNotEnded",
    "KeyConflict",
    "LockHeld",
    "LockLost",
    "MissingScope",
    "NoValidKey",
    "NotEntitled",
    "NotFound",
    "OperationAbandoned",
    "OperationClock",
    "OperationExpired",
    "OperationInFlight",
    "OperationMismatch",
    "OperationNotCommitted",
    "OutcomeUnknown",
    "PlaintextPresent",
    "PlaintextRefused",
    "Problem",
    "QueueFull",
    "RevisionConflict",
    "RevisionPruned",
    "Said",
    "StaleFence",
    "SteadholdError",
    "StorageExhausted",
    "TooManyRequests",
    "Unavailable",
    "Unreachable",
    "problem_of",
]


class RevisionConflict(Problem, codes=("condition_false",)):
    """Somebody else wrote first, or there is nothing to replace. Read, decide and write again."""

    @property
    def current_revision(self) -> int | None:
        """The revision now; None: there is none."""
        return self.whole("current_revision")


class NotFound(Problem, codes=("not_found",)):
    """There is nothing of this name that this key may see."""

    @property
    def last_revision(self) -> int | None:
        """The revision it had when it was deleted, if it ever was there."""
        return self.whole("last_revision")


class StaleFence(Problem, codes=("stale_fence",)):
    """A grant that the write relies on is not current: whoever sent this has been replaced, and must stop."""

    @property
    def subject(self) -> str | None:
        """The grant, as in "job:<id>" or "lock:deploy"."""
        return self.extras.get("subject")


class RevisionPruned(Problem, codes=("revision_pruned",)):
    """The revision existed, and is not kept any more."""

    @property
    def oldest_revision(self) -> int | None:
        """The oldest one that is kept."""
        return self.whole("oldest_revision")


class QueueFull(Problem, codes=("queue_full",)):
    """As many jobs are queued as the workspace may have. `retry_after` are seconds."""

    @property
    def depth(self) -> int | None:
        """How many are queued."""
        return self.whole("depth")


class InvalidInput(Problem, codes=("invalid_input",)):
    """The input does not fit the schema of its job type; `extras` says where."""


class CountChanged(Problem, codes=("count_changed",)):
    """There are not as many jobs, or parked publications, as was expected."""

    @property
    def count(self) -> int | None:
        """How many there are now."""
        return self.whole("count")


class NoValidKey(Problem, codes=("no_valid_key",)):
    """The key is missing, wrong, revoked or has expired."""


class MissingScope(Problem, codes=("missing_scope",)):
    """The key lacks a scope."""


class NotEntitled(Problem, codes=("not_entitled",)):
    """The workspace may not do this."""


class PlaintextPresent(Problem, codes=("plaintext_present",)):
    """What can be read lies under a prefix that was to be private."""

    @property
    def names(self) -> tuple[str, ...]:
        """The first names that stand in the way."""
        return tuple(self.extras.get("names", ()))


class PlaintextRefused(Problem, codes=("plaintext_refused", "not_private")):
    """Under a private prefix lie envelopes alone, and nowhere else do they."""


class EnvelopeMismatch(Problem, codes=("envelope_mismatch",)):
    """The envelope is bound to another place or revision than the write would make."""

    @property
    def next_revision(self) -> int | None:
        """The revision that the write would make."""
        return self.whole("next_revision")


class StorageExhausted(Problem, codes=("storage_exhausted",)):
    """The workspace's names or bytes are used up."""


class TooManyRequests(Problem, codes=("too_many_requests",)):
    """More requests than the workspace may send. `retry_after` are seconds."""


class Unavailable(Problem, codes=("unavailable", "busy")):
    """The server cannot do it now; nothing was changed."""


class KeyConflict(Problem, codes=("key_conflict",)):
    """A live job holds the `unique_key`, and was given something else."""


class JobEnded(Problem, codes=("job_ended",)):
    """The job has ended, otherwise."""


class JobNotEnded(Problem, codes=("job_not_ended",)):
    """Only a job that has ended can be retried."""


class LockHeld(Problem, codes=("lock_held",)):
    """Somebody holds the lock; or it goes to whoever waits for it first. `retry_after` are seconds."""

    @property
    def holder(self) -> str | None:
        """Who holds it; None: nobody yet."""
        return self.extras.get("holder")


class LockLost(Problem, codes=("lock_lost",)):
    """The lock is held no more: it was released, or its time is over. Stop what relies on it."""


class CheckpointConflict(Problem, codes=("checkpoint_conflict",)):
    """The stage has a checkpoint with other content, which stays."""


class CancelRequested(Problem, codes=("cancel_requested",)):
    """Somebody asked to cancel the job: it may not begin to wait."""


class InboxRestored(Problem, codes=("inbox_restored",)):
    """The position is of an epoch that has ended: read your consumer, and go on from there."""

    @property
    def epoch(self) -> str | None:
        """The epoch of now."""
        return self.extras.get("epoch")


class GapNotAccepted(Problem, codes=("gap_not_accepted",)):
    """Events in between were removed before they were acknowledged."""

    @property
    def range(self) -> tuple[int, int]:
        """The first and the last of them."""
        return self.extras.get("from", 0), self.extras.get("to", 0)


class BeyondHead(Problem, codes=("beyond_head",)):
    """No event has this number yet."""


class ConsumerLeased(Problem, codes=("consumer_leased",)):
    """Another has the consumer alone. `retry_after` are seconds."""


class EvidenceFault(Problem, codes=("evidence_required", "stale_evidence")):
    """The job says how old its evidence may be, and the result's is older, or its age was not told."""


class OperationNotCommitted(Problem, codes=("operation_not_committed",)):
    """Nothing has committed under this operation id; it may still be in flight, unless it is abandoned."""


class OperationInFlight(Problem, codes=("operation_in_flight",)):
    """Another request under this operation id has not ended."""


class OperationAbandoned(Problem, codes=("operation_abandoned",)):
    """The operation was abandoned, so it never takes effect."""


class OperationMismatch(Problem, codes=("operation_mismatch",)):
    """The operation id was used for another request."""


class OperationExpired(Problem, codes=("operation_expired",)):
    """The operation id is older than receipts are kept: read what it would have changed."""


class OperationClock(Problem, codes=("operation_clock",)):
    """The operation id lies in the future: set this machine's clock."""
