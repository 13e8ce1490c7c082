"""Which doors an agent is given as tools, and what each is called. A line here is all that makes one.

Never a tool, nor an op of one: what votes, makes or changes keys, makes or enables webhooks, opens a door to an inbox,
lifts a private prefix, or restores. That is for a person, or for an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `does` is the method and address of its door, `says` what an agent reads to choose it.

    `destroys`: what it ends or removes does not come back. `same`: the same arguments again have no further effect.
    `reading`: it changes nothing although it is no GET. `names` are arguments that are called otherwise than the door's
    parameters, `leave` are parameters that it does not take. `content`: the whole body is the argument `value` (`json`)
    or `text` (`bytes`). `keyed`: the door knows the operation's id although it keeps no receipt. `while_in`: it asks on
    while the state is one of these, as long as the call may wait. `rest` says how to read what was cut off an answer
    that cannot be asked for twice.
    """

    name: str
    does: str
    says: str
    destroys: bool = False
    same: bool = False
    reading: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    leave: tuple[str, ...] = ()
    content: Literal["json", "bytes"] | None = None
    keyed: bool = False
    while_in: tuple[str, ...] = ()
    rest: str = ""

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.reading or self.does.startswith("GET ")


_JOB: Final[Mapping[str, str]] = {"id": "job_id"}
_APPROVAL: Final[Mapping[str, str]] = {"id": "approval_id"}
_EFFECT: Final[Mapping[str, str]] = {"id": "effect_id"}
_AGGREGATE: Final[Mapping[str, str]] = {"id": "aggregate_id"}
_SCHEDULE: Final[Mapping[str, str]] = {"id": "schedule_id"}
_CONSUMER: Final[Mapping[str, str]] = {"name": "consumer"}
_WAITING: Final = ("wait_seconds", "if-none-match")
_OWN: Final = ("fence",)
"""It names its own grant, or needs none."""

