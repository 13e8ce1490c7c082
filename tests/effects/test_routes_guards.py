"""Who may say what: other workspaces know nothing of an effect, and a fact is fenced only where its teller asks."""

from __future__ import annotations

import dataclasses

import pytest

from steadhold import fences
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors
from tests.effects.house import MEANT, ROUTES, House

FACTS = {
    "outcome": {"execution": "succeeded", "evidence_id": "e1"},
    "settlement": {"to": "settled", "evidence_id": "e2"},
    "reconcile": {"outcome": "failed", "evidence_ref": "call 7", "evidence_id": "e3"},
}
STALE = {"fence": '"lock:none";fence=1'}


@pytest.mark.parametrize("verb", FACTS)
async def test_a_fact_is_fenced_where_its_teller_asks_and_nowhere_else(house, verb):
    """Refused, it is as if it was never told."""
    above = dataclasses.replace(house.doors.above, require=fences.require)
    house.doors = Doors(ROUTES, above, hub=Hub(), flights=Flights())
    worker = await house.enter()
    id = await worker.begun()
    await worker.tells(id, "unknown")
    before = (await worker.reads(id)).body
    assert (await worker.says(verb, id, FACTS[verb], **STALE)).json["code"] == "stale_fence"
    assert (await worker.reads(id)).body == before
    assert (await worker.says(verb, id, FACTS[verb])).status == 200


async def test_another_workspace_knows_nothing_of_it(house, database):
    mine = await house.enter()
    id = await mine.begun()
    await mine.enters("sales")
    other = House(house.player, database.new_workspace())
    stranger = await other.enter()
    for answer in (
        await stranger.reads(id), await stranger.reads(id, "/history"), await stranger.says("initiate", id),
        await stranger.says("abandon", id), *[await stranger.says(verb, id, FACTS[verb]) for verb in FACTS],
        await stranger("GET", "/v1/journals/sales/entries"),
    ):  # fmt: skip
        assert (answer.status, answer.json["code"]) == (404, "not_found")
    assert (await stranger("GET", "/v1/effects")).json["items"] == []
    assert (await stranger("POST", "/v1/effects", {**MEANT, "effect_id": id})).status == 201
    assert (await stranger.enters("sales")).status == 201
    assert (await mine.reads(id)).json["execution"] == "initiated"
