"""The pages of approvals: exactly what is decided about, how it differs, who may decide, and when."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace

import msgspec
import pytest

from steadhold.kit import limits
from steadhold.kit.ids import new_id
from tests.dashboard.hostile import HOSTILE, unsafe
from tests.dashboard.sealing import sealed_for
from tests.dashboard.seats import key_of
from tests.web.toy import Client

HASH = "sha256:" + "a" * 64


@pytest.fixture
async def program(app, workspace):
    """The door of a program that asks and acts, and does not decide."""
    return Client(app, await key_of(app, workspace, kind="service", scopes=("approvals:*", "context:*")))


async def ask(program, reference="plan/deploy", version="7", hash=HASH, **more):
    said = {"action": "deploy", "title": "Deploy?", "expires_in_seconds": 600, **more}
    said["artifact"] = {"reference": reference, "version": version, "hash": hash}
    made = await program("POST", "/v1/approvals", msgspec.json.encode(said), idempotency_key=new_id())
    assert made.status == 201, made.body
    return made.json["approval_id"]


async def written(program, text, revision=0, path="plans/a.md"):
    """A revision of a file, and the question about it."""
    body = text if isinstance(text, bytes) else text.encode()
    condition = {"if_match": f'"{revision}"'} if revision else {"if_none_match": "*"}
    made = await program("PUT", f"/v1/context/{path}", body, content_type="text/markdown", **condition)
    assert made.status in {200, 201}, made.body
    return {
        "reference": made.json["reference"],
        "version": str(made.json["revision"]),
        "hash": "sha256:" + hashlib.sha256(body).hexdigest(),
    }


async def standing(door, id):
    return (await door("GET", f"/v1/approvals/{id}")).json


def stale(seat, monkeypatch):
    """Let the session be older than a vote may be."""
    front = seat.client.app._people._app
    find = front._sessions.find

    async def found(text):
        session = await find(text)
        return None if session is None else replace(session, age_seconds=limits.SESSION_FRESH_SECONDS)

    monkeypatch.setattr(front._sessions, "find", found)


async def test_it_shows_exactly_what_is_decided_about(seat, program):
    id = await ask(program, note="Read the plan first.")
    page = await seat.get(f"/approvals/{id}")
    for told in ("plan/deploy", "7", HASH, "Read the plan first.", "Deploy?", "service-"):
        assert told in page.text
    assert f'name="hash" value="{HASH}"' in page.text
    assert "Its bytes are not kept here" in page.text
    assert f'href="/ui/approvals/{id}"' in (await seat.get("/approvals")).text


@pytest.mark.parametrize(("decision", "state"), [("approve", "approved"), ("reject", "rejected")])
async def test_a_vote_is_about_the_hash_that_was_shown(seat, program, door, decision, state):
    id = await ask(program)
    done = await seat.post(f"/approvals/{id}/vote", decision=decision, hash=HASH, comment="looked\r\ntwice")
    assert (done.status, done.location) == (303, f"/ui/approvals/{id}")
    now = await standing(door, id)
    assert (now["state"], now["votes"][0]["comment"]) == (state, "looked\ntwice")
    page = await seat.get(f"/approvals/{id}")
    assert "Your vote is kept." in page.text
    assert 'name="decision"' not in page.text
    (row,) = (await door("GET", "/v1/audit?kind=dashboard.approvals.votes")).json["items"]
    assert row["resource"] == f"/v1/approvals/{id}/votes"


async def test_a_vote_about_anything_else_is_refused_and_says_why(seat, program, door):
    id = await ask(program)
    for hash in ("", "sha256:" + "b" * 64):
        page = await seat.post(f"/approvals/{id}/vote", decision="approve", hash=hash)
        assert (page.status, "artifact_mismatch" in page.text) == (409, True)
        assert "What you named is not exactly what is decided about" in page.text
        assert HASH in page.text
    assert (await standing(door, id))["state"] == "pending"


async def test_a_vote_needs_a_login_of_the_last_minutes(seat, program, door, monkeypatch):
    id = await ask(program)
    stale(seat, monkeypatch)
    page = await seat.get(f"/approvals/{id}")
    assert 'name="decision"' not in page.text
    assert f"/ui/login?next=%2Fui%2Fapprovals%2F{id}" in page.text
    refused = await seat.post(f"/approvals/{id}/vote", decision="approve", hash=HASH)
    assert (refused.status, refused.code) == (403, "login_not_fresh")
    assert f"approvals%2F{id}" in refused.text
    assert (await standing(door, id))["state"] == "pending"


async def test_who_does_not_decide_is_told_why_before_and_after(app, workspace, seated, program, door):
    id = await ask(program, approvers=["anna"])
    voter = await seated("approvals:read", "approvals:vote")
    page = await voter.get(f"/approvals/{id}")
    assert ("This subject is not among the approvers." in page.text, 'name="decision"' in page.text) == (True, False)
    refused = await voter.post(f"/approvals/{id}/vote", decision="approve", hash=HASH)
    assert (refused.status, "not_approver" in refused.text) == (403, True)
    reader = await seated("approvals:read")
    assert "lacks the scope approvals:vote" in (await reader.get(f"/approvals/{id}")).text
    assert (await reader.post(f"/approvals/{id}/vote", decision="approve", hash=HASH)).code == "missing_scope"
    service = await seated("approvals:read", "approvals:request", kind="service")
    assert "Only people decide" in (await service.get(f"/approvals/{id}")).text
    assert (await standing(door, id))["votes"] == []


async def test_who_asked_does_not_decide_and_may_withdraw(seat, door):
    id = await ask(door)
    page = await seat.get(f"/approvals/{id}")
    assert "Who asks does not decide" in page.text
    done = await seat.post(f"/approvals/{id}/withdraw")
    assert done.status == 303
    assert (await standing(door, id))["state"] == "withdrawn"
    again = await seat.post(f"/approvals/{await ask(door)}/revoke")
    assert (again.status, "not_usable" in again.text) == (409, True)


async def test_a_grant_is_revoked_before_it_is_used(seat, program, door):
    id = await ask(program)
    assert (await seat.post(f"/approvals/{id}/vote", decision="approve", hash=HASH)).status == 303
    assert "Revoke" in (await seat.get(f"/approvals/{id}")).text
    assert (await seat.post(f"/approvals/{id}/revoke")).status == 303
    assert (await standing(door, id))["grant"]["state"] == "revoked"
    use = {"reference": "plan/deploy", "version": "7", "hash": HASH, "use_id": "u"}
    assert (await program("POST", f"/v1/approvals/{id}/use", msgspec.json.encode(use))).status == 409


async def test_a_file_is_shown_beside_what_was_approved_last(seat, program):
    first = await written(program, "# Plan\nbuy 1\nsell 2\n")
    before = await ask(program, **first)
    page = await seat.get(f"/approvals/{before}")
    assert ("buy 1" in page.text, "What changed since" in page.text) == (True, False)
    assert (await seat.post(f"/approvals/{before}/vote", decision="approve", hash=first["hash"])).status == 303
    second = await written(program, "# Plan\nbuy 1000\nsell 2\n", 1)
    id = await ask(program, **second)
    page = await seat.get(f"/approvals/{id}")
    assert re.search(r"<del>-buy 1</del><ins>\+buy 1000</ins>", page.text)
    assert f'href="/ui/approvals/{before}"' in page.text
    assert '<span class="kept"> sell 2</span>' in page.text
    file = await seat.get(f"/approvals/{id}/artifact")
    assert (file.body, file.headers["content-disposition"][:10]) == (b"# Plan\nbuy 1000\nsell 2\n", "attachment")
    (rejected, third) = (await ask(program, **await written(program, "x", 2)), await written(program, "# Plan\n", 3))
    assert (await seat.post(f"/approvals/{rejected}/vote", decision="reject", hash="")).status == 409
    assert f'href="/ui/approvals/{before}"' in (await seat.get(f"/approvals/{await ask(program, **third)}")).text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (b"same", b"same", "The bytes are the same."),
        (b"\x00\xff", b"text", "They are no text"),
        (b"a\n" * 1_500, b"b\n" * 1_500, "They are too long"),
        (b"a" * 70_000, b"b" * 70_000, "They are too long"),
    ],
)
async def test_what_cannot_be_compared_says_so(seat, program, old, new, told):
    first = await written(program, old)
    before = await ask(program, **first)
    assert (await seat.post(f"/approvals/{before}/vote", decision="approve", hash=first["hash"])).status == 303
    id = await ask(program, **await written(program, new, 1))
    assert told in (await seat.get(f"/approvals/{id}")).text


@pytest.mark.parametrize("scopes", [("context:read",), ("payloads:read",), ("payloads:read", "context:read:elsewhere")])
async def test_who_may_not_read_the_file_sees_neither_it_nor_a_difference(seat, seated, program, scopes):
    first = await written(program, "ZEBRA one")
    before = await ask(program, **first)
    assert (await seat.post(f"/approvals/{before}/vote", decision="approve", hash=first["hash"])).status == 303
    id = await ask(program, **await written(program, "ZEBRA two", 1))
    reader = await seated("approvals:read", *scopes)
    page = await reader.get(f"/approvals/{id}")
    assert (page.status, "ZEBRA" in page.text, "context:plans/a.md" in page.text) == (200, False, True)
    assert (await reader.get(f"/approvals/{id}/artifact")).status == 403


async def test_a_sealed_artifact_is_shown_as_sealed(seat, program, door, workspace):
    envelope = await sealed_for(door, workspace, "context", "vault/a.txt", b"x", "text/plain")
    hash = hashlib.sha256(envelope).hexdigest()
    id = await ask(program, f"context:vault/a.txt@1#sha256:{hash}", "1", f"sha256:{hash}")
    page = await seat.get(f"/approvals/{id}")
    assert ('class="pill sealed"' in page.text, envelope[:60].decode() in page.text) == (True, False)


async def test_what_is_asked_and_decided_about_is_text(seat, program):
    made = await written(program, HOSTILE, path="plans/hostile.md")
    texts = {"title": HOSTILE, "action": HOSTILE, "note": HOSTILE}
    id = await ask(program, HOSTILE, HOSTILE[:100], HASH, **texts)
    assert unsafe(await seat.get(f"/approvals/{id}"), HOSTILE, HOSTILE[:100]) == []
    assert unsafe(await seat.get("/approvals"), HOSTILE) == []
    assert (await seat.post(f"/approvals/{id}/vote", decision="reject", hash=HASH, comment=HOSTILE)).status == 303
    assert unsafe(await seat.get(f"/approvals/{id}"), HOSTILE) == []
    first = await ask(program, **made)
    assert unsafe(await seat.get(f"/approvals/{first}"), HOSTILE) == []
    assert (await seat.post(f"/approvals/{first}/vote", decision="approve", hash=made["hash"])).status == 303
    second = await ask(program, **await written(program, HOSTILE + "\nmore", 1, "plans/hostile.md"))
    assert unsafe(await seat.get(f"/approvals/{second}"), " " + HOSTILE, "+more") == []


async def test_those_of_other_states_are_listed_apart(seat, program):
    id = await ask(program, title="To be decided")
    gone = await ask(program, title="Decided already")
    assert (await seat.post(f"/approvals/{gone}/vote", decision="reject", hash=HASH)).status == 303
    listed = {state: (await seat.get(f"/approvals{state}")).text for state in ("", "?state=rejected", "?state=")}
    shown = {state: [id in text, gone in text] for state, text in listed.items()}
    assert shown == {"": [True, False], "?state=rejected": [False, True], "?state=": [True, True]}
