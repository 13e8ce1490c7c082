"""Admission: whatever could be wrong with a job is found before anything of it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, TypeAlias

import msgspec

from steadhold import context, events
from steadhold.access import NotEntitled, QueueFull
from steadhold.jobs import model, moving, relying, verdicts
from steadhold.jobs.model import Configuration, Count, Submission, Submittable
from steadhold.jobs.moving import SQL
from steadhold.jobs.outcomes import Existing, InvalidInput, KeyConflict, Submitted
from steadhold.kit.limits import INPUT_FAULTS_MAX, JOB_SCHEMA_BYTES_MAX
from steadhold.kit.outcome import Missing, RevisionConflict
from steadhold.kit.page import Page, page
from steadhold.kit.plan import Plan, Refusal, each, maybe, operation, rows
from steadhold.kit.rules import Id, Limit, Rule, json_fault

SubmitOutcome: TypeAlias = (
    Submitted | Existing | KeyConflict | NotEntitled | InvalidInput | QueueFull | context.Unresolved
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a type is held to at admission. A null revision is an unregistered type."""

    revision: int | None
    body: bytes | None
    entitled: bool
    queued_max: int | None
    depth: int | None


@dataclass(frozen=True, slots=True)
class Configured:
    """A job type's current revision, and its configuration."""

    type: str
    revision: int
    configuration: Configuration
    changed_at: Any


@operation
def submit(workspace: str, job: Submittable) -> Plan[SubmitOutcome]:
    """Admit one job. The same submission, or one under a live `unique_key` with the same input, is the job there is."""
    return (yield from submit_all.plan(workspace, [job]))[0]


@dataclass(frozen=True, slots=True)
class NothingAdmitted(Refusal):
    """A batch of which no job was admitted, with the outcome of each."""

    outcomes: tuple[SubmitOutcome, ...]


@operation
def submit_batch(workspace: str, jobs: Sequence[Submittable]) -> Plan[list[SubmitOutcome] | NothingAdmitted]:
    """As `submit_all`, for an operation whose receipt is kept once one job was admitted."""
    outcomes = yield from submit_all.plan(workspace, jobs)
    return outcomes if any(isinstance(made, Submitted) for made in outcomes) else NothingAdmitted(tuple(outcomes))


@operation
def submit_all(
    workspace: str, jobs: Sequence[Submittable], instead: Sequence[int] | None = None
) -> Plan[list[SubmitOutcome]]:
    """Admit many jobs, one answer each; what is refused of one changes nothing about the others.

    `instead` says of each how many queued jobs its admission takes back in this transaction: they leave it room.
    """
    instead = instead or [0] * len(jobs)
    terms = yield from terms_of(workspace, {job.type for job in jobs})
    finds = yield from context.find(workspace, [text for job in jobs for text in relying.given(job)])
    answers: dict[int, SubmitOutcome] = {}
    left: dict[int, dict[str, Any]] = {}
    freed = 0
    for n, job in enumerate(jobs):
        fault = _fault(job, terms[job.type], len(left) - freed - instead[n])
        fault = fault or context.unknown(finds, relying.given(job))
        if fault is None:
            freed += instead[n]
            left[n] = _item(workspace, job, terms[job.type])
        else:
            answers[n] = fault
    admitted: list[int] = []
    while left:  # again only where the job that stood in the way ended meanwhile
        made = yield from each(SQL.admit, list(left.values()))
        for n, hand in zip(list(left), made, strict=True):
            if hand:
                answers[n] = Submitted(jobs[n].id, hand[0][0], left.pop(n)["configuration_revision"], hand[0][1])
                admitted.append(n)
        found = yield from each(SQL.present, list(left.values()))
        for n, hand in zip(list(left), found, strict=True):
            if hand:
                answers[n] = _present(jobs[n], left.pop(n)["input_digest"], *hand[0])
    pins = [(moving.subject(jobs[n].id), text) for n in admitted for text in relying.given(jobs[n])]
    yield from context.pin_found(workspace, finds, pins)
    yield from _announce(workspace, [(jobs[n], answers[n]) for n in admitted])
    return [answers[n] for n in range(len(jobs))]


def terms_of(workspace: str, types: Iterable[str]) -> Plan[dict[str, Terms]]:
    """What each type is held to now."""
    wanted = sorted(types)
    hands = yield from each(SQL.admission, [{"workspace": workspace, "type": type} for type in wanted])
    return {type: Terms(*hand[0]) for type, hand in zip(wanted, hands, strict=True)}


def _fault(job: Submission, terms: Terms, more: int) -> NotEntitled | InvalidInput | QueueFull | None:
    refused = not_entitled(job.type, terms, more)
    if isinstance(refused, NotEntitled):
        return refused
    schema = verdicts.configuration(terms.body).input_schema
    if schema is not None and job.input is not None and (faults := input_faults(schema, job.input)):
        return InvalidInput(faults)
    return refused


def not_entitled(type: str, terms: Terms, more: int = 0) -> NotEntitled | QueueFull | None:
    """Whether the workspace may have one job more of a type, `more` being queued beside those that were counted."""
    if not terms.entitled:
        return NotEntitled(f"jobs of type {type}")
    if terms.queued_max is not None and (terms.depth or 0) + more >= terms.queued_max:
        return QueueFull((terms.depth or 0) + more, terms.queued_max)
    return None


