"""commits over HTTP: each item as on its own route, all of them or none."""

from __future__ import annotations

import msgspec
import pytest

from steadhold import commits, locks
from steadhold.commits.ops import APPLY, REQUIRE
from steadhold.kit.ids import new_id
from steadhold.locks.routes import free, line

pytestmark = pytest.mark.usefixtures("clock")  # it stands: who is slow to say that it waits is counted all the same

HASH = "sha256:" + "a" * 64
MEANT = {"effect_id": "e", "kind": "k", "target": "t", "request_digest": HASH}
ARTIFACT = {"reference": "release", "version": "1", "hash": HASH}


def put(name, value=1, **condition):
    return {"op": "state.put", "name": name, "value": value, **(condition or {"if_none_match": "*"})}


async def revision(house, name):
    got = await house.ask("GET", f"/v1/state/{name}")
    return int(got.headers["revision"]) if got.status == 200 else None


async def test_every_op_in_one_commit(house):
    """All that can be required and applied, together; each answers what its own route would."""
    await house.put("config")
    await house.put("old")
    job, other, fence = await house.running(), await house.running(), await house.locked()
    approval, epoch = await house.approved(**ARTIFACT), await house.inbox()
    for name in ("o", "p"):
        await house.ask("POST", f"/v1/aggregates/{name}/events", {"events": [{"type": "t"}]}, if_none_match="*")
    require = [
        {"op": "locks.get", "name": "deploy", "fence": fence},
        {"op": "jobs.get", "job_id": job["job_id"], "fence": job["fence"], "if_match": job["revision"]},
        {"op": "state.get", "name": "config", "if_match": 1},
        {"op": "state.get", "name": "halt", "if_none_match": "*"},
        {"op": "approvals.verify", "approval_id": approval, **ARTIFACT},
        {"op": "aggregates.get", "aggregate_id": "o", "if_match": 1},
        {"op": "consumers.get", "inbox": "a", "consumer": "c", "epoch": epoch, "position": 0},
        {"op": "context.get", "path": "halt", "if_none_match": "*"},
    ]
    apply = [
        {"op": "approvals.use", "approval_id": approval, "use_id": "u1", **ARTIFACT},
        put("a/b", 7),
        {"op": "state.delete", "name": "old", "if_match": 1},
        {"op": "jobs.submit", "type": "next", "input": {"n": 1}},
        {"op": "jobs.checkpoint", "job_id": other["job_id"], "stage": "s", "fence": other["fence"], "result": 1},
        {"op": "jobs.settle", "job_id": job["job_id"], "fence": job["fence"], "outcome": {"state": "completed"}},
        {"op": "locks.release", "name": "deploy", "fence": fence},
        {"op": "inboxes.append", "inbox": "a", "key": "k", "type": "t", "data": 1},
        {"op": "consumers.acknowledge", "inbox": "a", "consumer": "c", "epoch": epoch, "sequence": 1},
        {"op": "events.append", "aggregate_id": "p", "events": [{"type": "t", "data": 1}], "if_match": 1},
        {"op": "effects.plan", **MEANT, "job_id": other["job_id"], "job_fence": other["fence"]},
        {"op": "context.put", "path": "a/b", "text": "x", "if_none_match": "*"},
    ]
    assert {item["op"] for item in require} == set(REQUIRE)
    assert {item["op"] for item in apply} == set(APPLY)
    got = await house.commit(require=require, apply=apply)
    assert got.status == 200, got.json
    assert [done["status"] for done in got.json["require"]] == [200] * len(require)
    assert [done["op"] for done in got.json["apply"]] == [item["op"] for item in apply]
    statuses = [200, 201, 204, 202, 201, 200, 204, 201, 200, 201, 201, 201]
    assert [done["status"] for done in got.json["apply"]] == statuses
    used, made, deleted, submitted, _, settled, _, appended, acked, told, planned, written = got.json["apply"]
    assert used["result"]["grant"]["state"] == "used"
    assert (made["revision"], made["result"]) == (1, {"name": "a/b", "revision": 1})
    assert (deleted["revision"], "result" in deleted) == (2, False)
    assert settled["result"]["state"] == "completed"
    assert (appended["result"]["sequence"], acked["result"]["position"]) == (2, 1)
    assert (told["revision"], told["result"]["event_ids"]) == (2, ["p@2"])
    assert (written["revision"], written["result"]["path"]) == (1, "a/b")
    assert (planned["result"]["execution"], planned["result"]["job_id"]) == ("planned", other["job_id"])
    assert (await house.ask("GET", f"/v1/jobs/{submitted['result']['job_id']}")).json["state"] == "accepted"
    assert not (await house.ask("GET", "/v1/locks/deploy")).json["held"]


