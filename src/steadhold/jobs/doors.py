"""jobs over HTTP: admission and job types, and what anybody may read or do to a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Raw

from steadhold import events
from steadhold.context.doors import readable
from steadhold.events import answers as sent
from steadhold.jobs import admission, answers, gives, model, outcomes, reading, relying, steering, takes, verdicts
from steadhold.jobs.admission import Configured, NothingAdmitted, SubmitOutcome
from steadhold.jobs.model import Concurrency, Configuration, Retry, Submission
from steadhold.kit import fields, limits
from steadhold.kit.ids import UUID, id_fault, uuid7, uuid7_ms
from steadhold.kit.moments import BEGIN, END
from steadhold.kit.outcome import Missing
from steadhold.kit.page import Page, page
from steadhold.kit.plan import Refusal
from steadhold.web import choices, conditions, decode, problem, query, reply
from steadhold.web.ask import Answer, Ask, Problem, Reply, Request

CLAIMABLE = ("jobs",)


def submit(ask: Request) -> Ask[SubmitOutcome]:
    """Admit a job: 202, or 200 with the one that there is."""
    job = submission(decode.body(ask, takes.SubmitBody), ask.fresh, ask.trace)
    readable(ask, relying.given(job))

    def render(outcome: SubmitOutcome) -> Answer:
        if isinstance(outcome, Refusal):
            return answers.refused(outcome)
        made = isinstance(outcome, outcomes.Submitted)
        headers = (("location", f"/v1/jobs/{outcome.id}"),)
        return reply.json(
            answers.submitted(outcome),
            202 if made else 200,
            revision=outcome.revision,
            resource=f"job:{outcome.id}",
            headers=headers,
        )

    return Ask(admission.submit.call(ask.workspace, job), render, touches=(("jobs", job.type), CLAIMABLE))


def submit_batch(ask: Request) -> Ask[list[SubmitOutcome] | NothingAdmitted]:
    """Admit many jobs, one outcome each."""
    found = decode.body(ask, takes.SubmitBatch).items
    jobs = [submission(body, id, ask.trace) for body, id in zip(found, ids(ask.fresh, len(found)), strict=True)]
    readable(ask, [text for job in jobs for text in relying.given(job)])

    def item(outcome: SubmitOutcome) -> gives.ItemReply:
        if isinstance(outcome, Refusal):
            return answers.refused_item(None, outcome)
        return answers.item_of(202 if isinstance(outcome, outcomes.Submitted) else 200, answers.submitted(outcome))

    def render(outcome: list[SubmitOutcome] | NothingAdmitted) -> Answer:
        many = outcome.outcomes if isinstance(outcome, NothingAdmitted) else outcome
        return reply.json(answers.items(many, item))

    touched = tuple(("jobs", type) for type in dict.fromkeys(job.type for job in jobs))
    return Ask(admission.submit_batch.call(ask.workspace, jobs), render, touches=(*touched, CLAIMABLE))


def ids(fresh: str, count: int) -> list[str]:
    """As many ids as are needed, of a request's own: the first is it, the others follow from it."""
    milliseconds = uuid7_ms(fresh)
    assert milliseconds is not None
    return [fresh, *(uuid7(milliseconds, model.digest(f"{fresh}/{n}".encode())[:10]) for n in range(1, count))]


def submission(body: takes.SubmitBody, id: str, trace: str | None = None) -> Submission:
    """The job that a body describes; where it names no trace, in that of its request."""
    if body.concurrency_key is not None and body.concurrency_key.startswith("schedule:"):
        problem.stop("reserved_key", "Concurrency keys beginning with schedule: belong to schedules.")
    return Submission(
        type=body.type,
        input=content(body.input, body.input_ref, "input", limits.JOB_INPUT_BYTES_MAX),
        input_ref=body.input_ref,
        inputs=tuple(body.inputs),
        priority=body.priority,
        run_at=body.run_at,
        unique_key=body.unique_key,
        concurrency_key=body.concurrency_key,
        deadline_seconds=body.deadline_seconds,
        evidence_not_before=body.evidence_not_before,
        tags=tuple(dict.fromkeys(body.tags)),
        correlation_id=body.correlation_id,
        trace=body.trace or trace,
        id=id,
    )