def _item(workspace: str, job: Submission, terms: Terms) -> dict[str, Any]:
    pinned = verdicts.configuration(terms.body)
    return {
        "workspace": workspace,
        "id": job.id,
        "type": job.type,
        "configuration_revision": terms.revision or 0,
        "attempts_max": pinned.attempts_max,
        "lease_seconds": pinned.lease_seconds,
        "timeout_seconds": pinned.timeout_seconds,
        "kept_seconds": pinned.retention_seconds,
        "versions": " ".join(pinned.versions) or None,
        "priority": job.priority,
        "run_at": job.run_at,
        "deadline_seconds": job.deadline_seconds,
        "evidence_not_before": job.evidence_not_before,
        "unique_key": job.unique_key or "",
        "concurrency_key": job.concurrency_key,
        "tags": " ".join(job.tags) or None,
        "correlation_id": job.correlation_id,
        "trace": job.trace,
        "input_digest": input_digest(job),
        "input": job.input if job.input_ref is None else None,
        "input_ref": job.input_ref,
        "inputs": msgspec.json.encode(job.inputs) if job.inputs else None,
    }


def input_digest(job: Submission) -> bytes:
    """The digest of the input: its own, that which its reference carries, or that of the reference."""
    if job.input_ref is None:
        return model.digest(job.input or b"null")
    _, found, named = job.input_ref.partition("#sha256:")
    if found and len(named) == 64 and all(c in "0123456789abcdef" for c in named):
        return bytes.fromhex(named)
    return model.digest(job.input_ref.encode())


def _present(
    job: Submission, digest: bytes, id: str, revision: int, state: int, type: str, stored: bytes
) -> Existing | KeyConflict:
    if (type, stored) != (job.type, digest):
        return KeyConflict(id)
    return Existing(id, revision, model.STATES[state])


def _announce(workspace: str, admitted: Sequence[tuple[Submission, SubmitOutcome]]) -> Plan[None]:
    tags = [{"workspace": workspace, "id": job.id, "tag": tag} for job, _ in admitted for tag in job.tags]
    yield from each(SQL.tag, tags)
    yield from events.record(workspace, [
        (moving.subject(job.id), made.revision, events.Happened(
            "job.accepted", msgspec.json.encode({"cause": "submit", "type": job.type}),
            correlation_id=job.correlation_id))
        for job, made in admitted if isinstance(made, Submitted)
    ])  # fmt: skip


@lru_cache(maxsize=256)
def _validator(schema: bytes) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema.decode())


def schema_fault(schema: bytes) -> str | None:
    """Why a schema is none, as a sentence."""
    try:
        _validator(schema)
    except ValueError as fault:
        return str(fault)
    return None


def configuration_fault(said: Configuration) -> str | None:
    """Why a type cannot be held to this, as a sentence, where each of its members can."""
    if said.input_schema is None:
        return None
    wrong = json_fault(JOB_SCHEMA_BYTES_MAX, said.input_schema) or schema_fault(said.input_schema)
    return wrong and f"input_schema: {wrong}"


Configurable: TypeAlias = Annotated[Configuration, Rule(configuration_fault)]
"""What a type can be held to."""


def input_faults(schema: bytes, input: bytes) -> tuple[tuple[str, str], ...]:
    """Where an input does not fit a schema: JSON pointers, each with what is wrong there."""
    found = _validator(schema).iter_errors(msgspec.json.decode(input))
    return tuple((_pointer(error.instance_path), error.message) for error in islice(found, INPUT_FAULTS_MAX))


def _pointer(path: Iterable[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


@operation
def configure(
    workspace: str, type: Id, configuration: Configurable, expected: Count | None
) -> Plan[Configured | RevisionConflict | Missing]:
    """Write a job type's configuration: `expected` is the revision it replaces, None creates it."""
    made = yield from rows(
        SQL.configure,
        workspace=workspace,
        type=type,
        expected=expected,
        body=verdicts.stored(configuration),
        type_max=configuration.concurrency.type_max,
        key_max=configuration.concurrency.key_max,
    )
    found = yield from job_type.plan(workspace, type)
    if made and isinstance(found, Configured):
        return found
    if isinstance(found, Configured):
        return RevisionConflict(found.revision)
    return Missing()


@operation
def job_type(workspace: str, type: Id) -> Plan[Configured | Missing]:
    """Read a job type's current configuration. A type without one runs under the defaults, revision 0."""
    return (yield from maybe(SQL.type_of, _configured, workspace=workspace, type=type)) or Missing()


@operation
def job_types(workspace: str, after: str, limit: Limit) -> Plan[Page[Configured]]:
    """List the configured job types by name."""
    found = yield from rows(SQL.types_page, workspace=workspace, after=after, limit=limit + 1)
    return page([_configured(*row) for row in found], limit, "job-types", lambda each: (each.type,))


def _configured(type: str, revision: int, body: bytes, changed_at: Any) -> Configured:
    return Configured(type, revision, verdicts.configuration(body), changed_at)