TOOLS: Final = (
    Tool("whoami", "GET /v1/whoami", "Who this key is: workspace, subject, kind and scopes."),
    Tool("operation_get", "GET /v1/operations/{id}",
         "What became of an operation whose answer was lost, by its operation_id: committed with its result, "
         "abandoned, or not committed (yet).", names={"id": "operation_id"}),
    # --- state
    Tool("state_get", "GET /v1/state/{name}",
         "Read a JSON document and its revision. With unless_revision and wait_seconds: wait until it changes.",
         leave=("view", "limit", "cursor")),
    Tool("state_list", "GET /v1/state", "List the names of documents, with their revisions."),
    Tool("state_put", "PUT /v1/state/{name}",
         "Write a JSON document if it is still at the revision that you read; 0: if there is none. A conflict is "
         "`condition_false`: read again, and decide again.", content="json", same=True),
    Tool("state_delete", "DELETE /v1/state/{name}",
         "Delete a document if it is still at the revision that you read.", destroys=True, same=True),
    # --- context
    Tool("context_get", "GET /v1/context/{path}", "Read a file.",
         leave=("view", "limit", "cursor", "range", "if-range")),
    Tool("context_list", "GET /v1/context", "List files."),
    Tool("context_put", "PUT /v1/context/{path}",
         "Write a file of text if it is still at the revision that you read; 0: if there is none.",
         content="bytes", same=True, leave=("content-digest", "repr-digest")),
    # --- locks
    Tool("lock_get", "GET /v1/locks/{name}",
         "Whether somebody holds a lock. With wait_seconds: wait until that changes."),
    Tool("lock_acquire", "POST /v1/locks/{name}/acquire",
         "Take a lock for ttl_seconds. Keep the fence of the answer: name it under `fences` in each change that relies "
         "on the lock, so that the change is refused once the lock is lost. A lock undoes nothing.", leave=_OWN),
    Tool("lock_renew", "POST /v1/locks/{name}/renew", "Hold a lock longer.", same=True, leave=_OWN),
    Tool("lock_release", "POST /v1/locks/{name}/release", "Give a lock back.", same=True, leave=_OWN),
    # --- jobs
    Tool("job_submit", "POST /v1/jobs",
         "Have work done by whoever claims jobs of this type. With a unique_key, a second job like it finds the first.",
         leave=("trace",)),
    Tool("job_get", "GET /v1/jobs/{id}", "How a job stands.", names=_JOB, leave=_WAITING),
    Tool("job_wait", "GET /v1/jobs/{id}",
         "Wait until a job has ended, at most wait_seconds; if it has not by then, its state says so: wait again.",
         names=_JOB, leave=("if-none-match",), while_in=("accepted", "running", "waiting")),
    Tool("job_list", "GET /v1/jobs", "List jobs, by state, type, tag or unique key."),
    Tool("job_input", "GET /v1/jobs/{id}/input", "What a job was given.", names=_JOB),
    Tool("job_result", "GET /v1/jobs/{id}/result", "What a job came to.", names=_JOB),
    Tool("job_cancel", "POST /v1/jobs/{id}/cancel",
         "Ask a job to end. One that runs ends when its worker agrees; what it has done stays done.",
         names=_JOB, destroys=True, same=True, leave=_OWN),
    Tool("job_retry", "POST /v1/jobs/{id}/retry", "Make a new job of one that has ended.", names=_JOB, leave=_OWN),
    Tool("job_signal", "POST /v1/jobs/{id}/signal", "Tell a job something that it waits for.", names=_JOB, leave=_OWN),
    Tool("job_claim", "POST /v1/jobs:claim",
         "Take one job to do yourself. Keep its fence: heartbeat before the lease ends, then settle. Under "
         '`fences` as {"grant": "job:<job_id>", "fence": n}, a change is refused once the job is no longer yours.',
         leave=("fence", "limit"), rest="job_input reads the whole input."),
    Tool("job_heartbeat", "POST /v1/jobs/{id}/heartbeat",
         "Keep a job that you hold; the answer tells if it was asked to cancel.", names=_JOB, same=True, leave=_OWN),
    Tool("job_checkpoint", "PUT /v1/jobs/{id}/checkpoints/{stage}",
         "Commit the result of a stage of a job that you hold; it is committed once, whoever goes on with the job.",
         names=_JOB, same=True, leave=_OWN),
    Tool("job_settle", "POST /v1/jobs/{id}/settle",
         "Say what became of a job that you hold: completed, failed, cancelled, waiting, or given back.", names=_JOB,
         same=True, leave=_OWN),
    # --- inboxes
    Tool("inbox_list", "GET /v1/inboxes", "List inboxes."),
    Tool("inbox_consumer", "GET /v1/inboxes/{inbox}/consumers/{name}",
         "How far a consumer has come: its epoch and sequence are where it reads on.", names=_CONSUMER),
    Tool("inbox_read", "GET /v1/inboxes/{inbox}/events",
         "Read the events that follow a position (epoch and after). Reading acknowledges nothing. Gaps are told."),
    Tool("inbox_ack", "POST /v1/inboxes/{inbox}/consumers/{name}/acknowledge",
         "Say that a consumer has dealt with all events up to a sequence of an epoch.", names=_CONSUMER, same=True,
         leave=_OWN),
    Tool("inbox_append", "POST /v1/inboxes/{inbox}/events",
         "Append an event. The operation_id is its key: it is appended once under it.", keyed=True,
         leave=("query:type",)),
    # --- events
    Tool("event_list", "GET /v1/aggregates/{id}/events", "What happened to an aggregate, in order.", names=_AGGREGATE),
    Tool("event_append", "POST /v1/aggregates/{id}/events",
         "Say what happened to an aggregate: its new state and the events of that commit together.", names=_AGGREGATE),
    # --- effects
    Tool("effect_plan", "POST /v1/effects",
         "Announce an action outside, before you do it: you name effect_id, and the digest of exactly what you will "
         "ask for.", same=True),
    Tool("effect_initiate", "POST /v1/effects/{id}/initiate",
         "Begin a planned action. Act only if this says yes: who is refused must not act.", names=_EFFECT),
    Tool("effect_outcome", "POST /v1/effects/{id}/outcome",
         "Say what came of an action that was begun. If you do not know, say unknown: never act again on a guess.",
         names=_EFFECT),
    Tool("effect_reconcile", "POST /v1/effects/{id}/reconcile",
         "Say, by evidence, what came of an action whose outcome was unknown.", names=_EFFECT, leave=_OWN),
    Tool("effect_get", "GET /v1/effects/{id}", "How an effect stands.", names=_EFFECT),
    Tool("effect_list", "GET /v1/effects", "List effects, such as those that await reconciliation."),
    # --- approvals
    Tool("approval_request", "POST /v1/approvals",
         "Ask people to decide about exactly one artifact: its reference, version and hash. No tool can vote.",
         leave=_OWN),
    Tool("approval_status", "GET /v1/approvals/{id}", "How an approval stands.", names=_APPROVAL, leave=_WAITING),
    Tool("approval_wait", "GET /v1/approvals/{id}",
         "Wait until an approval is decided, at most wait_seconds; while its state is `pending`, wait again.",
         names=_APPROVAL, leave=("if-none-match",), while_in=("pending",)),
    Tool("approval_list", "GET /v1/approvals", "List approvals."),
    Tool("approval_verify", "POST /v1/approvals/{id}/verify",
         "Whether exactly this artifact may be acted on now. It uses nothing up.", names=_APPROVAL, reading=True,
         same=True, leave=_OWN),
    Tool("approval_use", "POST /v1/approvals/{id}/use",
         "Use an approval, once, for exactly the artifact that was approved, before you act. Act only if this says "
         "yes. The same use_id again is the same use.", names=_APPROVAL, same=True),
    Tool("approval_withdraw", "POST /v1/approvals/{id}/withdraw", "Take a question of yours back.", names=_APPROVAL,
         destroys=True, same=True, leave=_OWN),
    # --- schedules
    Tool("schedule_list", "GET /v1/schedules", "List schedules."),
    Tool("schedule_preview", "GET /v1/schedules/{id}/preview", "The instants at which a schedule is due next.",
         names=_SCHEDULE),
    Tool("schedule_trigger", "POST /v1/schedules/{id}/trigger", "Have a schedule run now.", names=_SCHEDULE,
         leave=_OWN),
    # --- together
    Tool("commit", "POST /v1/commits",
         "Several changes at once, all or none, under conditions; the guide `commits` lists its ops.", destroys=True),
)  # fmt: skip
"""All tools that are doors; `guide_read` is beside them."""
