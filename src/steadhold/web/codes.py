"""Every code that a problem may carry. A code is for ever: programs branch on it; docs/errors.md explains it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Next: TypeAlias = Literal["resend", "reread", "wait", "stop"]
"""What a program does next.

- `resend`: send the same request again, under the same operation id;
- `reread`: read, decide again, send another request;
- `wait`: the same, later (`Retry-After` says when, or a change has to come first);
- `stop`: sending it again changes nothing; a person or another program has to act.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """What all problems of one code have in common."""

    status: int
    next: Next
    title: str


PROBLEMS: Final[dict[str, Kind]] = {
    # --- the request does not say what it must (400, 405, 408, 413 …) ---
    "bad_request": Kind(400, "stop", "The request is malformed"),
    "bad_json": Kind(400, "stop", "The body is not exact JSON"),
    "bad_member": Kind(400, "stop", "A member of the body is unknown, missing or of the wrong kind"),
    "bad_name": Kind(400, "stop", "The name breaks the rules of names"),
    "bad_header": Kind(400, "stop", "A header field is malformed"),
    "bad_query": Kind(400, "stop", "A query parameter is malformed"),
    "bad_cursor": Kind(400, "stop", "The cursor is not one that this list gave"),
    "unknown_parameter": Kind(400, "stop", "The query names a parameter that is not known here"),
    "unexpected_body": Kind(400, "stop", "This request takes no body"),
    "truncated_body": Kind(400, "resend", "The body ended early"),
    "key_required": Kind(400, "stop", "An operation id is missing"),
    "workspace_required": Kind(400, "stop", "An operator's key must name a workspace"),
    "method_not_allowed": Kind(405, "stop", "The resource does not know this method"),
    "request_timeout": Kind(408, "resend", "The request took too long to arrive"),
    "too_large": Kind(413, "stop", "The body is larger than allowed"),
    "uri_too_long": Kind(414, "stop", "The address is longer than allowed"),
    "unsupported_media_type": Kind(415, "stop", "The body's type is not one that is taken here"),
    "unsupported_coding": Kind(415, "stop", "Bodies are taken without content coding"),
    "range_not_satisfiable": Kind(416, "stop", "The range holds no byte of it"),
    "misdirected_request": Kind(421, "stop", "This server does not answer for this host"),
    "headers_too_large": Kind(431, "stop", "The header fields are larger than allowed"),
    "digest_mismatch": Kind(400, "stop", "The bytes are not those that were declared"),
    "bad_archive": Kind(400, "stop", "The body is no archive that can be read"),
    "not_a_file": Kind(422, "stop", "The entry is no regular file"),
    # --- who asks ---
    "no_valid_key": Kind(401, "stop", "No valid key"),
    "missing_scope": Kind(403, "stop", "The key lacks the scope"),
    "foreign_origin": Kind(403, "stop", "A page of another site may not ask this"),
    "foreign_form": Kind(403, "stop", "The form was not made for this session"),
    "login_not_fresh": Kind(403, "stop", "This needs a login of the last minutes"),
    "not_entitled": Kind(403, "stop", "The workspace is not entitled to this"),
    "exceeds_maker": Kind(403, "stop", "The key would be more than the key that makes it"),
    "key_ended": Kind(409, "stop", "The key is revoked or has expired"),
    "workspace_exists": Kind(409, "stop", "There is a workspace of this name"),
    "bad_scope": Kind(422, "stop", "A key cannot have this scope"),
    # --- what is there ---
    "not_found": Kind(404, "stop", "Not found"),
    "revision_pruned": Kind(410, "reread", "This revision is not kept any more"),
    # --- conditions and ownership ---
    "stale_fence": Kind(409, "stop", "The grant is not current"),
    "condition_false": Kind(412, "reread", "The condition is false"),
    "condition_required": Kind(428, "reread", "A condition is needed"),
    "condition_inexact": Kind(428, "reread", "The condition must name one revision"),
    "unknown_reference": Kind(422, "stop", "There are no bytes of this reference"),
    "path_taken": Kind(409, "reread", "There is a file at the path"),
    "upload_lapsed": Kind(409, "resend", "The upload was given up"),
    # --- operations ---
    "operation_not_committed": Kind(404, "wait", "The operation has not committed"),
    "operation_in_flight": Kind(409, "wait", "The operation is still in flight"),
    "operation_abandoned": Kind(409, "stop", "The operation was abandoned"),
    "operation_expired": Kind(410, "stop", "The operation's id is older than receipts are kept"),
    "operation_mismatch": Kind(422, "stop", "The operation's id was used for another request"),
    "operation_clock": Kind(422, "stop", "The operation's id lies in the future"),
    # --- events ---
    "reserved_id": Kind(422, "stop", "The aggregate belongs to the house"),
    "event_taken": Kind(409, "stop", "Another event has this id"),
    "transition_conflict": Kind(409, "reread", "The aggregate is in another state"),
    "transition_not_permitted": Kind(409, "stop", "No such transition is permitted"),
    "events_pruned": Kind(410, "reread", "Events so early are not kept any more"),
    "writers_open": Kind(409, "wait", "Events are being written"),
    "subscription_ending": Kind(409, "wait", "What the deleted subscription had under way is being skipped"),
    "subscriptions_full": Kind(409, "stop", "The workspace has all its subscriptions"),
    "publication_settled": Kind(409, "stop", "The publication is in a state that leaves nothing to do"),
    # --- locks ---
    "lock_held": Kind(409, "wait", "Somebody holds the lock"),
    "lock_lost": Kind(409, "stop", "The lock is lost"),
    # --- jobs ---
    "key_conflict": Kind(409, "stop", "Another job holds this unique key"),
    "invalid_input": Kind(422, "stop", "The input does not fit the type's schema"),
    "checkpoint_conflict": Kind(409, "reread", "The stage was committed with other content"),
    "cancel_requested": Kind(409, "reread", "The job was asked to cancel, so it may not wait"),
    "job_ended": Kind(409, "stop", "The job has ended"),
    "job_not_ended": Kind(409, "wait", "The job has not ended"),
    "stale_evidence": Kind(422, "stop", "The evidence is older than the job allows"),
    "evidence_required": Kind(422, "stop", "The job needs the time of its oldest evidence"),
    "signals_full": Kind(409, "wait", "The job keeps as many signals as it may"),
    "count_changed": Kind(409, "reread", "There are not as many of them as was expected"),
    "cancel_not_requested": Kind(409, "reread", "Nobody asked to cancel the job"),
    "unknown_subject": Kind(422, "stop", "There is nothing of this name to wait for"),
    "stages_full": Kind(422, "stop", "The job has as many checkpoints as it may"),
    "filter_too_wide": Kind(422, "stop", "The filter matches more jobs than one request takes"),
    "wait_unknown": Kind(422, "stop", "This version cannot wait for that"),
    "until_required": Kind(422, "stop", "The wait needs an end"),
    "bad_schema": Kind(422, "stop", "The schema is not a JSON Schema"),
    "reserved_key": Kind(422, "stop", "The key is reserved"),
    "two_sources": Kind(422, "stop", "Say a value or a reference to it, not both"),
    # --- approvals ---
    "not_approver": Kind(403, "stop", "This one does not decide"),
    "not_requester": Kind(403, "stop", "Only who asked may do this"),
    "approval_ended": Kind(409, "stop", "The approval has its outcome"),
    "already_voted": Kind(409, "stop", "This subject has voted"),
    "artifact_mismatch": Kind(409, "reread", "This is not the artifact that is decided about"),
    "already_used": Kind(409, "stop", "The approval was used"),
    "not_usable": Kind(409, "stop", "The approval cannot be used"),
    "hash_mismatch": Kind(422, "stop", "The artifact's bytes have another hash"),
    "quorum_unreachable": Kind(422, "stop", "Fewer can approve than have to"),
    # --- effects ---
    "effect_conflict": Kind(409, "stop", "Another effect has this id"),
    "already_initiated": Kind(409, "reread", "The action was begun before"),
    "not_needed": Kind(409, "reread", "There is nothing to reconcile"),
    "evidence_conflict": Kind(409, "stop", "Another fact was taken under this identity"),
    "entry_conflict": Kind(409, "stop", "Another charge is kept under this id"),
    # --- inboxes ---
    "epoch_required": Kind(400, "reread", "A position is an epoch and a number"),
    "inbox_restored": Kind(409, "reread", "The inbox was restored: positions of its old epoch have ended"),
    "gap_not_accepted": Kind(409, "reread", "Events in between were removed"),
    "consumer_leased": Kind(409, "wait", "Somebody has the consumer alone"),
    "doors_full": Kind(409, "stop", "The inbox has all its doors"),
    "signature_refused": Kind(401, "stop", "Nobody who knows the secret has signed this"),
    "id_missing": Kind(422, "stop", "What was sent has no id"),
    "too_many_hops": Kind(422, "stop", "What was sent goes in a circle"),
    "beyond_head": Kind(422, "reread", "No event has this number yet"),
    # --- schedules ---
    "bad_cron": Kind(400, "stop", "The cron expression is not one of this dialect"),
    "bad_time_zone": Kind(422, "stop", "The time zone is missing or unknown"),
    "bad_schedule": Kind(422, "stop", "The schedule contradicts itself"),
    "target_unknown": Kind(422, "stop", "The target is not known"),
    "never_due": Kind(422, "stop", "No instant of the schedule is still to come"),
    "backfill_too_large": Kind(422, "stop", "The span has more instants than one backfill takes"),
    "runs_pruned": Kind(410, "stop", "What became of instants so early is not kept any more"),
    # --- webhooks ---
    "bad_url": Kind(422, "stop", "A webhook cannot go there"),
    "bad_webhook_header": Kind(422, "stop", "A webhook cannot have this header field"),
    "webhook_disabled": Kind(409, "stop", "The webhook is disabled"),
    "too_many_secrets": Kind(409, "wait", "Two secrets that were rotated out still sign"),
    "delivery_ended": Kind(409, "stop", "The delivery has ended"),
    "replay_ended": Kind(409, "stop", "The replay is over"),
    "deliveries_pruned": Kind(410, "stop", "What is so old is not kept any more"),
    "no_sealing_key": Kind(409, "stop", "This server has no key to seal secrets with"),
    # --- commits ---
    "unknown_op": Kind(422, "stop", "This version does not know the op"),
    "repeated_name": Kind(422, "stop", "Two items are about the same thing"),
    # --- how much ---
    "queue_full": Kind(429, "wait", "The queue is as deep as it may be"),
    "too_many_requests": Kind(429, "wait", "Too many requests"),
    "too_many_streams": Kind(429, "wait", "Too many streams"),
    "plaintext_present": Kind(409, "stop", "What can be read lies under the prefix"),
    "plaintext_refused": Kind(422, "stop", "Only envelopes are stored under a private prefix"),
    "envelope_mismatch": Kind(422, "reread", "The envelope is bound to another place or revision"),
    "rewrap_needed": Kind(422, "stop", "What is sealed is bound to its name and revision"),
    "not_private": Kind(422, "stop", "No private prefix covers the name"),
    "storage_exhausted": Kind(507, "stop", "The workspace's storage is exhausted"),
    # --- trouble here ---
    "internal": Kind(500, "reread", "Something unforeseen went wrong here"),
    "unavailable": Kind(503, "resend", "Not available now; nothing was changed"),
    "busy": Kind(503, "resend", "What this needs is held by another transaction; nothing was changed"),
    "outcome_unknown": Kind(503, "resend", "Nobody knows yet whether this took effect"),
}
