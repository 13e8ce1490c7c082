"""approvals through their doors: who may what, and what each refusal is."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.kit.ids import new_id
from steadhold.kit.page import write_cursor
from tests.approvals.house import named
from tests.approvals.people import HOUR, NOBODY, ONE, TWO


def problem(answer):
    return answer.status, answer.json["code"]


async def test_a_question_and_its_answer(house):
    agent, anna = await house.agent(), await house.enter("anna")
    asked = await agent.ask(note="careful", approvers=["anna", "bert"], usable_seconds=60)
    id = asked.json["approval_id"]
    assert (asked.status, asked.headers["location"], asked.headers["etag"]) == (201, f"/v1/approvals/{id}", '"1"')
    assert asked.json["artifact"] == {**named(ONE), "length": 5}
    assert (asked.json["state"], asked.json["votes"], "grant" in asked.json) == ("pending", [], False)
    voted = await anna.votes(id, comment="fine")
    assert (voted.status, voted.json["state"], voted.headers["revision"]) == (200, "approved", "3")
    (vote,) = voted.json["votes"]
    assert (vote["subject"], vote["decision"], vote["comment"]) == ("anna", "approve", "fine")
    assert (vote["scopes"], bool(vote["key_id"])) == (["approvals:*"], True)
    verified = await agent.says("verify", id, named(ONE))
    assert (verified.status, verified.json) == (200, {"approved": True, "reason": "unused"})
    used = await agent.uses(id)
    grant = used.json["grant"]
    assert (used.status, grant["state"], grant["use_id"], grant["by"]) == (200, "used", "u", "agent")
    assert (await agent.reads(id)).json == used.json


async def test_a_question_needs_an_operation_id_and_is_asked_once(house):
    agent, key = await house.agent(), new_id()
    assert problem(await agent.ask({"idempotency_key": None})) == (400, "key_required")
    first, again = await agent.ask({"idempotency_key": key}), await agent.ask({"idempotency_key": key})
    assert first.json == again.json
    assert again.headers["idempotent-replayed"] == "true"
    assert len((await agent("GET", "/v1/approvals")).json["items"]) == 1


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("artifact", {"reference": "r", "version": "1", "hash": ""}),
        ("artifact", {"reference": "r", "version": "1"}),
        ("artifact", {"reference": "", "version": "1", "hash": ONE.hash}),
        ("artifact", {"reference": "r", "version": "1", "hash": "sha256:" + "A" * 64}),
        ("artifact", {"reference": "r", "version": "1", "hash": f"{ONE.hash}\n"}),
        ("artifact", {"reference": "r\x00", "version": "1", "hash": ONE.hash}),
        ("artifact", {"reference": "r", "version": "1", "hash": ONE.hash, "length": -1}),
        ("title", ""),
        ("title", "x" * 2_001),
        ("quorum", 0),
        ("quorum", 101),
        ("approvers", []),
        ("approvers", ["an na"]),
        ("expires_in_seconds", 0),
        ("usable_seconds", 1e12),
        ("artifacts", 1),
    ],
)
async def test_what_is_no_question(house, member, value):
    agent = await house.agent()
    assert problem(await agent.ask(**{member: value})) == (400, "bad_member")


async def test_rules_of_a_question(house):
    agent = await house.agent()
    assert problem(await agent.ask(approvers=["anna", "agent"], quorum=2)) == (422, "quorum_unreachable")
    assert problem(await agent.ask(approvers="approvals:everything")) == (422, "bad_scope")
    assert problem(await agent.ask({"fence": '"lock:none";fence=1'})) == (409, "stale_fence")


async def test_who_may_come_in(house):
    """Voting is for people; asking, using and reading each have their scope. A revocation takes one of two."""
    agent, anna = await house.agent(), await house.enter("anna")
    id = await agent.asked()
    program = await house.enter("robot", "service", ("approvals:request", "approvals:read"))
    reader = await house.enter("rita", "person", ("approvals:read",))
    assert problem(await program.votes(id)) == (403, "missing_scope")
    assert problem(await reader.votes(id)) == (403, "missing_scope")
    assert problem(await program.uses(id)) == (403, "missing_scope")
    assert problem(await reader.ask()) == (403, "missing_scope")
    assert problem(await reader.says("revoke", id)) == (403, "missing_scope")
    assert (await reader.reads(id)).status == 200
    await anna.votes(id)
    assert problem(await program.says("revoke", id)) == (403, "not_approver")
    assert (await anna.says("revoke", id)).json["grant"]["state"] == "revoked"


async def test_refused_votes(house):
    agent, anna, bert = await house.agent(), await house.enter("anna"), await house.enter("bert")
    id = await agent.asked(quorum=2)
    mismatch = await anna.votes(id, hash=TWO.hash)
    assert problem(mismatch) == (409, "artifact_mismatch")
    assert mismatch.json["artifact"] == named(ONE)
    assert problem(await anna("POST", f"/v1/approvals/{id}/votes", {"decision": "approve"})) == (
        409,
        "artifact_mismatch",
    )
    assert (await anna.votes(id)).json["state"] == "pending"
    assert (await anna.votes(id)).status == 200
    other = await anna.votes(id, "reject")
    assert (problem(other), other.json["decision"]) == ((409, "already_voted"), "approve")
    await bert.votes(id, "reject")
    late = await (await house.enter("carl")).votes(id)
    assert (problem(late), late.json["outcome"]) == ((409, "approval_ended"), "rejected")
    assert problem(await anna.says("withdraw", id)) == (403, "not_requester")
    assert problem(await agent.says("withdraw", id)) == (409, "approval_ended")
    mine = await anna.asked()
    assert problem(await anna.votes(mine)) == (403, "not_approver")
    assert (await anna.says("withdraw", mine)).json["state"] == "withdrawn"


async def test_refused_uses(house):
    agent, anna = await house.agent(), await house.enter("anna")
    id = await agent.asked()
    early = await agent.uses(id)
    assert (problem(early), early.json["reason"]) == ((409, "not_usable"), "pending")
    await anna.votes(id)
    assert problem(await agent.uses(id, TWO)) == (409, "artifact_mismatch")
    assert problem(await agent.says("use", id, {"use_id": "u"})) == (409, "artifact_mismatch")
    assert problem(await agent.says("use", id, named(ONE))) == (400, "bad_member")
    assert (await agent.uses(id)).status == (await agent.uses(id)).status == 200
    assert problem(await agent.uses(id, use_id="v")) == (409, "already_used")
    assert problem(await agent.says("revoke", id)) == (409, "already_used")
    no = await agent.says("verify", id, {**named(ONE), "use_id": "v"})
    assert no.json == {"approved": False, "reason": "used"}
    assert (await agent.says("verify", id)).json == {"approved": False, "reason": "artifact_mismatch"}


async def test_conditions_and_fences(house):
    agent, anna = await house.agent(), await house.enter("anna")
    id = await agent.asked()
    stale = await anna.votes(id, headers={"if_match": '"7"'})
    assert (problem(stale), stale.json["current_revision"]) == ((412, "condition_false"), 1)
    assert problem(await anna.votes(id, headers={"if_match": "*"})) == (428, "condition_inexact")
    assert problem(await anna.votes(id, headers={"fence": '"lock:none";fence=1'})) == (409, "stale_fence")
    assert (await anna.votes(id, headers={"if_match": '"1"'})).status == 200
    for verb in ("withdraw", "revoke"):
        assert problem(await agent.says(verb, id, if_match='"1"')) == (412, "condition_false")
    assert problem(await agent.uses(id, if_match='"1"')) == (412, "condition_false")
    assert problem(await agent.says("verify", id, named(ONE), if_match='"3"')) == (400, "bad_header")


@pytest.mark.parametrize("id", [NOBODY, "none", NOBODY.upper()])
async def test_what_is_not_there(house, id):
    agent, anna = await house.agent(), await house.enter("anna")
    missing = [await agent.reads(id), await anna.votes(id), await agent.uses(id), await agent.says("withdraw", id),
               await anna.says("revoke", id), await agent.says("verify", id, named(ONE))]  # fmt: skip
    assert [problem(answer) for answer in missing] == [(404, "not_found")] * 6


async def test_another_workspace_is_not_there(house, database, dsn):
    agent = await house.agent()
    id = await agent.asked()
    stranger = await type(house)(house.player, database.new_workspace()).enter("anna")
    assert problem(await stranger.reads(id)) == problem(await stranger.votes(id)) == (404, "not_found")
    assert (await agent.reads(id)).json["state"] == "pending"


async def test_a_reader_waits_for_the_decision(house):
    agent, anna = await house.agent(), await house.enter("anna")
    id = await agent.asked()
    assert (await agent.reads(id, if_none_match='"1"')).status == 304
    waiting = asyncio.create_task(agent.reads(id, "?wait_seconds=20", if_none_match='"1"'))
    await anna.votes(id)
    answer = await waiting
    assert (answer.status, answer.json["state"]) == (200, "approved")


async def test_a_reader_sees_the_expiry_before_the_sweep(house, clock):
    agent = await house.agent()
    id = await agent.asked()
    waiting = asyncio.create_task(agent.reads(id, "?wait_seconds=20", if_none_match='"1"'))
    clock.move(HOUR)
    answer = await waiting
    assert (answer.json["state"], answer.headers["etag"]) == ("expired", '"2"')


async def test_lists_page_and_filter(house):
    agent, anna = await house.agent(), await house.enter("anna")
    ids = [await agent.asked() for _ in range(3)]
    await anna.votes(ids[1])
    first = (await agent("GET", "/v1/approvals?limit=2")).json
    rest = (await agent("GET", f"/v1/approvals?limit=2&cursor={first['next_cursor']}")).json
    assert [item["approval_id"] for item in first["items"] + rest["items"]] == ids[::-1]
    (approved,) = (await agent("GET", "/v1/approvals?state=approved")).json["items"]
    assert (approved["approval_id"], len(approved["votes"])) == (ids[1], 1)
    assert problem(await agent("GET", "/v1/approvals?state=unused")) == (400, "bad_query")
    odd = write_cursor("approvals", "none of ours")
    assert problem(await agent("GET", f"/v1/approvals?cursor={odd}")) == (400, "bad_cursor")
