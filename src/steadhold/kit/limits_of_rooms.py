"""The limits of what the rooms keep, room by room. `steadhold.kit.limits` has them all, and is where they are read."""

from __future__ import annotations

from typing import Final

# --- state ------------------------------------------------------------------------------------

STATE_BYTES_MAX: Final = 1024 * 1024
"""One state document as it was sent. More is 413."""

REVISIONS_KEPT_DEFAULT: Final = 10
"""Revisions of one state name that stay readable: the default of the column of that name in ``workspaces``."""

REVISIONS_KEPT_MAX: Final = 1_000
"""``revisions_kept`` of a workspace's entitlements."""

# --- context ----------------------------------------------------------------------------------

CONTEXT_BYTES_MAX: Final = 256 * 1024 * 1024
"""One file. More is 413."""

CONTEXT_CHUNK_BYTES: Final = 256 * 1024
"""How bytes are stored, and how a file beyond ``CONTEXT_WHOLE_BYTES_MAX`` comes and goes: so many at once."""

CONTEXT_WHOLE_BYTES_MAX: Final = 1024 * 1024
"""A file up to here is written in one transaction, and read in one."""

CONTEXT_INLINE_BYTES_MAX: Final = 64 * 1024
"""Bytes of a file that stand in a commit; more are referred to."""

UPLOAD_LEASE_SECONDS: Final = 60
"""How long an upload that nothing comes of keeps its part of the quota."""

MEDIA_TYPE_CHARS_MAX: Final = 255
"""``Content-Type`` of a file."""

IMPORT_BYTES_MAX: Final = 4 * 1024 * 1024 * 1024
"""An archive of one import."""

IMPORT_FILES_MAX: Final = 10_000
"""Entries of an archive that is imported."""

IMPORT_HEADER_BYTES_MAX: Final = 16 * 1024
"""The header of one entry of an archive, with its records."""

# --- events -----------------------------------------------------------------------------------

EVENT_DATA_BYTES_MAX: Final = 64 * 1024
"""Inline ``data`` of one event; what is larger is referred to (``data_ref``)."""

EVENTS_MAX: Final = 100
"""Events of one append."""

CAUSES_MAX: Final = 100
"""How far ``causes`` follows an event back."""

EVENTS_PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Data of one page of an aggregate's events: it ends with the event that reaches this."""

TRANSITIONS_MAX: Final = 1_000
"""Edges, and states, of one aggregate type."""

SUBSCRIPTIONS_MAX: Final = 1_000
"""Subscriptions of a workspace."""

SUBSCRIPTION_GLOBS_MAX: Final = 100
"""Globs of types, and of aggregates, of one subscription."""

REPLAY_EVENTS_MAX: Final = 10_000
"""Events that one request to replay looks at."""

PUBLICATION_ATTEMPTS_MAX: Final = 20
"""A publication that failed so often is parked."""

PUBLICATION_BACKOFF_SECONDS_MAX: Final = 3_600
"""How long a blocked publication waits at most for its next attempt."""

# --- inboxes ----------------------------------------------------------------------------------

INBOX_EVENT_BYTES_MAX: Final = 1024 * 1024
"""The data of one event of an inbox. More is 413."""

INBOX_BATCH_ITEMS_MAX: Final = 1_000
"""Lines of one batch of events for an inbox."""

INBOX_PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Data of one page of an inbox: it ends with the event that reaches this."""

INBOX_AGE_SECONDS_DEFAULT: Final = 30 * 86_400
"""``max_age_seconds`` of an inbox that does not say one."""

INBOX_PURGE_ITEMS_MAX: Final = 500
"""Events that retention removes at once, for as long as it holds the inbox."""

INBOX_DOORS_MAX: Final = 100
"""Doors of one inbox, at which third parties' webhooks come in."""

DOOR_DRIFT_SECONDS_MAX: Final = 300
"""How far the time that a webhook signs may lie from the clock, either way."""

DOOR_HOPS_MAX: Final = 8

PUBLICATIONS_RETRIED_MAX: Final = 1_000

DOOR_REFUSALS_PER_SECOND_MAX: Final = 10
"""``x-steadhold-hops`` of what comes in at a door: what has come through more goes in a circle."""

# --- locks ------------------------------------------------------------------------------------

LOCK_TICKET_SECONDS_MAX: Final = 5
"""How long a place in line is kept after its request ended."""

LOCK_SILENCE_SECONDS_MAX: Final = 2
"""How long a waiter whose server says nothing any more holds up those behind it."""

