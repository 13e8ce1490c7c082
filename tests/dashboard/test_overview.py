"""The overview: what it counts, what it leaves out without a scope, and that no count is without bound."""

from __future__ import annotations

import re
from html import unescape

import msgspec
import pytest

from steadhold.jobs import glance as jobs

TILE = re.compile(
    r'<div class="name">(.*?)</div><div class="value">(.*?)</div>(?:<div class="more">(.*?)</div>)?', re.DOTALL
)


def tiles(page):
    """What the tiles say: name to value and what stands below."""
    found = TILE.findall(unescape(page.text).replace("\N{NARROW NO-BREAK SPACE}", " "))
    return {name: (value, more) for name, value, more in found}


async def submit(door, type, **more):
    body = {"type": type, "input": {}, **more}
    made = await door("POST", "/v1/jobs", msgspec.json.encode(body), idempotency_key=f"{type}{len(more)}")
    assert made.status == 202, made.body
    return made.json["job_id"]


async def claim(door, type):
    body = msgspec.json.encode({"types": [type], "worker": "w"})
    (job,) = (await door("POST", "/v1/jobs:claim", body)).json["jobs"]
    return job


async def test_an_empty_workspace_is_told_as_such(seat):
    page = await seat.get("/")
    shown = tiles(page)
    assert shown["Oldest job in a queue"] == ("\N{EN DASH}", "nothing waits to be claimed")
    assert shown["Ready"] == ("0", "none later")
    assert (shown["Running"], shown["Failed in the last hour"]) == (("0", ""), ("0", ""))
    assert shown["Publication delay"][0] == "0 s"
    assert shown["Schedules late"] == ("0", "of 0")
    assert shown["Endpoints unwell"] == ("0", "of 0 enabled")
    assert "No job waits to be claimed." in page.text


async def test_jobs_are_counted_by_where_they_stand(seat, door, clock):
    await submit(door, "slow")
    await submit(door, "slow", run_at="2100-01-01T00:00:00Z")
    await submit(door, "quick")
    job = await claim(door, "quick")
    shown = tiles(await seat.get("/overview/live"))
    assert (shown["Ready"], shown["Running"][0]) == (("1", "1 later"), "1")
    outcome = {"state": "failed", "error_code": "boom", "class": "permanent"}
    said = msgspec.json.encode({"fence": job["fence"], "outcome": outcome})
    assert (await door("POST", f"/v1/jobs/{job['job_id']}/settle", said)).status == 200
    page = await seat.get("/overview/live")
    shown = tiles(page)
    assert (shown["Running"][0], shown["Failed in the last hour"][0]) == ("0", "1")
    assert "<td>permanent</td>" in page.text
    clock.move(7200)
    assert tiles(await seat.get("/overview/live"))["Oldest job in a queue"] == ("2 h", "can be claimed since")


async def test_the_live_part_is_the_part_of_the_page(seat):
    whole, part = await seat.get("/"), await seat.get("/overview/live", hx_request="true")
    assert "<html" not in part.text
    assert tiles(part) == tiles(whole)
    assert 'hx-get="/ui/overview/live"' in whole.text


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        ("jobs:read", "Running"),
        ("events:read", "Publication delay"),
        ("schedules:read", "Schedules late"),
        ("webhooks:read", "Endpoints unwell"),
        ("approvals:read", "To be decided"),
        ("effects:read", "To be reconciled"),
    ],
)
async def test_of_a_room_out_of_scope_nothing_is_counted(seated, scope, seen):
    shown = tiles(await (await seated(scope)).get("/"))
    assert seen in shown
    assert len(shown) == (5 if scope == "jobs:read" else 1)


async def test_counts_stop(committed, seat, monkeypatch):
    committed.execute(
        "insert into steadhold.jobs (workspace, id, root, type, configuration_revision, priority, revision,"
        " attempts_max, lease_seconds, run_at, created_at, input_digest, input)"
        " select current_setting('steadhold.workspace'),"
        " i, i, 'many', 1, n % 10, 1, 1, 30, steadhold.clock(), steadhold.clock(), '\\x00', '{}'"
        " from (select n, gen_random_uuid() as i from generate_series(1, 600) n) x"
    )
    shown = tiles(await seat.get("/"))
    assert shown["Ready"][0] == f"{jobs.COUNTED_MAX}+"


@pytest.mark.parametrize("room", ["jobs", "events", "schedules", "webhooks", "approvals", "effects"])
def test_each_glance_is_bounded(room):
    """Each count is of a walk that ends: no statement of a glance counts rows that no limit bounds."""
    import importlib

    module = importlib.import_module(f"steadhold.{room}.glance")
    for name in dir(module.SQL):
        if name.startswith("glance"):
            text = getattr(module.SQL, name).numbered
            assert text.count("limit $") >= text.count("count(*) from (select")
            assert "limit $" in text
