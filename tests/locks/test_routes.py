"""locks through the doors: what a holder, a waiter and a watcher are answered."""

from __future__ import annotations

import asyncio

import pytest

from steadhold.kit.ids import new_id
from steadhold.kit.page import write_cursor
from steadhold.locks.model import Granted

# A request that is not heard for a moment loses its turn: how busy the machine is shall not decide who comes first.
pytestmark = pytest.mark.usefixtures("clock")


async def test_it_is_held_renewed_and_released(house):
    got = await house.acquire("a", "me")
    said = got.json
    assert (got.status, said["name"], said["owner"], said["fence"], said["ttl_seconds"]) == (200, "a", "me", 1, 30.0)
    assert said["waited_seconds"] == 0
    assert said["expires_at"] > said["server_time"]
    held = await house.acquire("a", "you")
    assert (held.status, held.code, held.json["next"], held.json["holder"]) == (409, "lock_held", "wait", "me")
    assert 29 < held.json["expires_in_seconds"] <= 30
    assert held.headers["retry-after"] == "30"
    renewed = await house("POST", "/v1/locks/a/renew", {"fence": 1, "ttl_seconds": 60})
    assert (renewed.status, renewed.json["fence"], renewed.json["ttl_seconds"]) == (200, 1, 60.0)
    assert (await house.release("a", 2)).code == "lock_lost"
    assert [(await house.release("a", 1)).status for _ in range(2)] == [204, 204]
    assert (await house("POST", "/v1/locks/a/renew", {"fence": 1, "ttl_seconds": 60})).code == "lock_lost"


async def test_the_same_key_takes_it_once(house):
    key = new_id()
    first, again = [(await house.acquire("a", key=key)).json for _ in range(2)]
    assert (again["fence"], again["expires_at"]) == (first["fence"], first["expires_at"])
    assert again["waited_seconds"] < 0
    await house.release("a", 1)
    assert (await house.acquire("a", key=key)).code == "lock_lost"
    assert (await house.acquire("a")).json["fence"] == 2


async def test_the_same_key_many_times_at_once_is_one_grant(house):
    """As when a network delivers a request twice: each copy is answered, and all hold the same."""
    key = new_id()
    copies = [house.asking("a", "me", wait=n % 2, key=key, server=n % 3 % 2) for n in range(12)]
    got = [await copy.answer() for copy in copies]
    assert {(each.status, each.json["fence"]) for each in got} == {(200, 1)}


async def test_the_key_of_another_owner_is_refused(house):
    key = new_id()
    await house.acquire("a", "me", key=key)
    taken = await house.acquire("a", "you", key=key)
    assert (taken.status, taken.code) == (422, "operation_mismatch")
    assert (await house.acquire("a", "me", key=key)).json["fence"] == 1
    assert (await house.acquire("b", "you", key=key)).status == 200
    await house.release("a", 1)
    assert (await house.acquire("a", "you", key=key)).code == "lock_lost"


async def test_what_nobody_can_ask_again_is_not_remembered(house, database):
    got = await house.client("POST", "/v1/locks/a/acquire", b'{"owner":"me","ttl_seconds":30}')
    assert (got.status, got.json["fence"]) == (200, 1)
    await house.release("a", 1)
    await house.acquire("a")
    with database.connect() as conn:
        kept = conn.execute("select fence from steadhold.lock_tickets where workspace = %s", [house.workspace])
        assert kept.fetchall() == [(2,)]


async def test_reading_and_watching(house):
    assert (await house("GET", "/v1/locks/a")).status == 404
    watcher = asyncio.ensure_future(house("GET", "/v1/locks/a?wait_seconds=30"))
    await house.acquire("a", "me")
    first = await watcher
    assert (first.status, first.headers["etag"], first.json["owner"], first.json["held"]) == (200, '"1"', "me", True)
    same = await house("GET", "/v1/locks/a", if_none_match='"1"')
    assert same.status == 304
    watcher = asyncio.ensure_future(house("GET", "/v1/locks/a?wait_seconds=30", if_none_match='"1"'))
    await house.release("a", 1)
    after = (await watcher).json
    assert after == {"name": "a", "held": False, "fence": 1, "revision": 2, "waiting": 0}


