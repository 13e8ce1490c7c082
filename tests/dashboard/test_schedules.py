"""The pages of schedules: what is to come and why not, what became of it, and what a person does to one."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from tests.dashboard.hostile import HOSTILE, shows

JUMP = datetime(2027, 3, 27, 12, tzinfo=UTC)
"""The night after, clocks in Berlin jump from 2 to 3."""


@pytest.fixture
def put(door):
    async def made(id="nightly", input=None, **spec):
        said = {"cron": "30 2 * * *", "time_zone": "Europe/Berlin", **spec}
        said |= {"target": {"job": {"type": "report", "input": input}}}
        got = await door("PUT", f"/v1/schedules/{id}", msgspec.json.encode(said), if_none_match="*")
        assert got.status == 201, got.body
        return got.json

    return made


@pytest.fixture
def read(door):
    async def got(path=""):
        answer = await door("GET", f"/v1/schedules/nightly{path}")
        return answer.json if answer.status == 200 else answer.code

    return got


async def test_schedules_tell_when_they_run_what(seat, put):
    await put()
    for page in ("/schedules", "/schedules/nightly"):
        text = (await seat.get(page)).text
        assert "30 2 * * * in Europe/Berlin" in text
        assert "<code>report</code>" in text


async def test_what_is_to_come_is_in_the_zone_and_says_why_not(seat, put, clock):
    clock.move((JUMP - clock.now()).total_seconds())
    await put(dst={"gap": "skip", "fold": "first"})
    text = (await seat.get("/schedules/nightly")).text
    assert "In Europe/Berlin" in text
    assert "the clock jumps over this time" in text


async def test_it_runs_when_somebody_says_so(seat, put, read):
    await put()
    done = await seat.post("/schedules/nightly/trigger")
    assert (done.status, done.location) == (303, "/ui/schedules/nightly")
    (run,) = (await read("/runs"))["items"]
    assert run["kind"] == "manual"
    assert f'href="/ui/jobs/{run["job_id"]}"' in (await seat.get("/schedules/nightly")).text
    assert "dashboard.schedules.trigger" in (await seat.get("/audit")).text


async def test_it_is_paused_as_it_was_seen_and_goes_on(seat, put, read):
    seen = (await put())["revision"]
    assert (await seat.post("/schedules/nightly/pause", revision=seen)).status == 303
    assert (await read())["paused"] is True
    assert "these run only once it is resumed" in (await seat.get("/schedules/nightly")).text
    stale = await seat.post("/schedules/nightly/resume", revision=seen)
    assert stale.status == 412
    assert "precondition_failed" in stale.text or "revision" in stale.text
    assert (await seat.post("/schedules/nightly/resume", revision=(await read())["revision"])).status == 303
    assert (await read())["paused"] is False


async def test_past_instants_are_run_by_moments_of_utc(seat, put, read):
    await put(cron="0 * * * *", time_zone="UTC")
    now = (await read())["cursor"]
    day = now[:10]
    form = {"from": "2026-01-01T00:00", "to": "2026-01-01T03:00"}
    assert (await seat.post("/schedules/nightly/backfill", **form)).status == 303, day
    assert [run["scheduled_at"][11:16] for run in (await read("/runs"))["items"]] == ["02:00", "01:00", "00:00"]
    wrong = await seat.post("/schedules/nightly/backfill", **{"from": form["to"], "to": form["from"]})
    assert wrong.status == 422
    assert "has to lie after" in wrong.text


async def test_it_is_deleted_as_it_was_seen(seat, put, read):
    seen = (await put())["revision"]
    assert (await seat.post("/schedules/nightly/delete", revision=seen + 1)).status == 412
    done = await seat.post("/schedules/nightly/delete", revision=seen)
    assert (done.status, done.location) == (303, "/ui/schedules")
    assert await read() == "not_found"


async def test_an_input_is_hidden_without_the_scope_of_payloads(seat, seated, put):
    await put(input={"pin": "ZEBRA"})
    assert "ZEBRA" in (await seat.get("/schedules/nightly")).text
    reader = await seated("schedules:read")
    page = await reader.get("/schedules/nightly")
    assert page.status == 200
    assert "ZEBRA" not in page.text
    assert "Run now" not in page.text
    refused = await reader.post("/schedules/nightly/trigger")
    assert (refused.status, refused.code) == (403, "missing_scope")


async def test_an_input_is_text(seat, put):
    await put(input=HOSTILE.replace('"', ""))
    assert shows(await seat.get("/schedules"))
    assert shows(await seat.get("/schedules/nightly"), HOSTILE.replace('"', ""))
