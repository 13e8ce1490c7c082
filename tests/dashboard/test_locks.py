"""The pages of locks: who holds which, and the end of a grant that was shown."""

from __future__ import annotations

from urllib.parse import quote

import msgspec
import pytest

from tests.dashboard.hostile import HOSTILE, shows


@pytest.fixture
def take(door):
    async def taken(name="site", owner="anna"):
        got = await door("POST", f"/v1/locks/{name}/acquire", msgspec.json.encode({"owner": owner, "ttl_seconds": 60}))
        assert got.status == 200, got.body
        return got.json["fence"]

    return taken


async def test_locks_tell_who_holds_them(seat, take):
    fence = await take()
    page = (await seat.get("/locks")).text
    assert 'href="/ui/locks/site"' in page
    one = (await seat.get("/locks/site")).text
    for told in ("anna", "held", f"<dd>{fence}</dd>"):
        assert told in one
    assert "No lock was ever taken under such a name." in (await seat.get("/locks?prefix=other")).text


async def test_the_grant_that_was_shown_is_ended_and_no_other(seat, take, door):
    first = await take()
    done = await seat.post("/locks/site/release", fence=first)
    assert (done.status, done.location) == (303, "/ui/locks/site")
    second = await take(owner="bert")
    late = await seat.post("/locks/site/release", fence=first)
    assert late.status == 409
    assert "lock_lost" in late.text
    kept = (await door("GET", "/v1/locks/site")).json
    assert (kept["held"], kept["fence"]) == (True, second)


async def test_whoever_may_only_read_is_offered_nothing_and_refused(seated, take):
    fence = await take()
    reader = await seated("locks:read", "audit:read")
    assert "End the grant" not in (await reader.get("/locks/site")).text
    refused = await reader.post("/locks/site/release", fence=fence)
    assert (refused.status, refused.code) == (403, "missing_scope")


async def test_a_prefix_is_text(seat):
    assert shows(await seat.get(f"/locks?prefix={quote(HOSTILE)}"))


async def test_ending_a_grant_leaves_its_audit_row(seat, take):
    await seat.post("/locks/site/release", fence=await take())
    assert "dashboard.locks.release" in (await seat.get("/audit")).text