LOCK_KEY_SECONDS_MAX: Final = 86_400
"""How long an operation that took a lock is known: as long as clients may repeat a request."""

# --- approvals --------------------------------------------------------------------------------

APPROVERS_MAX: Final = 100
"""Approvers that one approval names, and its ``quorum``."""

# --- jobs -------------------------------------------------------------------------------------

JOB_INPUT_BYTES_MAX: Final = 256 * 1024
"""A job's inline ``input``; what is larger is referred to (``input_ref``)."""

JOB_RESULT_BYTES_MAX: Final = 256 * 1024
"""An inline result of a job or of one of its stages."""

JOB_INPUTS_MAX: Final = 64
"""References that one job pins."""

JOB_TAGS_MAX: Final = 16
"""Tags of one job; each is an Id."""

JOB_SCHEMA_BYTES_MAX: Final = 64 * 1024
"""The input schema of a job type."""

INPUT_FAULTS_MAX: Final = 10
"""Faults of one input that its refusal tells."""

JOBS_AT_ONCE_MAX: Final = 1_000_000
"""``type_max`` and ``key_max`` of a job type."""

PRIORITY_MAX: Final = 9
"""The least urgent priority; 0 goes first."""

CLAIM_ITEMS_MAX: Final = 100
"""Jobs of one claim."""

CLAIM_TYPES_MAX: Final = 100
"""Job types that one claim names."""

CLAIM_KEY_SECONDS_MAX: Final = 7 * 86_400
"""How long a claim that was made under a key is known by it."""

LEASE_SECONDS_MIN: Final = 1
"""The shortest lease that may be asked for."""

LEASE_SECONDS_MAX: Final = 3_600
"""The longest lease of a grant; work that takes longer renews it."""

RUN_SECONDS_MAX: Final = 30 * 86_400
"""``timeout_seconds`` of one attempt."""

DELAY_SECONDS_MAX: Final = 366 * 86_400
"""How far ahead ``run_at``, a deadline, a snooze, ``until`` or a timer may lie."""

ATTEMPTS_MAX: Final = 1_000
"""``attempts_max`` of a job type."""

LAPSES_MAX: Final = 3
"""Leases lapsing in a row without a new checkpoint, after which a job is poison."""

STAGES_MAX: Final = 10_000
"""Checkpoints of one job."""

STAGES_PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Results of one page of a job's stages: it ends with the stage that reaches this."""

SIGNALS_MAX: Final = 100
"""Signals that one job keeps until they are taken."""

SIGNAL_DATA_BYTES_MAX: Final = 16 * 1024
"""``data`` of one signal."""

PROGRESS_BYTES_MAX: Final = 4 * 1024
"""``progress`` of a heartbeat."""

TEXT_CHARS_MAX: Final = 2_000
"""A sentence for people: an error's message, a reason for a cancellation."""

# --- schedules --------------------------------------------------------------------------------

CRON_CHARS_MAX: Final = 1_000
"""``cron`` of a schedule."""

CRON_SEARCH_YEARS_MAX: Final = 50
"""How far the next instant of a ``cron`` is sought: an expression that matches no date has none."""

SCHEDULE_LATE_SECONDS_MAX: Final = 60
"""How late an instant may be recorded and still be on time; later, it was missed."""

MISSED_RUNS_MAX: Final = 100
"""``missed.max_runs`` of a schedule: missed instants that run once it is noticed."""

SCHEDULE_EVENT_BYTES_MAX: Final = 48 * 1024
"""``data`` of the event that a schedule sends; what is said of the run stands beside it."""

SCHEDULE_SECONDS_MAX: Final = 366 * 86_400
"""``every_seconds``, ``missed.window_seconds`` and ``freshness_seconds`` of a schedule."""

JITTER_SECONDS_MAX: Final = 86_400
"""``jitter_seconds`` of a schedule."""

PREVIEW_ITEMS_MAX: Final = 100
"""``count`` of a preview."""

BACKFILL_INSTANTS_MAX: Final = 500
"""Instants of one backfill."""

# --- webhooks ---------------------------------------------------------------------------------

WEBHOOK_TYPES_MAX: Final = 100
"""Globs in ``types`` of a webhook."""

WEBHOOK_TRIES_MAX: Final = 50
"""Waits in ``retry_seconds`` of a webhook, and with it the tries of one delivery."""

WEBHOOK_WAIT_SECONDS_MAX: Final = 7 * 86_400
"""One wait in ``retry_seconds`` of a webhook."""

# --- commits ----------------------------------------------------------------------------------

COMMIT_ITEMS_MAX: Final = 64
"""Items of one commit, conditions and changes together."""
