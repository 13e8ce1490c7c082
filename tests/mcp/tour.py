"""One walk through all tools: each is called and must say yes."""

from __future__ import annotations

import hashlib

DIGEST = "sha256:" + hashlib.sha256(b"the plan").hexdigest()
ARTIFACT = {"reference": "plan", "version": "1", "hash": DIGEST}


async def tour(agent, prepare):
    """Call every tool. `prepare` makes, through the API, what no tool makes: an inbox with a consumer, a schedule."""
    await prepare()
    await agent.do("whoami")
    await _documents(agent)
    await _locks(agent)
    await _jobs(agent)
    await _events(agent)
    await _effects(agent)
    await _approvals(agent)
    await _schedules(agent)
    guide = await agent.client.call_tool("guide_read", {"page": "jobs"})
    assert guide.content[0].text.startswith("# ")
    assert (await agent.client.list_resources()).resources


async def _documents(agent):
    put = await agent.do("state_put", name="a/b", value={"n": 1}, if_revision=0)
    known = await agent.do("operation_get", operation_id=put.facts["operation_id"])
    assert known.data["state"] == "committed"
    assert (await agent.do("state_get", name="a/b")).data == {"n": 1}
    assert [one["name"] for one in (await agent.do("state_list", prefix="a")).data["items"]] == ["a/b"]
    await agent.do("state_delete", name="a/b", if_revision=1)
    await agent.do("context_put", path="notes/a.txt", text="a note", if_revision=0)
    assert (await agent.do("context_get", path="notes/a.txt")).text == "a note"
    assert len((await agent.do("context_list")).data["items"]) == 1
    item = {"op": "state.put", "name": "c", "value": 1, "if_none_match": "*"}
    await agent.do("commit", apply=[item])


async def _locks(agent):
    fence = (await agent.do("lock_acquire", name="deploy", owner="agent", ttl_seconds=30)).data["fence"]
    await agent.do("lock_get", name="deploy")
    await agent.do("state_put", name="d", value=1, if_revision=0, fences=[{"grant": "lock:deploy", "fence": fence}])
    await agent.do("lock_renew", name="deploy", fence=fence, ttl_seconds=30)
    await agent.do("lock_release", name="deploy", fence=fence)


async def _jobs(agent):
    job = (await agent.do("job_submit", type="sum", input={"a": 1})).data["job_id"]
    assert (await agent.do("job_get", job_id=job)).data["state"] == "accepted"
    assert (await agent.do("job_input", job_id=job)).data == {"a": 1}
    (claimed,) = (await agent.do("job_claim", worker="agent", types=["sum"])).data["jobs"]
    fence = claimed["fence"]
    await agent.do("job_heartbeat", job_id=job, fence=fence, progress={"done": 0.5})
    await agent.do("job_checkpoint", job_id=job, stage="read", fence=fence, result=[1])
    await agent.do("job_settle", job_id=job, fence=fence, outcome={"state": "completed", "result": 3})
    assert (await agent.do("job_wait", job_id=job, wait_seconds=5)).data["state"] == "completed"
    assert (await agent.do("job_result", job_id=job)).data == 3
    again = (await agent.do("job_retry", job_id=job)).data["job_id"]
    await agent.do("job_signal", job_id=again, name="go", data=True)
    await agent.do("job_cancel", job_id=again, reason="enough")
    assert len((await agent.do("job_list", type="sum")).data["items"]) == 2


async def _events(agent):
    await agent.do("inbox_append", inbox="orders", type="order.paid", data={"amount": 12.5})
    page = (await agent.do("inbox_read", inbox="orders")).data
    assert [one["type"] for one in page["events"]] == ["order.paid"]
    await agent.do("inbox_ack", inbox="orders", consumer="books", epoch=page["epoch"], sequence=1)
    await agent.do("inbox_consumer", inbox="orders", consumer="books")
    await agent.do("inbox_list")
    happened = [{"type": "order.placed", "data": {"n": 1}}]
    await agent.do("event_append", aggregate_id="order:1", aggregate_type="order", events=happened, if_revision=0)
    assert len((await agent.do("event_list", aggregate_id="order:1")).data["items"]) == 1


async def _effects(agent):
    plan = {"kind": "payment", "target": "venue", "request_digest": DIGEST}
    await agent.do("effect_plan", effect_id="pay-1", **plan)
    await agent.do("effect_initiate", effect_id="pay-1")
    await agent.do("effect_outcome", effect_id="pay-1", execution="unknown")
    seen = {"evidence_ref": "statement/7", "evidence_id": "line-3"}
    await agent.do("effect_reconcile", effect_id="pay-1", outcome="succeeded", **seen)
    await agent.do("effect_get", effect_id="pay-1")
    await agent.do("effect_list")


async def _approvals(agent):
    question = {"artifact": ARTIFACT, "action": "deploy", "title": "Deploy it?", "expires_in_seconds": 600}
    made = (await agent.do("approval_request", **question)).data["approval_id"]
    assert (await agent.do("approval_status", approval_id=made)).data["state"] == "pending"
    assert (await agent.do("approval_wait", approval_id=made, wait_seconds=0.01)).data["state"] == "pending"
    assert (await agent.do("approval_verify", approval_id=made, **ARTIFACT)).data["approved"] is False
    await agent.refused("approval_use", "not_usable", approval_id=made, use_id="u", **ARTIFACT)
    await agent.do("approval_withdraw", approval_id=made)
    assert len((await agent.do("approval_list")).data["items"]) == 1


async def _schedules(agent):
    await agent.do("schedule_list")
    await agent.do("schedule_preview", schedule_id="nightly", count=2)
    await agent.do("schedule_trigger", schedule_id="nightly")
