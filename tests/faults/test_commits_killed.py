"""A server killed at each moment of a commit: everything of it is there, or nothing, and its receipt tells which."""

from __future__ import annotations

import psycopg
import pytest

from steadhold.kit import failpoints
from steadhold.kit.ids import new_id
from steadhold.play.caller import play
from tests.commits import desk
from tests.faults.servers import LOST, server

pytestmark = pytest.mark.journeys

BEFORE = (
    "received=kill", "tx_begun=kill:1", "operations.claim=kill", "plan.save=kill", "jobs.admission=kill",
    "fences.own=kill", "fences.hold=kill", "locks.release=kill", "jobs.admit=kill",
    "jobs.hold=kill", "jobs.stage_of=kill", "jobs.finish=kill", "jobs.keep=kill", "jobs.advance=kill",
    "state.hold=kill", "state.let_go=kill", "state.write=kill", "events.record=kill", "fences.drop=kill",
    "plan.keep=kill", "operations.seal=kill", "before_commit=kill:1",
    "inboxes.hold_consumer=kill", "inboxes.consumer=kill", "inboxes.acknowledge=kill",
    "inboxes.append=kill", "events.aggregate=kill", "events.create=kill",
    "context.rely=kill", "context.hold=kill", "context.write=kill", "context.pin=kill",
    "blobs.store=kill", "blobs.pin=kill", "commits.used=kill", "effects.plan=kill", "effects.look=kill",
    "effects.lines_of_jobs=kill", "effects.write_down=kill", "events.move=kill",
    "approvals.hold=kill", "approvals.deeds=kill", "approvals.write_down=kill", "approvals.move=kill",
    "access.record=kill", "events.require=kill",
)  # fmt: skip
AFTER = ("after_commit=kill:1", "reply_half_sent=kill")
JSON = {"content-type": "application/json"}
ARTIFACT = {"reference": "plan", "version": "1", "hash": f"sha256:{'0' * 64}"}


@pytest.fixture(scope="module")
def second(house):
    """A server that nobody kills."""
    with server(house.dsn, background=False) as made:
        yield made


@pytest.fixture
def client(second, key):
    with second.client(key) as made:
        yield made


def post(client, target, value, **headers):
    return client.post(target, json=value, headers={"idempotency-key": new_id(), **headers})