def content(given: Raw | Any, reference: str | None, name: str, bytes_max: int) -> bytes | None:
    """A user's JSON as it was sent, or None where a reference names it; without either it is null."""
    if given is UNSET:
        return None if reference is not None else b"null"
    if reference is not None:
        problem.stop("two_sources", f"Send {name} or {name}_ref, not both.")
    if len(found := bytes(given)) > bytes_max:
        problem.stop("too_large", f"{name} has at most {bytes_max} bytes; this one has {len(found)}.", limit=bytes_max)
    return found


def get(ask: Request) -> Ask[reading.View | Missing]:
    """A job; with `wait_seconds` its next change."""
    id = ask.params["id"]

    def render(outcome: reading.View | Missing) -> Answer:
        if isinstance(outcome, Missing):
            return problem.MISSING
        if conditions.unchanged(ask, outcome.revision) and not outcome.effects:  # these move without the job
            return reply.not_modified(outcome.revision)
        return reply.json(answers.job(outcome), revision=outcome.revision)

    wait = conditions.watch(ask, ("job", id), _revision_of)
    return Ask(reading.get.call(ask.workspace, id), render, wait)


def _revision_of(outcome: reading.View | Missing) -> int | None:
    return outcome.revision if isinstance(outcome, reading.View) else None


def listing(ask: Request) -> Ask[Page[reading.View]]:
    """Jobs, the newest first."""
    before = query.cursor(ask, "jobs", UUID)
    which = filter_of({name: ask.query[name] for name in FILTERS if name in ask.query})
    call = reading.jobs.call(ask.workspace, which, before[0] if before else None, query.limit(ask))
    return Ask(call, lambda found: reply.listing(ask, found, answers.job))


FILTERS = ("state", "type", "unique_key", "tag", "created_after", "created_before")


def filter_of(words: dict[str, str]) -> steering.Filter:
    """The filter that words of an address describe: a list's, or that of what is to be done to all that it shows."""
    body = _read(words)
    if body is None:
        name, text = next((name, text) for name, text in words.items() if _read({name: text}) is None)
        problem.stop("bad_query", _fault(name, text), parameter=name)
    return narrowed(body)


def _read(words: dict[str, str]) -> takes.FilterBody | None:
    """What words of an address say; None where one of them means nothing."""
    try:
        body = msgspec.convert(words, takes.FilterBody, strict=False)
    except msgspec.ValidationError:
        return None
    said = all(getattr(body, name) is not None for name in words)
    return body if said and decode.beyond(body) is None else None


def _fault(name: str, text: str) -> str:
    """Why a filter means nothing, in a sentence that says what it takes."""
    if known := choices.values(takes.FilterBody, f"/{name}"):
        return f"There is no {name} {text!a}; there are {', '.join(known)}."
    if not name.startswith("created"):
        return f"{name} is an Id. {id_fault(text)}"
    return f"{name} is a moment of {BEGIN.year} to {END.year - 1} with its offset: 2026-11-29T16:00:00Z."


def narrowed(body: takes.FilterBody) -> steering.Filter:
    """The filter that a body describes."""
    return steering.Filter(body.state, body.type, body.unique_key, body.tag, body.created_after, body.created_before)


def result(ask: Request) -> Ask[reading.Contents | Missing]:
    """A completed job's result, byte for byte."""

    def render(outcome: reading.Contents | Missing) -> Answer:
        if isinstance(outcome, Missing) or outcome.result_ref is None:
            return problem.MISSING
        if outcome.result is None:
            reference = {"result_ref": outcome.result_ref}
            return Problem(problem.MISSING.code, "The result lies where result_ref says.", reference)
        digest = ("repr-digest", fields.write_digest(model.digest(outcome.result)))
        return Reply(200, outcome.result, headers=(digest,))

    return Ask(reading.contents.call(ask.workspace, ask.params["id"]), render)


def input_of(ask: Request) -> Ask[reading.Contents | Missing]:
    """A job's input, byte for byte."""

    def render(outcome: reading.Contents | Missing) -> Answer:
        if isinstance(outcome, Missing) or outcome.input is None:
            return problem.MISSING
        digest = ("repr-digest", fields.write_digest(outcome.input_digest))
        return Reply(200, outcome.input, headers=(digest,))

    return Ask(reading.contents.call(ask.workspace, ask.params["id"]), render)


