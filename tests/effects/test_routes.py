"""effects through their doors: who may what, what each refusal is, and whose a "yours" is."""

from __future__ import annotations

import asyncio

import pytest

from steadhold import jobs
from tests.effects.people import OTHER


def problem(answer):
    return answer.status, answer.json["code"]


async def running(house, type="pay"):
    await house.player.play(jobs.submit.call(house.workspace, jobs.Submission(type)))
    (job,) = await house.player.play(jobs.claim.call(house.workspace, "w", [type], 1))
    return job


async def test_a_charge_from_plan_to_settlement(house):
    worker = await house.enter()
    planned = await worker.plans("charge:7")
    assert (planned.status, planned.headers["location"], planned.headers["etag"]) == (
        201,
        "/v1/effects/charge:7",
        '"1"',
    )
    assert (planned.json["execution"], planned.json["open"], planned.json["amount"]) == ("planned", True, "12.50")
    assert "yours" not in planned.json
    again = await worker.plans("charge:7")
    assert (again.status, again.json) == (200, planned.json)
    begun = await worker.says("initiate", "charge:7", {"answer_within_seconds": 60})
    assert (begun.status, begun.json["yours"], begun.headers["revision"]) == (200, True, "2")
    told = await worker.tells("charge:7", "succeeded", venue_ref="pi_1", evidence_ref="mail")
    assert (told.json["execution"], told.json["venue_ref"], told.json["open"]) == ("succeeded", "pi_1", False)
    paid = await worker.says("settlement", "charge:7", {"to": "pending", "settles_within_seconds": 60})
    assert (paid.json["settlement"], paid.json["open"], "settles_by" in paid.json) == ("pending", True, True)
    done = await worker.says("settlement", "charge:7", {"to": "settled"})
    assert (await worker.reads("charge:7")).json == done.json
    lines = (await worker.reads("charge:7", "/history")).json["items"]
    assert [(line["machine"], line.get("from"), line["to"]) for line in lines] == [
        ("execution", None, "planned"), ("execution", "planned", "initiated"), ("execution", "initiated", "succeeded"),
        ("settlement", "none", "pending"), ("settlement", "pending", "settled"),
    ]  # fmt: skip
    assert (lines[2]["actor"], lines[2]["evidence_ref"], bool(lines[2]["key_id"])) == ("worker", "mail", True)
    only = (await worker.reads("charge:7", "/history?machine=settlement&limit=1")).json
    assert ([line["to"] for line in only["items"]], bool(only["next_cursor"])) == (["pending"], True)


async def test_yours_is_said_once_and_again_to_whoever_lost_the_answer(house):
    one, other, id = await house.enter(), await house.enter("other"), None
    id = await one.planned()
    assert problem(await one.says("initiate", id, idempotency_key=None)) == (400, "key_required")
    first = await one.says("initiate", id, {}, idempotency_key="k1")
    again = await one.says("initiate", id, {}, idempotency_key="k1")
    assert (again.json, again.headers["idempotent-replayed"]) == (first.json, "true")
    assert problem(await one.says("initiate", id)) == (409, "already_initiated")
    assert problem(await other.says("initiate", id)) == (409, "already_initiated")
    assert problem(await other.says("initiate", id, {}, idempotency_key="k1")) == (422, "operation_mismatch")


@pytest.mark.parametrize("where", ["body", "header"])
async def test_a_replacement_never_inherits_yours(house, where):
    """Under the first one's operation id and its own fence it is told that this is another request."""
    worker, job = await house.enter(), await running(house)
    id = await worker.planned(job_id=job.id, job_fence=job.fence)

    async def begin(fence, key):
        said = {"job_fence": fence} if where == "body" else {}
        header = {} if where == "body" else {"fence": f'"job:{job.id}";fence={fence}'}
        return await worker.says("initiate", id, said, idempotency_key=key, **header)

    assert (await begin(job.fence, "op-1")).json["yours"]
    release = jobs.Settlement(job.id, job.fence, jobs.Release())
    await house.player.play(jobs.settle.call(house.workspace, release))
    (again,) = await house.player.play(jobs.claim.call(house.workspace, "w2", ["pay"], 1))
    assert again.fence > job.fence
    assert problem(await begin(again.fence, "op-1")) == (422, "operation_mismatch")
    assert problem(await begin(again.fence, "op-2")) == (409, "already_initiated")
    assert problem(await begin(job.fence, "op-3")) == (409, "stale_fence")