class Many:
    """A commit of every change that there is, under every condition."""

    def __init__(self, client):
        configured = {"json": {"lease_seconds": 600}, "headers": {"if-none-match": "*"}}
        client.put("/v1/job-types/t", **configured).raise_for_status()
        self.job, self.other = self.running(client), self.running(client)
        client.put("/v1/state/old", content=b"0", headers={"if-none-match": "*", **JSON}).raise_for_status()
        held = post(client, "/v1/locks/deploy/acquire", {"owner": "me", "ttl_seconds": 600})
        fence, job, other = held.json()["fence"], self.job, self.other
        done = {"state": "completed", "result": 1}
        place = self.consumed(client)
        self.used, self.relied_on = (self.approved(client) for _ in range(2))
        opened = {"events": [{"type": "opened"}]}
        post(client, "/v1/aggregates/shop/events", opened, **{"if-none-match": "*"}).raise_for_status()
        idle = post(client, "/v1/jobs", {"type": "idle"}).raise_for_status().json()
        self.body = {
            "require": [
                {"op": "locks.get", "name": "deploy", "fence": fence},
                {"op": "state.get", "name": "halt", "if_none_match": "*"},
                {"op": "consumers.get", **place, "position": 0},
                {"op": "approvals.verify", "approval_id": self.relied_on, **ARTIFACT},
                {"op": "jobs.get", "job_id": idle["job_id"], "if_match": idle["revision"]},
                {"op": "aggregates.get", "aggregate_id": "shop", "if_match": 1},
                {"op": "context.get", "path": "given", "if_match": 1},
            ],
            "apply": [
                {"op": "state.put", "name": "new", "value": 1.5, "if_none_match": "*"},
                {"op": "state.delete", "name": "old", "if_match": 1},
                {"op": "jobs.submit", "type": "next", "input_ref": self.written(client)},
                {
                    "op": "jobs.checkpoint",
                    "job_id": other["job_id"],
                    "fence": other["fence"],
                    "stage": "s",
                    "result": 1,
                },
                {"op": "jobs.settle", "job_id": job["job_id"], "fence": job["fence"], "outcome": done},
                {"op": "approvals.use", "approval_id": self.used, **ARTIFACT, "use_id": "u"},
                {"op": "locks.release", "name": "deploy", "fence": fence},
                {"op": "consumers.acknowledge", **place, "sequence": 1},
                {"op": "inboxes.append", "inbox": "out", "key": "made", "type": "made", "data": 1},
                {
                    "op": "events.append",
                    "aggregate_id": "order",
                    "events": [{"type": "paid", "data": 1}],
                    "if_none_match": "*",
                },
                {"op": "context.put", "path": "new", "text": "x", "if_none_match": "*"},
                {
                    "op": "effects.plan",
                    "effect_id": "charge-7",
                    "kind": "charge",
                    "target": "venue",
                    "request_digest": f"sha256:{'0' * 64}",
                    "repeatable": False,
                    "job_id": other["job_id"],
                    "job_fence": other["fence"],
                },
            ],
        }

    def written(self, client):
        """A file to refer to."""
        made = client.put("/v1/context/given", content=b"1", headers={"if-none-match": "*"})
        return made.raise_for_status().json()["reference"]

    def approved(self, client):
        """What a person has approved, and nobody acted on."""
        question = {
            "artifact": ARTIFACT,
            "action": "a",
            "title": "t",
            "expires_in_seconds": 600,
            "allow_requester": True,
        }
        id = post(client, "/v1/approvals", question).raise_for_status().json()["approval_id"]
        vote = {"decision": "approve", "hash": ARTIFACT["hash"]}
        post(client, f"/v1/approvals/{id}/votes", vote).raise_for_status()
        return id

    def consumed(self, client):
        """A consumer that has an event to acknowledge, and an inbox that gets one."""
        for name in ("in", "out"):
            client.put(f"/v1/inboxes/{name}", json={}, headers={"if-none-match": "*"}).raise_for_status()
        where = {"json": {"start": "earliest"}, "headers": {"if-none-match": "*"}}
        client.put("/v1/inboxes/in/consumers/c", **where).raise_for_status()
        epoch = post(client, "/v1/inboxes/in/events", {"type": "t", "data": 1}).raise_for_status().json()["epoch"]
        return {"inbox": "in", "consumer": "c", "epoch": epoch}

    def running(self, client):
        post(client, "/v1/jobs", {"type": "t"}).raise_for_status()
        return post(client, "/v1/jobs:claim", {"worker": "w", "types": ["t"]}).json()["jobs"][0]

    def send(self, client, operation):
        return post(client, "/v1/commits", self.body, **{"idempotency-key": operation})

    def done(self, client):
        """Whether it took effect: all of it did, or none."""
        found = {
            client.get("/v1/state/new").status_code == 200,
            client.get("/v1/state/old").status_code == 404,
            len(client.get("/v1/jobs?type=next").json()["items"]) == 1,
            len(client.get(f"/v1/jobs/{self.other['job_id']}/checkpoints").json()["items"]) == 1,
            client.get(f"/v1/jobs/{self.job['job_id']}").json()["state"] == "completed",
            client.get(f"/v1/approvals/{self.used}").json()["grant"]["state"] == "used",
            not client.get("/v1/locks/deploy").json()["held"],
            client.get("/v1/inboxes/in/consumers/c").json()["position"] == 1,
            client.get("/v1/inboxes/out").json()["last_sequence"] == 1,
            client.get("/v1/aggregates/order").status_code == 200,
            client.get("/v1/context/new").status_code == 200,
            client.get("/v1/effects/charge-7").status_code == 200,
        }
        assert len(found) == 1, "half of a commit is there"
        assert client.get(f"/v1/approvals/{self.relied_on}").json()["grant"]["state"] == "unused"
        assert client.get("/v1/state/halt").json().get("last_revision") is None
        return found.pop()


@pytest.mark.parametrize("moment", [*BEFORE, *AFTER])
def test_all_of_it_or_nothing(house, client, key, moment):
    commit, operation = Many(client), new_id()
    with server(house.dsn, failpoints=moment, background=False) as first:
        with first.client(key) as doomed, pytest.raises(LOST):
            commit.send(doomed, operation)
        first.died()
    done = moment in AFTER
    assert client.get(f"/v1/operations/{operation}").status_code == (200 if done else 404)
    assert commit.done(client) is done
    again = commit.send(client, operation)
    assert (again.status_code, "idempotent-replayed" in again.headers) == (200, done), again.text
    assert commit.done(client)
    assert commit.send(client, operation).content == again.content
    assert client.get(f"/v1/operations/{operation}").json()["result"] == again.json()


def test_every_statement_is_such_a_moment(client, key, house, place, monkeypatch):
    """The list names all statements of that commit, and no others; the rest are the server's own."""
    asked, named = [], {moment.partition("=")[0] for moment in (*BEFORE, *AFTER)}
    body = Many(client)
    calls = desk.calls_of(place, body.body)
    monkeypatch.setattr(failpoints, "armed", {"none": ("raise", 0)})
    monkeypatch.setattr(failpoints, "hit", asked.append)
    with psycopg.connect(house.dsn) as conn:
        play(conn, calls)
        conn.rollback()
    own = {"received", "tx_begun", "operations.claim", "operations.seal", "before_commit", "after_commit"}
    assert set(asked) - {"play.enter"} == named - own - {"reply_half_sent"}