def checkpoints(ask: Request) -> Ask[Page[outcomes.Checkpoint] | Missing]:
    """The committed stages that a job sees, by name."""
    after = query.cursor(ask, "checkpoints", str)

    def render(found: Page[outcomes.Checkpoint] | Missing) -> Answer:
        return problem.MISSING if isinstance(found, Missing) else reply.listing(ask, found, answers.checkpoint)

    first = after[0] if after else ""
    most, bytes_max = query.limit(ask), limits.STAGES_PAGE_BYTES_MAX
    return Ask(reading.checkpoints.call(ask.workspace, ask.params["id"], first, most, bytes_max=bytes_max), render)


def checkpoint(ask: Request) -> Ask[outcomes.Checkpoint | Missing]:
    """One committed stage."""

    def render(found: outcomes.Checkpoint | Missing) -> Answer:
        return problem.MISSING if isinstance(found, Missing) else reply.json(answers.checkpoint(found))

    return Ask(reading.checkpoint_of.call(ask.workspace, ask.params["id"], ask.params["stage"]), render)


def history(ask: Request) -> Ask[events.History | events.EventsPruned | Missing]:
    """What happened to a job, oldest first."""
    after, most = query.cursor(ask, "job-events", int), query.limit(ask)

    def render(found: events.History | events.EventsPruned | Missing) -> Answer:
        if isinstance(found, events.EventsPruned | Missing) or not (found.events or after):
            return problem.MISSING
        return reply.listing(ask, page(found.events, most, "job-events", _place), sent.event)

    subject = f"job:{ask.params['id']}"
    return Ask(events.history.call(ask.workspace, subject, after[0] if after else 0, most + 1), render)


def _place(event: events.Event) -> Sequence[int]:
    return (event.aggregate_revision,)


def configure(ask: Request) -> Ask[Any]:
    """Write a job type's configuration under a condition."""
    type, expected = ask.params["type"], conditions.put(ask)
    body = decode.body(ask, takes.ConfigurationBody)
    schema = _schema(body)
    if schema is not None and (why := admission.schema_fault(schema)):
        problem.stop("bad_schema", why)
    configuration = Configuration(
        input_schema=schema,
        lease_seconds=body.lease_seconds,
        attempts_max=body.attempts_max,
        timeout_seconds=body.timeout_seconds,
        retry=Retry(body.retry.base_seconds, body.retry.cap_seconds, body.retry.jitter),
        concurrency=Concurrency(body.concurrency.type_max, body.concurrency.key_max),
        retention_seconds=body.retention_seconds,
        versions=tuple(body.versions),
    )
    call = admission.configure.call(ask.workspace, type, configuration, expected)
    return Ask(call, lambda outcome: _configured(outcome, 201 if expected is None else 200))


def _schema(body: takes.ConfigurationBody) -> bytes | None:
    if body.input_schema is UNSET:
        return None
    return content(body.input_schema, None, "input_schema", limits.JOB_SCHEMA_BYTES_MAX)


def job_type(ask: Request) -> Ask[Configured | Missing]:
    """A job type's current configuration."""

    def render(outcome: Configured | Missing) -> Answer:
        if isinstance(outcome, Configured) and conditions.unchanged(ask, outcome.revision):
            return reply.not_modified(outcome.revision)
        return _configured(outcome, 200)

    return Ask(admission.job_type.call(ask.workspace, ask.params["type"]), render)


def job_types(ask: Request) -> Ask[Page[Configured]]:
    """The configured job types, by name."""
    after = query.cursor(ask, "job-types", str)
    call = admission.job_types.call(ask.workspace, after[0] if after else "", query.limit(ask))
    return Ask(call, lambda found: reply.listing(ask, found, _type))


def _configured(outcome: Configured | Refusal, status: int) -> Answer:
    if isinstance(outcome, Refusal):
        return answers.refused(outcome)
    return reply.json(_type(outcome), status, revision=outcome.revision, resource=f"job-type:{outcome.type}")


def _type(found: Configured) -> gives.TypeItem:
    return gives.TypeItem(
        type=found.type,
        revision=found.revision,
        changed_at=reply.instant(found.changed_at),
        configuration=Raw(verdicts.stored(found.configuration)),
    )
