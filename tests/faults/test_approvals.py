"""A server killed at each moment of a decision and of a use: outcome, event and record are there together or not."""

from __future__ import annotations

import pytest

from steadhold.approvals import Artifact
from steadhold.kit.ids import new_id
from tests.faults.servers import LOST, key_in, server

ONE = Artifact.of("plan", "1", b"first")
NAMED = {"reference": ONE.reference, "version": ONE.version, "hash": ONE.hash}
# A key is read first, in a transaction of its own: whatever a transaction passes is passed once before.
MOMENTS = {
    "approvals.hold=kill": 0,
    "approvals.move=kill": 0,
    "approvals.write_down=kill": 0,
    "events.record=kill": 0,
    "access.record=kill": 0,
    "before_commit=kill:1": 0,
    "after_commit=kill:1": 1,
    "reply_half_sent=kill": 1,
}


@pytest.fixture(scope="module", params=["lockstep", "single"])
def player(request):
    return request.param


@pytest.fixture(scope="module")
def second(house, player):
    """A server that nobody kills."""
    with server(house.dsn, player=player, background=False) as made:
        yield made


@pytest.fixture
def clients(house, place, second):
    """The agent's and the person's key, and a client of the server that lives."""
    keys = {"agent": key_in(house, place, kind="service", scopes=("approvals:*",)), "person": key_in(house, place)}
    with second.client(keys["agent"]) as agent, second.client(keys["person"]) as person:
        yield {"agent": agent, "person": person}, keys


def asked(agent):
    question = {"artifact": NAMED, "action": "a", "title": "t", "expires_in_seconds": 3_600}
    answer = agent.post("/v1/approvals", json=question, headers={"idempotency-key": new_id()})
    return answer.json()["approval_id"]


def vote(client, id):
    return client.post(f"/v1/approvals/{id}/votes", json={"decision": "approve", "hash": ONE.hash})


def use(client, id):
    return client.post(f"/v1/approvals/{id}/use", json={**NAMED, "use_id": "u"})


def told(house, place, id):
    """Names of its events, acts and audit, as the database has them."""
    with house.enter(place) as conn:
        events = "select type from steadhold.events where aggregate_id = %s order by aggregate_revision"
        acts = "select act from steadhold.approval_acts where approval = %s order by revision"
        audit = "select kind from steadhold.audit where resource = %s order by number"
        wanted = [(events, f"approval:{id}"), (acts, id), (audit, f"approval:{id}")]
        return [[word.removeprefix("approval.") for (word,) in conn.execute(q, [x]).fetchall()] for q, x in wanted]


ASKED = [["requested"], ["request"], ["requested"]]
VOTED = [["requested", "voted", "approved"], ["request", "approve"], ["requested", "voted"]]
USED = [[*VOTED[0], "used"], [*VOTED[1], "use"], [*VOTED[2], "used"]]
VERBS = {"vote": (vote, "person", ASKED, VOTED), "use": (use, "agent", VOTED, USED)}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_decision_is_there_whole_or_not_at_all(house, place, player, clients, verb, moment):
    """And saying it again, at another server, makes it or finds it."""
    (living, keys), (say, who, before, after) = clients, VERBS[verb]
    id = asked(living["agent"])
    if verb == "use":
        assert vote(living["person"], id).status_code == 200
    with server(house.dsn, failpoints=moment, player=player, background=False) as first:
        with first.client(keys[who]) as doomed, pytest.raises(LOST):
            say(doomed, id)
        first.died()
    assert told(house, place, id) == (after if MOMENTS[moment] else before)
    again = say(living[who], id)
    assert again.status_code == 200, again.text
    assert told(house, place, id) == after