async def test_the_list_has_pages_and_shows_no_more_than_the_key_may(house):
    for name in ("a.1", "a.2", "b"):
        await house.acquire(name)
    page = (await house("GET", "/v1/locks?limit=2")).json
    assert [item["name"] for item in page["items"]] == ["a.1", "a.2"]
    rest = (await house("GET", f"/v1/locks?limit=2&cursor={page['next_cursor']}")).json
    assert [item["name"] for item in rest["items"]] == ["b"]
    assert [item["name"] for item in (await house("GET", "/v1/locks?prefix=a.")).json["items"]] == ["a.1", "a.2"]
    await house.enter(["locks:*:b"])
    assert [item["name"] for item in (await house("GET", "/v1/locks")).json["items"]] == ["b"]
    assert (await house("GET", "/v1/locks/a.1")).code == "missing_scope"
    refused = await house.acquire("a.1")
    assert (refused.code, refused.json["detail"]) == (
        "missing_scope",
        "This key lacks the scope locks:write for 'a.1'.",
    )
    assert (await house.acquire("b")).code == "lock_held"
    assert (await house("POST", "/v1/fences/a.1", {"fence": 1})).code == "missing_scope"


@pytest.mark.parametrize(
    "query", ["prefix=%00", "prefix=a/b", "prefix=%C3%BC", f"cursor={write_cursor('locks', chr(0))}"]
)
async def test_what_no_list_is_asked(house, query):
    assert (await house("GET", f"/v1/locks?{query}")).status == 400


async def test_who_may_only_read_takes_nothing(house):
    await house.acquire("a")
    await house.enter(["locks:read"])
    assert (await house("GET", "/v1/locks/a")).status == 200
    assert (await house.release("a", 1)).code == "missing_scope"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("acquire", {"owner": "me"}),
        ("acquire", {"owner": "", "ttl_seconds": 30}),
        ("acquire", {"owner": "me", "ttl_seconds": 0.5}),
        ("acquire", {"owner": "me", "ttl_seconds": 3601}),
        ("acquire", {"owner": "me", "ttl_seconds": 30, "wait_seconds": 31}),
        ("acquire", {"owner": "me", "ttl_seconds": 30, "force": True}),
        ("renew", {"fence": 0, "ttl_seconds": 30}),
        ("renew", {"fence": 1}),
        ("release", {"fence": 1_000_000_000_000_000}),
        ("release", {"fence": "1"}),
    ],
)
async def test_what_no_request_may_say(house, path, body):
    refused = await house("POST", f"/v1/locks/a/{path}", body)
    assert (refused.status, refused.code) == (400, "bad_member")
    assert (await house("GET", "/v1/locks/a")).status == 404


async def test_a_waiter_is_granted_as_soon_as_it_is_released(house):
    await house.acquire("a", "me")
    waiter = house.asking("a", "you")
    await house.waiting("a", 1)
    await house.release("a", 1)
    got = await waiter.answer()
    assert (got.status, got.json["fence"], got.json["owner"]) == (200, 2, "you")
    assert 0 < got.json["waited_seconds"] < 30


async def test_waiters_come_in_their_order_also_over_two_servers(house):
    await house.acquire("a", "me")
    waiters = []
    for n in range(6):
        waiters.append(house.asking("a", f"w{n}", server=n % 2))
        await house.waiting("a", n + 1)
    for n, waiter in enumerate(waiters):
        await house.release("a", n + 1)
        assert (await waiter.answer()).json["fence"] == n + 2
        assert all(other.waits for other in waiters[n + 1 :])


async def test_nobody_overtakes_those_who_wait(house):
    await house.acquire("a", "me")
    waiter = house.asking("a", "you", server=1)
    await house.waiting("a", 1)
    await house.release("a", 1)
    barging = await house.acquire("a", "third")
    assert barging.code == "lock_held"
    assert barging.json["holder"] in {None, "you"}
    assert (await waiter.answer()).json["fence"] == 2


async def test_a_waiter_whose_connection_broke_delays_nobody(house):
    await house.acquire("a", "me")
    dead = house.asking("a", "dead", server=1)
    await house.waiting("a", 1)
    alive = house.asking("a", "alive")
    await house.waiting("a", 2)
    dead.leave()
    assert (await dead.answer()).status == 0
    assert (await house("GET", "/v1/locks/a")).json["waiting"] == 1
    await house.release("a", 1)
    got = await alive.answer()
    assert (got.json["fence"], got.json["owner"]) == (2, "alive")


