"""jobs: its doors."""

from __future__ import annotations

from typing import Any, Final, Literal

from steadhold.events.wire import DomainEvent
from steadhold.jobs import doors, gives, takes, workdoors
from steadhold.web.ask import Route

READ: Final = "jobs:read"
SUBMIT: Final = "jobs:submit"
WORK: Final = "jobs:work"
STEER: Final = "jobs:steer"
CONFIGURE: Final = "jobs:configure"
READMITTED: Final = ("key_conflict", "not_entitled", "queue_full")
SUBMITTED: Final = (
    "key_conflict",
    "not_entitled",
    "invalid_input",
    "queue_full",
    "reserved_key",
    "two_sources",
    "unknown_reference",
)
SETTLED: Final = (
    "stale_fence", "job_ended", "condition_false", "condition_inexact", "evidence_required", "stale_evidence",
    "cancel_requested", "cancel_not_requested", "unknown_subject", "stages_full", "wait_unknown", "until_required",
    "two_sources", "unknown_reference",
)  # fmt: skip
MATCH: Final = ("condition_false", "condition_inexact")


def _post(
    path: str,
    handle: Any,
    scope: str,
    summary: str,
    takes: Any,
    gives: Any,
    problems: tuple[str, ...] = (),
    *,
    receipt: Literal["required", "optional", "none"] = "none",
    status: int = 200,
    match: bool = False,
) -> Route:
    return Route(
        "POST",
        path,
        handle,
        scope,
        summary,
        receipt=receipt,
        body="json",
        takes=takes,
        gives=gives,
        status=status,
        problems=(*problems, *(MATCH if match else ())),
        headers=("if-match",) if match else (),
    )


def _get(path: str, handle: Any, summary: str, gives: Any = None, query: tuple[str, ...] = ()) -> Route:
    return Route("GET", path, handle, READ, summary, gives=gives, query=query)


PAGE: Final = ("limit", "cursor")

ROUTES: Final = (
    _post("/v1/jobs", doors.submit, SUBMIT, "Admit a job", takes.SubmitBody, gives.JobReply, SUBMITTED,
          receipt="required", status=202),
    _post("/v1/jobs:batch", doors.submit_batch, SUBMIT, "Admit many jobs", takes.SubmitBatch, gives.BatchReply,
          SUBMITTED, receipt="required"),
    _get("/v1/jobs", doors.listing, "List jobs", gives.Job, (*PAGE, *doors.FILTERS)),
    Route("GET", "/v1/jobs/{id:uuid}", doors.get, READ, "Read a job", gives=gives.Job, query=("wait_seconds",),
          headers=("if-none-match",)),
    _get("/v1/jobs/{id:uuid}/input", doors.input_of, "Read a job's input"),
    _get("/v1/jobs/{id:uuid}/result", doors.result, "Read a job's result"),
    _get("/v1/jobs/{id:uuid}/events", doors.history, "Read a job's history", DomainEvent, PAGE),
    _get("/v1/jobs/{id:uuid}/checkpoints", doors.checkpoints, "List a job's stages", gives.CheckpointItem, PAGE),
    _get("/v1/jobs/{id:uuid}/checkpoints/{stage}", doors.checkpoint, "Read a stage", gives.CheckpointItem),
    Route("PUT", "/v1/jobs/{id:uuid}/checkpoints/{stage}", workdoors.checkpoint, WORK, "Commit a stage", body="json",
          takes=takes.CheckpointBody, gives=gives.CheckpointReply, headers=("if-match",),
          problems=("stale_fence", "checkpoint_conflict", "stages_full", "two_sources", "unknown_reference", *MATCH)),
    _post("/v1/jobs:claim", workdoors.claim, WORK, "Claim jobs", takes.ClaimBody, gives.ClaimReply),
    _post("/v1/jobs/{id:uuid}/heartbeat", workdoors.heartbeat, WORK, "Renew a lease", takes.BeatBody, gives.BeatReply,
          ("stale_fence",)),
    _post("/v1/jobs:heartbeat", workdoors.heartbeat_batch, WORK, "Renew many leases", takes.BeatBatch,
          gives.BatchReply, ("stale_fence",)),
    _post("/v1/jobs/{id:uuid}/settle", workdoors.settle, WORK, "Say what became of a job", takes.SettleBody,
          gives.JobReply, SETTLED, match=True),
    _post("/v1/jobs:settle", workdoors.settle_batch, WORK, "Settle many jobs", takes.SettleBatch, gives.BatchReply,
          SETTLED),
    _post("/v1/jobs/{id:uuid}/cancel", workdoors.cancel, STEER, "Cancel a job", takes.CancelBody, gives.CancelReply,
          receipt="optional", match=True),
    _post("/v1/jobs/{id:uuid}/retry", workdoors.retry, STEER, "Admit an ended job anew", takes.AgainBody,
          gives.JobReply, ("job_not_ended", *READMITTED), receipt="required", status=202, match=True),
    _post("/v1/jobs/{id:uuid}/signal", workdoors.signal, STEER, "Tell a job something", takes.SignalBody,
          gives.SignalReply, ("signals_full", "job_ended"), receipt="required", status=202, match=True),
    _post("/v1/jobs:cancel", workdoors.cancel_all, STEER, "Cancel what a filter means", takes.BulkBody, gives.BulkReply,
          ("count_changed", "filter_too_wide"), receipt="optional"),
    _post("/v1/jobs:retry", workdoors.retry_all, STEER, "Retry what a filter means", takes.BulkBody, gives.BulkReply,
          ("count_changed", "filter_too_wide", *READMITTED), receipt="required"),
    Route("PUT", "/v1/job-types/{type}", doors.configure, CONFIGURE, "Configure a job type", receipt="optional",
          body="json", takes=takes.ConfigurationBody, gives=gives.TypeItem, headers=("if-match", "if-none-match"),
          problems=("condition_required", "bad_schema", *MATCH)),
    Route("GET", "/v1/job-types/{type}", doors.job_type, READ, "Read a job type", gives=gives.TypeItem,
          headers=("if-none-match",)),
    _get("/v1/job-types", doors.job_types, "List job types", gives.TypeItem, PAGE),
)  # fmt: skip
