"""Jobs: a list by filters, one job with all that became of it, and what may be done to one or many."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from steadhold import fences, operations
from steadhold.dashboard import timeline
from steadhold.dashboard.facts import Facts
from steadhold.dashboard.page import Action, Download, Go, Outcome, Page, Refused, Room, View, instant, whole
from steadhold.dashboard.rendering import moment
from steadhold.jobs import steering
from steadhold.jobs.doors import FILTERS, filter_of
from steadhold.jobs.model import STATES
from steadhold.jobs.outcomes import Counted
from steadhold.kit.ids import UUID
from steadhold.kit.plan import Call

READ, STEER = "jobs:read", "jobs:steer"
LIVE: Final = ("accepted", "running", "waiting")
ENDED: Final = ("completed", "failed", "cancelled")
EVENTS_SHOWN: Final = 200
STAGES_SHOWN: Final = 20
"""Each comes with its result, which may be as large as that of a job."""

EFFECTS_TOLD: Final = 10
"""Effects whose histories stand in the timeline; the others are only listed."""

RECEIPTS_LOOKED_FOR: Final = 8
"""Things asked of a job whose receipts are looked for."""

CHOSEN_MAX: Final = 200
"""Jobs that are picked one by one and go at once."""

Verb: TypeAlias = Literal["cancel", "retry"]


async def index(view: View) -> Outcome:
    """Jobs, the newest first, by what is asked for."""
    wanted = _wanted(view.query)
    listed = await view.get("/v1/jobs", **wanted, limit=50, cursor=view.query.get("cursor"))
    types = await view.maybe("/v1/job-types", limit=200)
    state = wanted.get("state", "")
    return view.show(
        "jobs/index.html", listed=listed, wanted=wanted, states=STATES,
        types=[] if types is None else [item["type"] for item in types.items],
        verbs=[verb for verb, of in (("cancel", LIVE), ("retry", ENDED)) if state in of and view.may(STEER)],
    )  # fmt: skip


def _wanted(said: Mapping[str, str]) -> dict[str, str]:
    """The filters that are set. Instants are as people type them."""
    found = {name: said[name].strip() for name in FILTERS if said.get(name, "").strip()}
    for name in ("created_after", "created_before"):
        if name in found:
            found[name] = instant(found[name])
    return found


# --- one job


async def one(view: View) -> Outcome:
    """A job: how it stands, what it was given and gave, and what became of it."""
    id = view.params["id"]
    standing, stages, input, result = await asyncio.gather(
        _standing(view, id),
        view.maybe("/v1/jobs", id, "checkpoints", limit=STAGES_SHOWN, cursor=view.query.get("stages")),
        view.maybe("/v1/jobs", id, "input"),
        view.maybe("/v1/jobs", id, "result"),
    )
    return view.show("jobs/one.html", **standing, stages=stages, input=input, result=result)


async def live(view: View) -> Outcome:
    """The part of a job's page that changes while it runs."""
    return view.show("jobs/_live.html", **await _standing(view, view.params["id"]))


async def _standing(view: View, id: str) -> dict[str, Any]:
    job, history = await asyncio.gather(
        view.get("/v1/jobs", id),
        view.maybe("/v1/jobs", id, "events", limit=EVENTS_SHOWN, cursor=view.query.get("cursor")),
    )
    events = [] if history is None else history.items
    lines = [timeline.of_events(events)]
    if "cursor" not in view.query:
        lines += await asyncio.gather(_effects(view, job.facts), _receipts(view, id, events))
    return {
        "job": job.facts,
        "lease": await _lease(view, id) if job.facts["state"] == "running" else None,
        "leases": timeline.leases(events),
        "lines": timeline.merged(*lines),
        "more": None if history is None else history.next_cursor,
    }


async def _lease(view: View, id: str) -> Any:
    """The grant under which the job runs now."""
    subject = f"job:{id}"
    call = Call(lambda: fences.look(view.workspace, subject), view.workspace, "fences.look")
    grant = await view.play(call)
    return grant if grant is not None and grant.held else None


async def _effects(view: View, job: Facts) -> list[timeline.Line]:
    shown = [effect["effect_id"] for effect in job.each("effects")[:EFFECTS_TOLD]]
    histories = await asyncio.gather(*(view.maybe("/v1/effects", id, "history", limit=50) for id in shown))
    lines = [
        timeline.of_effect(id, found.items) for id, found in zip(shown, histories, strict=True) if found is not None
    ]
    return [line for part in lines for line in part]


async def _receipts(view: View, id: str, events: list[Facts]) -> list[timeline.Line]:
    """Receipts of what was asked of the job: there is one where a request had an operation id."""
    asked = {"job.accepted", "job.cancelled", "job.cancel_requested", "job.signalled"}
    at = [moment(event["occurred_at"]) for event in events if event["type"] in asked][:RECEIPTS_LOOKED_FOR]
    if not at:
        return []
    found = await view.play(operations.near.call(view.workspace, f"job:{id}", at))
    mine = [kept for kept in found if all(view.may(scope, name or None) for scope, name in kept.needs if scope)]
    return timeline.of_receipts(mine)