async def test_what_was_granted_to_a_broken_connection_is_given_back(house):
    """The connection breaks while the grant is made: the next in line has it at once."""
    await house.acquire("a", "me")
    dead = house.asking("a", "dead")
    await house.waiting("a", 1)
    house.seen = lambda outcome: dead.leave() if isinstance(outcome, Granted) else None
    await house.release("a", 1)
    assert (await dead.answer()).status == 0
    now = (await house("GET", "/v1/locks/a")).json
    assert (now["held"], now["fence"]) == (False, 2)
    assert (await house.acquire("a", key=dead.key)).code == "lock_lost"


async def test_time_is_up_and_the_place_is_kept_for_who_asks_again(house):
    await house.acquire("a", "me")
    first = house.asking("a", "first", wait=0.1)
    late = await first.answer()
    assert (late.status, late.code, late.json["holder"]) == (409, "lock_held", "me")
    assert (await house("GET", "/v1/locks/a")).json["waiting"] == 0
    second = house.asking("a", "second")
    await house.waiting("a", 1)
    again = house.asking("a", "first", key=first.key)
    await house.waiting("a", 2)
    await house.release("a", 1)
    assert (await again.answer()).json["fence"] == 2
    assert second.waits
    await house.release("a", 2)
    assert (await second.answer()).json["fence"] == 3


async def test_a_waiter_takes_what_the_clock_ended(house, clock):
    await house.acquire("a", "me")
    waiter = house.asking("a", "you")
    await house.waiting("a", 1)
    clock.move(30)
    got = await waiter.answer()
    assert (got.json["fence"], got.json["owner"]) == (2, "you")
    assert (await house("POST", "/v1/locks/a/renew", {"fence": 1, "ttl_seconds": 60})).code == "lock_lost"


async def test_many_at_once_have_one_holder(house):
    askings = [house.asking("a", f"w{n}", wait=0, server=n % 2) for n in range(40)]
    got = [await asking.answer() for asking in askings]
    assert sorted(each.status for each in got) == [200] + [409] * 39
    (won,) = [each.json["owner"] for each in got if each.status == 200]
    assert {each.json["holder"] for each in got if each.status == 409} == {won}


async def test_many_locks_at_once(house):
    askings = [house.asking(f"a{n}", f"w{n}", wait=n % 2) for n in range(40)]
    assert {(await asking.answer()).status for asking in askings} == {200}


async def test_writes_of_every_room_rely_on_it(house, clock):
    await house.acquire("a", "me")
    mine, old = '"lock:a";fence=1', '"lock:a";fence=2'

    async def put(name, fence):
        return await house("PUT", f"/v1/state/{name}", b"1", if_none_match="*", fence=fence)

    assert (await put("n", mine)).status == 201
    refused = await put("m", old)
    assert (refused.code, refused.json["subject"]) == ("stale_fence", "lock:a")
    batch = {"items": [{"op": "put", "name": "b", "value": 1, "if_none_match": "*"}]}
    assert (await house("POST", "/v1/state:batch", batch, fence=old)).code == "stale_fence"
    assert (await house("DELETE", "/v1/state/n", if_match='"1"', fence=old)).code == "stale_fence"
    assert (await house("POST", "/v1/jobs", {"type": "t"}, fence=old)).code == "stale_fence"
    clock.move(31)
    assert (await put("m", mine)).code == "stale_fence"
    assert (await house("POST", "/v1/jobs", {"type": "t"}, fence=mine)).code == "stale_fence"
    assert (await house("GET", "/v1/state/m")).status == 404
    assert (await house("GET", "/v1/jobs")).json["items"] == []


async def test_the_high_water_mark(house):
    marks = [await house("POST", "/v1/fences/disk", {"fence": fence}) for fence in (3, 3, 2, 4)]
    assert [got.status for got in marks] == [200, 200, 409, 200]
    assert (marks[2].code, marks[2].json["highest"]) == ("stale_fence", 3)
    assert marks[3].json == {"resource": "disk", "highest": 4}
