"""The pages of effects: who has to look comes first, three histories, and what somebody found."""

from __future__ import annotations

import msgspec
import pytest

from steadhold.kit.ids import new_id
from tests.dashboard.hostile import HOSTILE, unsafe

DIGEST = "sha256:" + "0" * 64


async def post(door, path, operation=None, **body):
    made = await door("POST", path, msgspec.json.encode(body), **({"idempotency_key": operation} if operation else {}))
    assert made.status in {200, 201}, made.body
    return made.json


async def planned(door, id="charge:1", **more):
    said = {"kind": "charge", "target": "venue", "request_digest": DIGEST, "amount": "12.50", "currency": "EUR"}
    return await post(door, "/v1/effects", effect_id=id, **{**said, **more})


async def unknown(door, id="charge:1", **more):
    """An effect of which nobody knows what came of it."""
    await planned(door, id, **more)
    await post(door, f"/v1/effects/{id}/initiate", new_id())
    return await post(door, f"/v1/effects/{id}/outcome", execution="unknown")


async def test_those_at_which_somebody_has_to_look_come_first(seat, door):
    await unknown(door, "needs:1")
    await planned(door, "quiet:2")
    text = (await seat.get("/effects")).text
    assert text.index("Somebody has to look") < text.index("needs:1") < text.index("quiet:2")
    assert "12.50 EUR" in text
    assert "unknown outcome" in text
    only = (await seat.get("/effects?reconciliation=needed")).text
    assert ("needs:1" in only, "quiet:2" in only) == (True, False)


async def test_an_effect_shows_its_three_histories(seat, door):
    await unknown(door)
    await post(door, "/v1/effects/charge:1/settlement", to="pending")
    text = (await seat.get("/effects/charge:1")).text
    for told in ("initiated", "unknown", "pending", "unknown outcome", "12.50 EUR", "venue"):
        assert told in text
    first, second, third = (text.index(f"<h3>{name}</h3>") for name in ("Execution", "Settlement", "Reconciliation"))
    assert first < second < third


async def test_what_somebody_found_is_kept(seat, door):
    effect = await unknown(door)
    form = {"outcome": "succeeded", "evidence_ref": "statement of May, line 12", "revision": effect["revision"]}
    done = await seat.post("/effects/charge:1/reconcile", **form)
    assert (done.status, done.location) == (303, "/ui/effects/charge:1")
    now = (await door("GET", "/v1/effects/charge:1")).json
    assert (now["execution"], now["reconciliation"]) == ("succeeded", "reconciled")
    page = await seat.get("/effects/charge:1")
    assert "What you found is kept." in page.text
    assert "statement of May, line 12" in page.text
    (row,) = (await door("GET", "/v1/audit?kind=dashboard.effects.reconcile")).json["items"]
    assert row["resource"] == "/v1/effects/charge:1/reconcile"


async def test_what_is_seen_no_more_is_not_decided_about(seat, door):
    effect = await unknown(door)
    await post(door, "/v1/effects/charge:1/settlement", to="pending")
    form = {"outcome": "failed", "evidence_ref": "a call", "revision": effect["revision"]}
    page = await seat.post("/effects/charge:1/reconcile", **form)
    assert (page.status, "condition_false" in page.text) == (412, True)
    assert 'value="a call"' in page.text
    assert (await door("GET", "/v1/effects/charge:1")).json["reconciliation"] == "needed"


@pytest.mark.parametrize("form", [{"evidence_ref": "x"}, {"outcome": "succeeded", "evidence_ref": " "}])
async def test_a_form_that_lacks_something_is_shown_again(seat, door, form):
    await unknown(door)
    page = await seat.post("/effects/charge:1/reconcile", **form)
    assert page.status in {400, 422}
    assert "Keep what I found" in page.text
    assert (await door("GET", "/v1/effects/charge:1")).json["execution"] == "unknown"


async def test_what_was_not_begun_is_given_up(seat, door):
    effect = await planned(door)
    assert "Give up" in (await seat.get("/effects/charge:1")).text
    done = await seat.post("/effects/charge:1/abandon", revision=effect["revision"])
    assert done.status == 303
    assert (await door("GET", "/v1/effects/charge:1")).json["execution"] == "abandoned"
    assert "Give up" not in (await seat.get("/effects/charge:1")).text


async def test_a_reader_is_offered_nothing_and_may_do_nothing(seated, door):
    await unknown(door)
    reader = await seated("effects:read")
    assert "Keep what I found" not in (await reader.get("/effects/charge:1")).text
    page = await reader.post("/effects/charge:1/reconcile", outcome="failed", evidence_ref="x")
    assert (page.status, page.code) == (403, "missing_scope")
    assert (await (await seated("jobs:read")).get("/effects")).status == 403


async def test_what_a_program_says_of_an_effect_is_text(seat, door):
    await unknown(door, kind="a<script>alert(1)</script>"[:1], target=HOSTILE, data_ref=HOSTILE, causation_id=HOSTILE)
    await post(door, "/v1/effects/charge:1/outcome", execution="failed", venue_ref=HOSTILE, evidence_ref=HOSTILE)
    assert unsafe(await seat.get("/effects/charge:1"), HOSTILE) == []
    assert unsafe(await seat.get("/effects"), HOSTILE) == []
    assert (await seat.get("/effects/never")).code == "not_found"
