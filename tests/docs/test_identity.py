"""docs/identity.md says what a repeat is answered: each row of names that somebody makes is tried."""

from __future__ import annotations

import re

import httpx2
import pytest

from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.sdk import Client
from steadhold.server.settings import Retention
from tests.docs.blocks import PAGES

PAGE = PAGES["identity"]
DIGEST = "sha256:" + 64 * "0"
ARTIFACT = {"reference": "plan", "version": "7", "hash": DIGEST}


def table(heading):
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:2] == "| "]
    return {row[0]: row[1:] for row in rows[1:]}


MADE = table("Names that you make")


class Sender:
    """Requests of one key, each with an operation id of its own unless it says one."""

    def __init__(self, http, key):
        self.http, self.key = http, key

    def __call__(self, method, target, body=None, operation=None, **fields):
        named = {"Idempotency-Key": operation or new_id()} if operation != "" else {}
        named |= {name.replace("_", "-"): value for name, value in fields.items()}
        return self.http.request(method, target, json=body, headers={"Authorization": f"Bearer {self.key}"} | named)

    def post(self, target, body, **more):
        return self("POST", target, body, **more)


def operation(send, client):
    name = new_id()
    return [send.post("/v1/jobs", {"type": type}, operation=name) for type in "aab"]


def claim(send, client):
    name = new_id()
    client.jobs.submit("t", {})
    client.jobs.submit("t", {})
    bodies = [{"worker": worker, "types": ["t"], "limit": 1} for worker in ("w", "w", "v")]
    answers = [send.post("/v1/jobs:claim", body, operation=name) for body in bodies]
    assert len({job["job_id"] for answer in answers for job in answer.json()["jobs"]}) == 1
    return answers


def lock(send, client):
    name = new_id()
    owners = ("ci-7", "ci-7", "ci-8")
    return [
        send.post("/v1/locks/deploy/acquire", {"owner": owner, "ttl_seconds": 30}, operation=name) for owner in owners
    ]


def unique_key(send, client):
    return [send.post("/v1/jobs", {"type": "t", "unique_key": "k", "input": n}) for n in (1, 1, 2)]


def stage(send, client):
    client.jobs.submit("t", {})
    (job,) = client.jobs.claim("w", ["t"])
    target = f"/v1/jobs/{job.job_id}/checkpoints/charge"
    return [send("PUT", target, {"fence": job.fence, "result": n}, operation="") for n in (1, 1, 2)]


def settlement(send, client):
    client.jobs.submit("t", {})
    (job,) = client.jobs.claim("w", ["t"])
    outcomes = [{"state": "completed", "result": n} for n in (1, 1, 2)]
    target = f"/v1/jobs/{job.job_id}/settle"
    return [send.post(target, {"fence": job.fence, "outcome": one}, operation="") for one in outcomes]


def inbox_key(send, client):
    client.inboxes["orders"].create()
    events = [{"type": "t", "data": n} for n in (1, 1, 2)]
    return [send.post("/v1/inboxes/orders/events", event, operation="order-7-paid") for event in events]


def event_id(send, client):
    found = []
    for aggregate, type in (("order-7", "a"), ("order-8", "a"), ("order-9", "b")):
        events = {"events": [{"type": type, "event_id": "paid-7"}]}
        found.append(send.post(f"/v1/aggregates/{aggregate}/events", events, If_None_Match="*"))
    return found


def planned(kind):
    return {"effect_id": "charge:7", "kind": kind, "target": "venue", "request_digest": DIGEST}


def effect_id(send, client):
    return [send.post("/v1/effects", planned(kind)) for kind in ("charge", "charge", "refund")]


def evidence_id(send, client):
    send.post("/v1/effects", planned("charge"))
    send.post("/v1/effects/charge:7/initiate", {})
    facts = [{"execution": said, "evidence_id": "e-1"} for said in ("succeeded", "succeeded", "failed")]
    return [send.post("/v1/effects/charge:7/outcome", fact) for fact in facts]


def entry_id(send, client):
    entries = [{"entry_id": "order-7", "amount": amount, "currency": "EUR"} for amount in ("9.50", "9.50", "9.60")]
    return [send.post("/v1/journals/sales/entries", entry) for entry in entries]


def asked(send, quorum):
    question = {"artifact": ARTIFACT, "action": "deploy", "title": "Deploy?", "expires_in_seconds": 60}
    made = send.post("/v1/approvals", question | {"quorum": quorum, "allow_requester": True}).json()
    return f"/v1/approvals/{made['approval_id']}"


def vote(send, client):
    target = asked(send, 2)
    votes = [{"decision": "approve", "hash": DIGEST}] * 2 + [{"decision": "reject", "hash": DIGEST}]
    return [send.post(f"{target}/votes", one) for one in votes]


def use_id(send, client):
    target = asked(send, 1)
    send.post(f"{target}/votes", {"decision": "approve", "hash": DIGEST})
    return [send.post(f"{target}/use", ARTIFACT | {"use_id": name}) for name in ("deploy-7", "deploy-7", "deploy-8")]


TRIED = {
    "`Idempotency-Key`": operation,
    "`Idempotency-Key` of a claim": claim,
    "`Idempotency-Key` of a lock": lock,
    "`unique_key`": unique_key,
    "stage": stage,
    "job and `fence` of a settlement": settlement,
    "key of an event": inbox_key,
    "`event_id` that you choose": event_id,
    "`effect_id`": effect_id,
    "`evidence_id`": evidence_id,
    "`entry_id`": entry_id,
    "subject of a vote": vote,
    "`use_id`": use_id,
}


def test_each_row_is_tried():
    assert MADE.keys() == TRIED.keys()


@pytest.mark.parametrize("name", sorted(TRIED), ids=lambda name: name.replace("`", ""))
def test_a_row_is_so(name, site, key):
    again, other = MADE[name][2:4]
    with Client(site.url, key.key) as client, httpx2.Client(base_url=site.url) as http:
        first, *repeats = TRIED[name](Sender(http, key.key), client)
        assert first.status_code < 300, first.text
        told = [
            f"{one.status_code}" + (f" `{one.json()['code']}`" if one.status_code >= 400 else "") for one in repeats
        ]
    assert [re.match(r"\d{3}(?: `\w+`)?", cell)[0] for cell in (again, other)] == told


def test_how_long_a_name_is_known():
    days = {name: int(re.search(r"(\d+) days", MADE[name][4])[1]) for name in list(MADE)[:2]}
    assert list(days.values()) == [Retention().receipts_seconds / 86_400, limits.CLAIM_KEY_SECONDS_MAX / 86_400]
    assert limits.LOCK_KEY_SECONDS_MAX == 86_400
    assert f"and {Retention().inbox_keys_seconds // 86_400} days beyond" in MADE["key of an event"][4]
