"""400 approvals, each approved, rejected, withdrawn and overtaken by time at once, through two servers."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from steadhold import approvals
from steadhold.approvals import Artifact
from steadhold.kit.ids import new_id
from tests.faults.servers import house, key, key_in, place, server  # noqa: F401 - fixtures

ROUNDS, AT_ONCE = 8, 50
LIFE = 600.0
ONE = Artifact.of("plan", "1", b"first")
NAMED = {"reference": ONE.reference, "version": ONE.version, "hash": ONE.hash}
MAKES = {"approve": "approved", "reject": "rejected", "withdraw": "withdrawn"}


@pytest.fixture(scope="module")
def pair(house):  # noqa: F811
    """Two servers over one database, of both players, with loops running."""
    with server(house.dsn, player="lockstep") as one, server(house.dsn, player="single") as two:
        yield one, two


class Crowd:
    """An agent and two people, each with a client at both servers; who sends what to which is drawn."""

    def __init__(self, clients, seed):
        self.clients, self.chance = clients, random.Random(seed)

    async def send(self, who, target, body=None, method="POST"):
        client = self.chance.choice(self.clients[who])
        headers = {"idempotency-key": new_id()}
        while True:
            got = await client.request(method, f"/v1/approvals{target}", json=body, headers=headers)
            if got.status_code != 503:
                return got
            assert got.json()["next"] == "resend"

    async def ask(self):
        question = {"artifact": NAMED, "action": "a", "title": "t", "expires_in_seconds": LIFE}
        got = await self.send("agent", "", question)
        assert got.status_code == 201, got.text
        return got.json()["approval_id"]

    async def act(self, id, act):
        if act == "withdraw":
            return id, act, await self.send("agent", f"/{id}/withdraw", {})
        who = "anna" if act == "approve" else "bert"
        return id, act, await self.send(who, f"/{id}/votes", {"decision": act, "hash": ONE.hash})


@pytest.fixture
async def crowd(pair, house, place, key):  # noqa: F811
    async with pair[0].aclient(key) as owner:
        keys = {"agent": key_in(house, place, kind="service", scopes=("approvals:*",))}
        for name in ("anna", "bert"):
            body = {"subject": name, "kind": "person", "scopes": ["approvals:*"]}
            keys[name] = (await owner.post("/v1/keys", json=body, headers={"idempotency-key": new_id()})).json()["key"]
    clients = {name: [each.aclient(secret) for each in pair] for name, secret in keys.items()}
    yield Crowd(clients, seed=7)
    for client in [client for both in clients.values() for client in both]:
        await client.aclose()


async def overtaken(clock, crowd, acts):
    """All at once; when some have their answer, the clock moves past the expiry of all that are left."""
    answered, middle = [], crowd.chance.randrange(10, len(acts) * 2 // 3)

    async def one(id, act):
        answered.append(await crowd.act(id, act))
        if len(answered) == middle:
            await asyncio.to_thread(clock.move, LIFE + 1)

    await asyncio.gather(*(one(id, act) for id, act in acts))
    return answered


async def test_one_winner_each_and_every_loser_is_told_it(crowd, house, place):  # noqa: F811
    ended = Counter()
    for _ in range(ROUNDS):
        ids = await asyncio.gather(*(crowd.ask() for _ in range(AT_ONCE)))
        acts = [(id, act) for id in ids for act in MAKES]
        crowd.chance.shuffle(acts)
        answers = await overtaken(house.clock, crowd, acts)
        for id in ids:
            state = (await crowd.send("agent", f"/{id}", method="GET")).json()["state"]
            mine = {act: answer for of, act, answer in answers if of == id}
            won = [act for act, answer in mine.items() if answer.status_code == 200]
            assert [MAKES[act] for act in won] == ([] if state == "expired" else [state])
            lost = [answer for act, answer in mine.items() if act not in won]
            assert {(a.status_code, a.json()["code"], a.json()["outcome"]) for a in lost} == {
                (409, "approval_ended", state)
            }
            ended[state] += 1
    assert ended.total() == ROUNDS * AT_ONCE
    assert min(ended[state] for state in ("approved", "rejected", "withdrawn", "expired")) >= 5, "too few of them raced"
    with house.enter(place) as conn, conn.transaction():
        while approvals.pass_time(conn, place, 500):
            pass
        told = conn.execute(
            "select split_part(type, '.', 2), count(*), count(distinct aggregate_id) from steadhold.events"
            " where workspace = %s and type = any(%s) group by 1",
            [place, [f"approval.{state}" for state in ended]],
        ).fetchall()
    assert {state: (count, of) for state, count, of in told} == {state: (n, n) for state, n in ended.items()}


async def test_one_use_of_many(crowd):
    """Twenty at once under ten ids, at both servers: one id has it, and each time it asks it is told so."""
    for _ in range(10):
        id = await crowd.ask()
        await crowd.act(id, "approve")
        uses = [f"u{n // 2}" for n in range(20)]
        got = await asyncio.gather(*(crowd.send("agent", f"/{id}/use", {**NAMED, "use_id": use_id}) for use_id in uses))
        won = [use_id for use_id, answer in zip(uses, got, strict=True) if answer.status_code == 200]
        assert len(won) == 2
        assert len(set(won)) == 1
        lost = [answer.json()["code"] for answer in got if answer.status_code != 200]
        assert lost == ["already_used"] * 18


async def test_a_swapped_artifact_is_told_no_by_both(crowd):
    """Approve version 1, then come with version 2 under the same reference: no, of verify and of use."""
    id = await crowd.ask()
    await crowd.act(id, "approve")
    two = Artifact.of("plan", "2", b"second")
    swapped = {"reference": "plan", "version": "2", "hash": two.hash}
    for _ in range(4):
        verdict = await crowd.send("agent", f"/{id}/verify", swapped)
        assert verdict.json() == {"approved": False, "reason": "artifact_mismatch"}
        used = await crowd.send("agent", f"/{id}/use", {**swapped, "use_id": "u"})
        assert (used.status_code, used.json()["code"]) == (409, "artifact_mismatch")
    right = await crowd.send("agent", f"/{id}/use", {**NAMED, "use_id": "u"})
    assert right.status_code == 200


async def test_a_reader_at_the_other_server_is_told_the_decision(crowd):
    id = await crowd.ask()
    _, other = crowd.clients["agent"]
    tag = {"if-none-match": '"1"'}
    reading = asyncio.create_task(other.get(f"/v1/approvals/{id}?wait_seconds=20", headers=tag))
    anna, _ = crowd.clients["anna"]
    body = {"decision": "approve", "hash": ONE.hash}
    await anna.post(f"/v1/approvals/{id}/votes", json=body, headers={"idempotency-key": new_id()})
    answer = await reading
    assert (answer.status_code, answer.json()["state"]) == (200, "approved")