def test_capabilities_list_the_ops():
    """What a client may send is what there is."""
    told = commits.CAPABILITIES["commits"]
    assert told == {"require": sorted(REQUIRE), "apply": sorted(APPLY)}


REFUSED = {
    "condition": (put("config", if_match=9), 412, "condition_false", {"current_revision": 1}),
    "created already": (put("config"), 412, "condition_false", {"current_revision": 1}),
    "nothing to replace": (put("none", if_match=9), 412, "condition_false", {}),
    "nothing to delete": ({"op": "state.delete", "name": "none", "if_match": 1}, 404, "not_found", {}),
    "no condition": ({"op": "state.put", "name": "a", "value": 1}, 428, "condition_required", {}),
    "lost lock": ({"op": "locks.release", "name": "deploy", "fence": 7}, 409, "lock_lost", {}),
    "no such job": (
        {"op": "jobs.settle", "job_id": new_id(), "fence": 1, "outcome": {"state": "cancelled"}}, 404, "not_found", {},
    ),
    "malformed id": ({"op": "jobs.settle", "job_id": "x", "fence": 1, "outcome": {}}, 404, "not_found", {}),
    "no approval": ({"op": "approvals.use", "approval_id": new_id(), "use_id": "u", **ARTIFACT}, 404, "not_found", {}),
    "unknown op": ({"op": "state.get", "name": "a"}, 422, "unknown_op", {"op": "state.get"}),
    "one name twice": (put("one"), 422, "repeated_name", {"name": "state:one"}),
    "bad name": (put("a//b"), 400, "bad_name", {}),
    "unknown member": (put("a") | {"more": 1}, 400, "bad_member", {"pointer": "/apply/2/more"}),
    "a condition it does not take": (
        {"op": "jobs.submit", "type": "t", "if_match": 1}, 400, "bad_member", {"pointer": "/apply/2/if_match"},
    ),
    "no value": ({"op": "state.put", "name": "a", "if_match": 1}, 400, "bad_member", {"pointer": "/apply/2/value"}),
    "a revision that is none": (put("a", if_match="1"), 400, "bad_member", {"pointer": "/apply/2/if_match"}),
    "inside a member": (
        {"op": "jobs.settle", "job_id": new_id(), "fence": "1", "outcome": {"state": "cancelled"}},
        400, "bad_member", {"pointer": "/apply/2/fence"},
    ),
    "no op": ({"name": "a"}, 400, "bad_member", {"pointer": "/apply/2/op"}),
    "no object": (7, 400, "bad_member", {"pointer": "/apply/2"}),
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
async def test_a_refusal_is_its_rooms_own(house, why):
    """Item 3 is refused by its room's status and code, with its place; nothing of 1 and 2, and the key is free."""
    third, status, code, extras = REFUSED[why]
    await house.put("config")
    key = new_id()
    got = await house.commit(apply=[put("one"), put("two"), third, put("four")], idempotency_key=key)
    assert (got.status, got.json["code"]) == (status, code), got.json
    assert (got.json["list"], got.json["index"]) == ("apply", 2)
    assert {name: got.json[name] for name in extras} == extras
    assert await revision(house, "one") is None
    assert await revision(house, "two") is None
    assert (await house.ask("GET", f"/v1/operations/{key}")).status == 404
    again = await house.commit(apply=[put("one")], idempotency_key=key)
    assert (again.status, "idempotent-replayed" in again.headers) == (200, False)


FALSE = {
    "another revision": ({"op": "state.get", "name": "config", "if_match": 2}, 412, "condition_false"),
    "absence": ({"op": "state.get", "name": "config", "if_none_match": "*"}, 412, "condition_false"),
    "presence": ({"op": "state.get", "name": "none", "if_match": 1}, 412, "condition_false"),
    "no condition": ({"op": "state.get", "name": "config"}, 428, "condition_required"),
    "a fence": ({"op": "locks.get", "name": "deploy", "fence": 1}, 409, "stale_fence"),
    "a job's fence": ({"op": "jobs.get", "job_id": new_id(), "fence": 1}, 409, "stale_fence"),
    "a job's revision": ({"op": "jobs.get", "job_id": new_id(), "if_match": 1}, 404, "not_found"),
    "nothing of a job": ({"op": "jobs.get", "job_id": new_id()}, 428, "condition_required"),
    "an approval": ({"op": "approvals.verify", "approval_id": new_id(), **ARTIFACT}, 404, "not_found"),
    "an unknown op": ({"op": "state.put", "name": "a"}, 422, "unknown_op"),
}


@pytest.mark.parametrize("which", FALSE)
async def test_a_false_condition(house, which):
    """A condition that is not true: its room's refusal, and where it stands."""
    condition, status, code = FALSE[which]
    await house.put("config")
    got = await house.commit(require=[condition], apply=[put("one")])
    assert (got.status, got.json["code"], got.json["list"], got.json["index"]) == (status, code, "require", 0)
    assert await revision(house, "one") is None


@pytest.mark.parametrize("op", ["state.put", "state.delete"])
async def test_a_condition_is_asked_for_in_the_words_of_a_commit(house, op):
    item = {"op": op, "name": "a"} | ({"value": 1} if op == "state.put" else {})
    got = await house.commit(apply=[item])
    assert got.json["code"] == "condition_required"
    assert got.json["detail"].startswith('Say "if_match" with the revision')


async def test_an_approval_of_another_artifact(house):
    """Approved is exactly one version with one hash; another is neither verified nor used."""
    approval = await house.approved(**ARTIFACT)
    newer = ARTIFACT | {"version": "2", "hash": "sha256:" + "b" * 64}
    got = await house.commit(
        require=[{"op": "approvals.verify", "approval_id": approval, **newer}], apply=[put("one")]
    )  # fmt: skip
    assert (got.status, got.json["code"]) == (409, "artifact_mismatch")
    use = {"op": "approvals.use", "approval_id": approval, "use_id": "u"}
    got = await house.commit(apply=[put("one"), use | newer])
    assert (got.status, got.json["code"], got.json["index"]) == (409, "artifact_mismatch", 1)
    assert await revision(house, "one") is None
    assert (await house.commit(apply=[put("one"), use | ARTIFACT])).status == 200
    again = await house.commit(apply=[put("two"), use | ARTIFACT | {"use_id": "v"}])
    assert (again.status, again.json["code"]) == (409, "already_used")


async def test_a_key_may_do_here_what_it_may_do_there(house):
    """The scope of each item, on its name; and no scope is needed for the commit itself."""
    narrow = await house.key("state:write:team/a", "jobs:submit")
    mine = [put("team/a/x"), {"op": "jobs.submit", "type": "t"}]
    assert (await house.commit(apply=mine, ask=narrow)).status == 200
    for n, (require, item) in enumerate([
        ([], put("team/b")),
        ([], {"op": "locks.release", "name": "deploy", "fence": 1}),
        ([{"op": "state.get", "name": "team/a/x", "if_match": 1}], None),
    ]):  # fmt: skip
        apply = [put(f"team/a/{n}"), *([item] if item else [])]
        got = await house.commit(require=require, apply=apply, ask=narrow)
        assert (got.status, got.json["code"]) == (403, "missing_scope")
        assert (got.json["list"], got.json["index"]) == (("require", 0) if require else ("apply", 1))
        assert await revision(house, f"team/a/{n}") is None


async def test_a_replay_answers_the_same(house):
    """One key, one effect; the answer again, byte for byte; another commit under it is refused."""
    key, apply = new_id(), [put("one"), {"op": "jobs.submit", "type": "t"}, {"op": "jobs.submit", "type": "t"}]
    first = await house.commit(apply=apply, idempotency_key=key)
    ids = {done["result"]["job_id"] for done in first.json["apply"][1:]}
    assert len(ids) == 2
    again = await house.commit(apply=apply, idempotency_key=key)
    assert (again.status, again.body, again.headers["idempotent-replayed"]) == (200, first.body, "true")
    assert len((await house.ask("GET", "/v1/jobs")).json["items"]) == 2
    other = await house.commit(apply=[put("two")], idempotency_key=key)
    assert (other.status, other.json["code"]) == (422, "operation_mismatch")
    receipt = (await house.ask("GET", f"/v1/operations/{key}")).json
    assert (receipt["kind"], receipt["result"]) == ("commits.run", first.json)


async def test_a_receipt_is_shown_to_whoever_may_do_each_item(house):
    """Neither half of the scopes is enough to read or abandon what a commit did; both are."""
    key = new_id()
    apply = [put("team/a"), {"op": "jobs.submit", "type": "t"}]
    assert (await house.commit(apply=apply, idempotency_key=key)).status == 200
    for scopes, status in [
        (["state:write"], 403), (["jobs:submit"], 403), (["jobs:submit", "state:write:team/b"], 403),
        (["jobs:submit", "state:write:team"], 200), (["operations:admin"], 200),
    ]:  # fmt: skip
        ask = await house.key(*scopes)
        assert (await ask("GET", f"/v1/operations/{key}")).status == status, scopes
        assert (await ask("POST", f"/v1/operations/{key}/abandon")).status == status, scopes


async def test_a_commit_needs_its_key(house):
    """Without an operation id nobody could learn what became of it."""
    got = await house.commit(apply=[put("one")], idempotency_key="")
    assert got.status == 400


@pytest.mark.parametrize(
    "body, pointer",
    [
        ({}, "/apply"),
        ({"require": [{"op": "state.get", "name": "a", "if_none_match": "*"}]}, "/apply"),
        ({"apply": [put(str(n)) for n in range(65)]}, "/apply"),
        ({"apply": {}}, "/apply"),
        ({"apply": [put("a")], "more": 1}, "/more"),
        ([], ""),
    ],
)
async def test_what_is_no_commit(house, body, pointer):
    """At least one change, at most 64 items, two lists, nothing else."""
    got = await house.ask("POST", "/v1/commits", body)
    assert (got.status, got.json["code"], got.json["pointer"]) == (400, "bad_member", pointer)


async def test_64_items(house):
    """As many as there may be, all of them."""
    got = await house.commit(apply=[put(f"n/{n:02}", n) for n in range(64)])
    assert got.status == 200
    assert [done["revision"] for done in got.json["apply"]] == [1] * 64
    assert len((await house.ask("GET", "/v1/state?prefix=n")).json["items"]) == 64


async def test_a_value_has_its_own_limit(house):
    """A value that its own route would not take is not taken here."""
    value = msgspec.Raw(b'"' + b"x" * 1024 * 1024 + b'"')
    got = await house.commit(apply=[put("small"), put("large", value)])
    assert (got.status, got.json["code"], got.json["index"]) == (413, "too_large", 1)


async def test_who_waits_for_an_item_is_told(house):
    """A commit wakes those whom its items would have woken alone, and a refused one nobody."""
    fence = await house.locked()
    queued = locks.acquire.call(house.workspace, "deploy", "berta", 30.0, new_id(), request="r", waits=True)
    assert isinstance(await house.player.play(queued), locks.Queued)
    house.hub.topics.clear()
    apply = [put("a"), {"op": "jobs.submit", "type": "t"}, {"op": "locks.release", "name": "deploy", "fence": fence}]
    await house.commit(require=[{"op": "state.get", "name": "b", "if_match": 1}], apply=apply)
    assert house.hub.topics == []
    assert (await house.commit(apply=apply)).status == 200
    assert {("state", "a"), ("jobs", "t"), ("jobs",), line("deploy"), free("deploy")} <= set(house.hub.topics)


async def test_a_fence_header_guards_the_whole(house):
    """What Fence says is required, too, and is told without a place in the lists."""
    fence = await house.locked()
    held = f'"lock:deploy";fence={fence}'
    got = await house.commit(apply=[put("a"), {"op": "locks.release", "name": "deploy", "fence": fence}], fence=held)
    assert got.status == 200, got.json
    got = await house.commit(apply=[put("b")], fence=held)
    assert (got.status, got.json["code"], "list" in got.json) == (409, "stale_fence", False)
    assert await revision(house, "b") is None