async def test_refusals(house):
    worker, job = await house.enter(), await running(house)
    id = await worker.planned()
    assert problem(await worker.plans(id, request_digest=OTHER)) == (409, "effect_conflict")
    assert problem(await worker.plans(job_id=job.id)) == (409, "stale_fence")
    assert problem(await worker.plans(job_id=job.id, job_fence=job.fence + 1)) == (409, "stale_fence")
    off = await worker.tells(id, "succeeded")
    assert (problem(off), off.json["from"], off.json["to"]) == (
        (409, "transition_not_permitted"),
        "planned",
        "succeeded",
    )
    needless = await worker.says("reconcile", id, {"outcome": "failed", "evidence_ref": "x"})
    assert (problem(needless), needless.json["reconciliation"]) == ((409, "not_needed"), "not_needed")
    assert (await worker.says("abandon", id)).json["execution"] == "abandoned"
    assert (await worker.says("abandon", id)).status == 200
    assert problem(await worker.says("initiate", id)) == (409, "transition_not_permitted")
    begun = await worker.begun()
    assert problem(await worker.says("abandon", begun)) == (409, "transition_not_permitted")
    second = await worker.says("initiate", begun)
    assert (problem(second), second.json["execution"]) == ((409, "already_initiated"), "initiated")
    await worker.tells(begun, "succeeded", evidence_id="e1")
    assert problem(await worker.tells(begun, "failed", evidence_id="e1")) == (409, "evidence_conflict")


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("amount", 12.5), ("amount", "1e3"), ("amount", "012"), ("amount", None), ("currency", "eur"),
        ("currency", None), ("effect_id", "a b"), ("request_digest", "sha256:0"), ("target", ""), ("kind", "a b"),
        ("expires_in_seconds", 0), ("job_id", "x"), ("job_fence", 0), ("job_fence", 7), ("amounts", "1"),
        ("repeatable", 1),
    ],
)  # fmt: skip
async def test_what_is_no_action(house, member, value):
    assert problem(await (await house.enter()).plans("x", **{member: value})) == (400, "bad_member")


async def test_only_a_failure_has_no_effect(house):
    worker = await house.enter()
    id = await worker.begun()
    assert problem(await worker.tells(id, "succeeded", no_effect=True)) == (400, "bad_member")
    assert (await worker.tells(id, "failed", no_effect=True)).json["no_effect"] is True
    assert (await worker.says("initiate", id)).json["initiations"] == 2


async def test_a_fact_is_taken_once_with_the_first_answer(house):
    """Under any operation id, any condition, and after whatever else has happened."""
    worker, venue = await house.enter(), await house.enter("venue")
    id = await worker.begun()
    first = await venue.tells(id, "unknown", evidence_id="e1")
    await venue.tells(id, "succeeded")
    again = await venue.says("outcome", id, {"execution": "unknown", "evidence_id": "e1"}, if_match='"1"')
    assert (again.status, again.json, again.headers["etag"]) == (200, first.json, first.headers["etag"])


async def test_who_may_come_in(house):
    reader = await house.enter("rita", ("effects:read",))
    worker = await house.enter("wim", ("effects:write",))
    id = await worker.begun()
    assert (await reader.reads(id)).status == (await reader.reads(id, "/history")).status == 200
    assert problem(await worker.reads(id)) == (403, "missing_scope")
    for answer in (await reader.plans(), await reader.says("initiate", id), await reader.tells(id, "failed"),
                   await reader.says("settlement", id, {"to": "settled"}), await reader.says("abandon", id),
                   await reader.says("reconcile", id, {"outcome": "failed", "evidence_ref": "x"}),
                   await reader.enters()):  # fmt: skip
        assert problem(answer) == (403, "missing_scope")