async def given(view: View) -> Download:
    """A job's input, as it is, in a file."""
    return _file(view, "input")


async def gave(view: View) -> Download:
    """A job's result, as it is, in a file."""
    return _file(view, "result")


def _file(view: View, what: str) -> Download:
    id = view.params["id"]
    return view.download("/v1/jobs", id, what, name=f"{id}-{what}.json")


# --- what may be done to one


async def cancel(view: View) -> Go:
    """Ask a job to stop."""
    id = view.params["id"]
    await view.post("/v1/jobs", id, "cancel", body=_because(view))
    return view.go("/jobs", id)


async def retry(view: View) -> Go:
    """Admit a job anew; on to the new one."""
    made = await view.post("/v1/jobs", view.params["id"], "retry", body={})
    return view.go("/jobs", made.facts["job_id"])


def _because(view: View) -> dict[str, str]:
    reason = view.form.get("reason", "").strip()
    return {"reason": reason} if reason else {}


# --- and to many


async def ask_cancel(view: View) -> Outcome:
    """How many live jobs the filters mean, and the form that cancels as many."""
    return await _count(view, "cancel", _wanted(view.query))


async def ask_retry(view: View) -> Outcome:
    """How many ended jobs the filters mean, and the form that retries as many."""
    return await _count(view, "retry", _wanted(view.query))


async def _count(view: View, verb: Verb, wanted: dict[str, str], no: Refused | None = None) -> Outcome:
    which = filter_of(wanted)
    call = (
        steering.cancel_all.call(view.workspace, which, None, view.session.who.subject)
        if verb == "cancel"
        else steering.retry_all.call(view.workspace, which, None, ())
    )
    counted = await view.play(call)
    return view.show(
        "jobs/many.html", verb=verb, wanted=wanted, ids=(), no=no, most=steering.BULK_MAX,
        count=counted.count if isinstance(counted, Counted) else None,
    )  # fmt: skip


async def cancel_many(view: View) -> Outcome:
    """Cancel what was counted, or those that were ticked."""
    return await _many(view, "cancel")


async def retry_many(view: View) -> Outcome:
    """Retry what was counted, or those that were ticked."""
    return await _many(view, "retry")


async def _many(view: View, verb: Verb) -> Outcome:
    """What was ticked is counted first, and done when the count comes back with it; so is what filters mean."""
    ticked = dict.fromkeys(id for id in view.lists.get("ids", ()) if UUID.fullmatch(id))
    ids, count = list(ticked)[:CHOSEN_MAX], view.form.get("count", "")
    if ids or "picked" in view.form:
        if not ids or count != str(len(ids)):
            return view.show("jobs/many.html", verb=verb, wanted={}, ids=ids, most=CHOSEN_MAX, count=len(ids))
        return view.show("jobs/done.html", verb=verb, outcomes=await _each(view, verb, ids))
    wanted = _wanted(view.form)
    if (expected := whole(count)) is None:
        return await _count(view, verb, wanted)
    body = {"filter": wanted, "expect_count": expected, **(_because(view) if verb == "cancel" else {})}
    try:
        done = await view.post(f"/v1/jobs:{verb}", body=body)
    except Refused as no:
        if no.code not in {"count_changed", "filter_too_wide"}:
            raise
        return await _count(view, verb, wanted, no)
    return view.show("jobs/done.html", verb=verb, outcomes=[_of(item) for item in done.facts.each("outcomes")])


async def _each(view: View, verb: Verb, ids: list[str]) -> list[dict[str, Any]]:
    """Each as if it had been asked alone, under an operation of its own."""
    outcomes: list[dict[str, Any]] = []
    for n, id in enumerate(ids):
        try:
            found = await view.post(
                "/v1/jobs", id, verb, body=_because(view) if verb == "cancel" else {},
                operation=f"{view.operation}-{n}",
            )  # fmt: skip
            outcomes.append(_of(found.facts, id))
        except Refused as no:
            outcomes.append({"job_id": id, "code": no.code, "detail": no.facts.get("detail", "")})
    return outcomes


def _of(item: Facts, id: str | None = None) -> dict[str, Any]:
    names = ("job_id", "state", "outcome", "retry_of", "code", "detail")
    return {"job_id": id, **{name: item[name] for name in names if name in item}}


PAGES: Final = (
    Page("/jobs", index, READ),
    Page("/jobs:cancel", ask_cancel, STEER),
    Page("/jobs:retry", ask_retry, STEER),
    Page("/jobs/{id:uuid}", one, READ),
    Page("/jobs/{id:uuid}/live", live, READ),
    Page("/jobs/{id:uuid}/input", given, READ),
    Page("/jobs/{id:uuid}/result", gave, READ),
)
ACTIONS: Final = (
    Action("/jobs/{id:uuid}/cancel", cancel, STEER, done="The job was asked to stop."),
    Action("/jobs/{id:uuid}/retry", retry, STEER, done="The job was admitted anew: this is the new one."),
    Action("/jobs:cancel", cancel_many, STEER),
    Action("/jobs:retry", retry_many, STEER),
)
ROOM = Room("jobs", "Jobs", "Work", scope=READ, pages=PAGES, actions=ACTIONS)