async def test_conditions(house):
    worker = await house.enter()
    id = await worker.planned()
    stale = await worker.says("initiate", id, {}, if_match='"7"')
    assert (problem(stale), stale.json["current_revision"]) == ((412, "condition_false"), 1)
    for verb, body in (("initiate", {}), ("outcome", {"execution": "failed"}), ("settlement", {"to": "settled"}),
                       ("abandon", {}), ("reconcile", {"outcome": "failed", "evidence_ref": "x"})):  # fmt: skip
        assert problem(await worker.says(verb, id, body, if_match='"7"')) == (412, "condition_false")
        assert problem(await worker.says(verb, id, body, if_match="*")) == (428, "condition_inexact")
    fence = {"fence": '"lock:none";fence=1'}
    assert problem(await worker.says("initiate", id, {}, **fence)) == (409, "stale_fence")
    assert (await worker.says("initiate", id, {}, if_match='"1"')).status == 200


async def test_what_is_not_there(house):
    worker = await house.enter()
    for answer in (await worker.reads("none"), await worker.reads("none", "/history"), await worker.reads("a b"),
                   await worker.says("initiate", "none"), await worker.tells("none", "failed")):  # fmt: skip
        assert problem(answer) == (404, "not_found")


async def test_a_reader_waits_for_the_answer(house):
    worker, reader = await house.enter(), await house.enter("rita")
    id = await worker.begun()
    waiting = asyncio.create_task(reader.reads(id, "?wait_seconds=20", if_none_match='"2"'))
    await worker.tells(id, "succeeded")
    assert (await waiting).json["execution"] == "succeeded"
    assert (await reader.reads(id, "?wait_seconds=0", if_none_match='"3"')).status == 304


async def test_the_queue_of_those_to_look_at(house):
    worker = await house.enter()
    ids = [await worker.begun() for _ in range(3)]
    quiet = await worker.planned()
    for id in ids:
        await worker.tells(id, "unknown")
    first = (await worker("GET", "/v1/effects?reconciliation=needed&limit=2")).json
    rest = (await worker("GET", f"/v1/effects?reconciliation=needed&cursor={first['next_cursor']}")).json
    assert [found["effect_id"] for found in (*first["items"], *rest["items"])] == ids
    assert first["items"][0]["needed_for"] == ["unknown_outcome"]
    everything = (await worker("GET", "/v1/effects?limit=3")).json
    more = (await worker("GET", f"/v1/effects?cursor={everything['next_cursor']}")).json
    assert [found["effect_id"] for found in (*everything["items"], *more["items"])] == [quiet, *reversed(ids)]
    assert problem(await worker("GET", "/v1/effects?reconciliation=x")) == (400, "bad_query")
    other = await worker("GET", f"/v1/effects?cursor={first['next_cursor']}")
    assert problem(other) == (400, "bad_cursor")


async def test_a_journal(house):
    worker = await house.enter()
    first = await worker.enters(note="order 7")
    again = await worker.enters(note="order 7")
    assert (first.status, again.status, again.json) == (201, 200, first.json)
    assert problem(await worker.enters(note="order 8")) == (409, "entry_conflict")
    assert problem(await worker.enters(amount=12.5)) == (400, "bad_member")
    assert problem(await worker.enters(currency=None)) == (400, "bad_member")
    await worker.enters(entry_id="2", amount="-3")
    page = (await worker("GET", "/v1/journals/sales/entries?limit=1")).json
    more = (await worker("GET", f"/v1/journals/sales/entries?cursor={page['next_cursor']}")).json
    assert [(kept["entry_id"], kept["amount"]) for kept in (*page["items"], *more["items"])] == [
        ("1", "12.50"),
        ("2", "-3"),
    ]
    assert problem(await worker("GET", "/v1/journals/none/entries")) == (404, "not_found")


async def test_fifty_submissions_of_a_charge_are_one_entry(house):
    """At once, each under an operation id of its own."""
    worker = await house.enter()
    got = await asyncio.gather(*[worker.enters(entry_id="order-7") for _ in range(50)])
    assert sorted(answer.status for answer in got) == [*[200] * 49, 201]
    assert len({answer.body for answer in got}) == 1
    assert len((await worker("GET", "/v1/journals/sales/entries")).json["items"]) == 1
