"""events through the doors: what who appends, reads and subscribes is answered."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from steadhold import context, events
from steadhold.events import subscribing
from steadhold.events.routes import routes
from steadhold.kit import limits
from steadhold.kit.ids import new_id
from steadhold.kit.page import write_cursor
from steadhold.web.flights import Flights
from steadhold.web.hub import Hub
from steadhold.web.serve import Doors

MADE = {"events": [{"type": "order.placed", "data": {"total": 1.10}}], "aggregate_type": "order", "state": "placed"}


async def test_a_change_and_its_events(house):
    raw = b'{"events":[{"type":"order.placed","data":{"total":1.10},"correlation_id":"c"}],"state":"placed"}'
    made = await house("POST", "/v1/aggregates/o-1/events", raw, if_none_match="*")
    assert (made.status, made.headers["revision"]) == (201, "1")
    assert made.json == {"aggregate_id": "o-1", "revision": 1, "event_ids": ["o-1@1"]}
    body = {"events": [{"type": "a"}, {"type": "b"}], "transition": {"from": "placed", "to": "paid"}}
    assert (await house("POST", "/v1/aggregates/o-1/events", body, if_match='"1"')).json["revision"] == 3
    late = await house("POST", "/v1/aggregates/o-1/events", body, if_match='"1"')
    assert (late.status, late.code, late.json["current_revision"]) == (412, "condition_false", 3)
    stands = await house("GET", "/v1/aggregates/o-1")
    assert (stands.headers["etag"], stands.json) == ('"3"', {"aggregate_id": "o-1", "revision": 3, "state": "paid"})
    assert (await house("GET", "/v1/aggregates/o-1", if_none_match='"3"')).status == 304
    page = (await house("GET", "/v1/aggregates/o-1/events?after_revision=0&limit=2")).json
    assert [item["type"] for item in page["items"]] == ["order.placed", "a"]
    rest = (await house("GET", f"/v1/aggregates/o-1/events?limit=2&cursor={page['next_cursor']}")).json
    assert [item["aggregate_revision"] for item in rest["items"]] == [3]
    event = await house("GET", "/v1/events/o-1@1")
    assert b'"data":{"total":1.10}' in event.body
    assert (await house("GET", "/v1/events/o-1@1/data")).body == b'{"total":1.10}'
    assert (await house("GET", "/v1/events/o-1@2/data")).status == 404
    assert [item["aggregate_id"] for item in (await house("GET", "/v1/aggregates")).json["items"]] == ["o-1"]
    none = await house("GET", "/v1/aggregates/o-2/events")
    assert (none.status, none.code) == (404, (await house("GET", "/v1/aggregates/o-2")).code)
    assert (await house("GET", f"/v1/aggregates/job:{new_id()}/events")).status == 404


async def test_a_page_of_a_history_ends_with_the_event_that_fills_it(house, monkeypatch):
    monkeypatch.setattr(limits, "EVENTS_PAGE_BYTES_MAX", 10)
    sizes = (4, 5, 30, 1, 8, 2)
    sent = [{"type": "t", "data": "x" * (size - 2) if size > 1 else 1} for size in sizes]
    assert (await house("POST", "/v1/aggregates/o-1/events", {"events": sent}, if_none_match="*")).status == 201
    pages, cursor = [], ""
    while cursor is not None:
        page = (await house("GET", f"/v1/aggregates/o-1/events?limit=4{cursor and f'&cursor={cursor}'}")).json
        pages.append([item["aggregate_revision"] for item in page["items"]])
        cursor = page.get("next_cursor")
    assert pages == [[1, 2, 3], [4, 5, 6]]
    page = (await house("GET", "/v1/aggregates/o-1/events?after_revision=2")).json
    assert ([item["aggregate_revision"] for item in page["items"]], page["next_cursor"] is not None) == ([3], True)


async def test_a_schema_version_is_told_as_text_and_taken_as_either(house):
    sent = [{"type": "a", "schema_version": 12}, {"type": "a", "schema_version": "12"}, {"type": "a"}]
    assert (await house("POST", "/v1/aggregates/o-1/events", {"events": sent}, if_none_match="*")).status == 201
    told = (await house("GET", "/v1/aggregates/o-1/events")).json["items"]
    assert [event["schema_version"] for event in told] == ["12", "12", "1"]
    for wrong in ("0", "1.0", "9999999999", "12\n", 0, 2**31):
        body = {"events": [{"type": "a", "schema_version": wrong}]}
        assert (await house("POST", "/v1/aggregates/o-2/events", body, if_none_match="*")).code == "bad_member"


async def test_an_append_is_watched(house):
    watcher = asyncio.ensure_future(house("GET", "/v1/aggregates/o-1?wait_seconds=30"))
    await house("POST", "/v1/aggregates/o-1/events", MADE, if_none_match="*")
    assert (await watcher).json["state"] == "placed"


async def test_appends_that_are_refused(house):
    async def append(id, body, **headers):
        got = await house("POST", f"/v1/aggregates/{id}/events", body, **headers)
        return got.status, got.code

    one = {"events": [{"type": "a"}]}
    assert await append("job:1", one, if_none_match="*") == (422, "reserved_id")
    assert await append("a", one) == (428, "condition_required")
    assert await append("a", {"events": []}, if_none_match="*") == (400, "bad_member")
    assert await append("a", {"events": [{"type": "a", "event_id": "b@2"}]}, if_none_match="*") == (400, "bad_member")
    assert await append("a", {**one, "owner": "job"}, if_none_match="*") == (400, "bad_member")
    assert await append("a", {**one, "aggregate_type": "t"}, if_match='"1"') == (400, "bad_member")
    named = {"events": [{"type": "a", "event_id": "mine"}]}
    assert (await house("POST", "/v1/aggregates/a/events", named, if_none_match="*")).status == 201
    assert await append("b", named, if_none_match="*") == (409, "event_taken")
    moved = {**one, "transition": {"from": "x", "to": "y"}}
    assert await append("a", moved, if_match='"1"') == (409, "transition_conflict")
    assert await append("a", one, if_none_match="*") == (412, "condition_false")
    big = {"events": [{"type": "a", "data": "x" * 65_536}]}
    assert await append("c", big, if_none_match="*") == (400, "bad_member")


async def test_a_type_permits_its_edges_alone(house):
    edges = [{"from": "placed", "to": "paid"}]
    type = {"states": ["placed", "paid"], "edges": edges}
    assert (await house("PUT", "/v1/aggregate-types/order", type, if_none_match="*")).status == 201
    assert (await house("GET", "/v1/aggregate-types/order")).json["edges"] == edges
    stray = {"states": ["placed"], "edges": edges}
    assert (await house("PUT", "/v1/aggregate-types/order", stray, if_match='"1"')).code == "bad_member"
    lost = await house("POST", "/v1/aggregates/o/events", {**MADE, "state": "lost"}, if_none_match="*")
    assert (lost.status, lost.code, lost.json["to"]) == (409, "transition_not_permitted", "lost")
    await house("POST", "/v1/aggregates/o/events", MADE, if_none_match="*")
    paid = {"events": [{"type": "order.paid"}], "state": "paid"}
    assert (await house("POST", "/v1/aggregates/o/events", paid, if_match='"1"')).status == 201
    back = {"events": [{"type": "order.back"}], "state": "placed"}
    refused = await house("POST", "/v1/aggregates/o/events", back, if_match='"2"')
    assert (refused.code, refused.json["from"]) == ("transition_not_permitted", "paid")
    assert [item["aggregate_type"] for item in (await house("GET", "/v1/aggregate-types")).json["items"]] == ["order"]
    assert (await house("GET", "/v1/aggregate-types?limit=1")).json["items"] == [
        (await house("GET", "/v1/aggregate-types/order")).json
    ]
    wider = {**type, "edges": [*edges, {"from": "paid", "to": "placed"}]}
    assert (await house("PUT", "/v1/aggregate-types/order", wider, if_match='"1"')).headers["etag"] == '"2"'
    assert (await house("POST", "/v1/aggregates/o/events", back, if_match='"2"')).status == 201


async def test_an_owned_aggregate_needs_its_grant(house):
    one = {"events": [{"type": "a"}]}
    held = {"if_none_match": "*", "fence": '"lock:a";fence=1'}
    refused = await house("POST", "/v1/aggregates/a/events", {**one, "owner": "lock"}, if_none_match="*")
    assert (refused.status, refused.code, refused.json["subject"]) == (409, "stale_fence", "lock:a")
    await house("POST", "/v1/locks/a/acquire", {"owner": "me", "ttl_seconds": 30})
    assert (await house("POST", "/v1/aggregates/a/events", {**one, "owner": "lock"}, **held)).status == 201
    assert (await house("POST", "/v1/aggregates/a/events", one, if_match='"1"')).code == "stale_fence"
    held = {"if_match": '"1"', "fence": '"lock:a";fence=1'}
    assert (await house("POST", "/v1/aggregates/a/events", one, **held)).status == 201
    await house("POST", "/v1/locks/a/release", {"fence": 1})
    held = {"if_match": '"2"', "fence": '"lock:a";fence=1'}
    assert (await house("POST", "/v1/aggregates/a/events", one, **held)).code == "stale_fence"


async def test_a_jobs_own_aggregate_needs_the_jobs_fence(house):
    job = await house.claimed()
    fence = f'"job:{job["job_id"]}";fence={job["fence"]}'
    body = {"events": [{"type": "a"}], "owner": "job", "job_id": job["job_id"]}
    assert (await house("POST", "/v1/aggregates/a/events", body, if_none_match="*", fence=fence)).status == 201
    assert (await house("POST", "/v1/aggregates/a/events", {"events": body["events"]}, if_match='"1"')).status == 409


async def test_causes_are_followed_and_never_in_a_circle(house):
    for n, cause in enumerate(["c-3", "c-0", "c-1", "c-2"]):
        event = {"type": "a", "event_id": f"c-{n}", "causation_id": cause}
        await house("POST", f"/v1/aggregates/a-{n}/events", {"events": [event]}, if_none_match="*")
    found = (await house("GET", "/v1/events/c-3/causes")).json
    assert [item["event_id"] for item in found["items"]] == ["c-2", "c-1", "c-0"]
    assert (found["complete"], found["pruned"]) == (True, False)
    lost = {"events": [{"type": "a", "causation_id": "gone"}]}
    await house("POST", "/v1/aggregates/b/events", lost, if_none_match="*")
    assert (await house("GET", "/v1/events/b@1/causes")).json == {"items": [], "complete": False, "pruned": True}
    assert (await house("GET", "/v1/events/none/causes")).status == 404


async def test_subscriptions(house):
    body = {"types": ["order.*"], "target": {"inbox": "billing"}}
    made = await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")
    assert (made.status, made.headers["etag"]) == (201, '"1"')
    assert {k: made.json[k] for k in ("types", "target", "ordered_by", "aggregates")} == {
        **body, "ordered_by": "aggregate", "aggregates": [],
    }  # fmt: skip
    assert (await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")).code == "condition_false"
    both = {**body, "target": {"inbox": "a", "sink": "b"}}
    assert (await house("PUT", "/v1/subscriptions/s", both, if_match='"1"')).code == "bad_member"
    sink = {**body, "target": {"sink": "b"}}
    assert (await house("PUT", "/v1/subscriptions/s", sink, if_match='"1"')).code == "target_unknown"
    again = await house("PUT", "/v1/subscriptions/s", {**body, "ordered_by": "none"}, if_match='"1"')
    assert (again.status, again.json["revision"]) == (200, 2)
    assert [item["subscription_id"] for item in (await house("GET", "/v1/subscriptions")).json["items"]] == ["s"]
    assert (await house("DELETE", "/v1/subscriptions/s", if_match='"1"')).status == 412
    assert (await house("DELETE", "/v1/subscriptions/s", if_match='"2"')).status == 204
    gone = await house("GET", "/v1/subscriptions/s")
    assert (gone.status, gone.json["last_revision"]) == (404, 3)
    assert (await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")).headers["etag"] == '"4"'


async def test_publications_are_shown_and_steered(house):
    body = {"types": ["*"], "target": {"inbox": "billing"}}
    await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")
    await house("POST", "/v1/aggregates/o/events", MADE, if_none_match="*")
    await house.match()
    (item,) = (await house("GET", "/v1/publications?state=pending")).json["items"]
    assert (item["subscription_id"], item["target"], item["aggregate_id"]) == ("s", {"inbox": "billing"}, "o")
    address = f"/v1/publications/{item['publication_id']}"
    assert (await house("POST", f"{address}/retry")).code == "publication_settled"
    assert (await house("POST", f"{address}/skip")).json["state"] == "skipped"
    assert (await house("POST", f"{address}/skip")).code == "publication_settled"
    assert (await house("POST", f"/v1/publications/{new_id()}/skip")).status == 404
    assert (await house("GET", "/v1/publications")).code == "bad_query"
    for forged in (("1", "no uuid"), ("9" * 17, new_id()), ("-1", new_id()), (1, new_id()), (new_id(),)):
        cursor = write_cursor("publications", *forged)
        assert (await house("GET", f"/v1/publications?state=pending&cursor={cursor}")).code == "bad_cursor"
    span = {"from": "2000-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}
    again = (await house("POST", "/v1/subscriptions/s/replay", span)).json["events"]
    assert len(found := (await house("GET", "/v1/publications?state=pending")).json["items"]) == again
    assert ("o", 1) in [(one["aggregate_id"], one["aggregate_revision"]) for one in found]
    assert (await house("POST", "/v1/subscriptions/none/replay", span)).status == 404


async def test_a_sink_is_one_that_the_workspace_has(house):
    known = routes(0.0, {(house.workspace, "mine"), ("another", "theirs")})
    house.doors = Doors(known, house.doors.above, hub=Hub(), flights=Flights())
    await house.enter()
    for name, status in (("mine", 201), ("theirs", 422), ("none", 422)):
        body = {"types": ["*"], "target": {"sink": name}}
        assert (await house("PUT", f"/v1/subscriptions/{name}", body, if_none_match="*")).status == status


async def test_a_subscription_that_is_ending_is_waited_for(house, monkeypatch):
    monkeypatch.setattr(subscribing, "SKIPPED_AT_ONCE", 0)
    body = {"types": ["*"], "target": {"inbox": "billing"}}
    await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")
    await house("POST", "/v1/aggregates/o/events", MADE, if_none_match="*")
    await house.match()
    assert (await house("DELETE", "/v1/subscriptions/s", if_match='"1"')).status == 204
    again = await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")
    assert (again.status, again.code, again.headers["retry-after"]) == (409, "subscription_ending", "1")
    await house.player.play(subscribing.end.call(house.workspace, 10))
    assert (await house("PUT", "/v1/subscriptions/s", body, if_none_match="*")).status == 201


async def test_a_replay_from_before_what_is_kept_says_where_to_begin(house, clock):
    await house("PUT", "/v1/subscriptions/s", {"types": ["*"], "target": {"inbox": "b"}}, if_none_match="*")
    await house("POST", "/v1/aggregates/o/events", MADE, if_none_match="*")
    await house.match()
    (item,) = (await house("GET", "/v1/publications?state=pending")).json["items"]
    await house("POST", f"/v1/publications/{item['publication_id']}/skip")
    clock.move(4 * 86_400)
    assert await house.player.play(events.purge.call(house.workspace, 10)) >= 1
    span = {"from": "2000-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}
    gone = await house("POST", "/v1/subscriptions/s/replay", span, idempotency_key="one")
    assert (gone.status, gone.code) == (410, "events_pruned")
    there = {**span, "from": gone.json["first_retained_at"]}
    again = await house("POST", "/v1/subscriptions/s/replay", there, idempotency_key="two")
    assert again.json == {"events": 0}


async def test_a_reference_to_nothing_in_context_is_refused(house):
    await house.enter(["events:*", "context:read"])
    lost = {"events": [{"type": "a", "data_ref": f"context:a@1#sha256:{'0' * 64}"}]}
    got = await house("POST", "/v1/aggregates/a/events", lost, if_none_match="*")
    assert (got.status, got.code, got.json["reference"]) == (422, "unknown_reference", lost["events"][0]["data_ref"])
    elsewhere = {"events": [{"type": "a", "data_ref": "s3://bucket/key"}]}
    assert (await house("POST", "/v1/aggregates/a/events", elsewhere, if_none_match="*")).status == 201


async def test_nobody_refers_to_what_its_key_may_not_read(house):
    """An event keeps what it refers to: neither that, nor whether it is there, is for a key that may not read it."""
    digest = hashlib.sha256(b"1").hexdigest()
    await house.player.play(context.put.call(house.workspace, "a@b/n", b"1", None))
    for reference in (f"context:a%40b/n@1#sha256:{digest}", f"context:a%40b/m@1#sha256:{digest}"):
        told = {"events": [{"type": "a"}, {"type": "a", "data_ref": reference}]}
        await house.enter(["events:*", "context:read:b"])
        got = await house("POST", "/v1/aggregates/a/events", told, if_none_match="*")
        assert (got.status, got.code, got.json["scope"]) == (403, "missing_scope", "context:read")
    await house.enter(["events:*", "context:read:a@b"])
    told["events"][1]["data_ref"] = f"context:a%40b/n@1#sha256:{digest}"
    assert (await house("POST", "/v1/aggregates/a/events", told, if_none_match="*")).status == 201


@pytest.mark.parametrize("scope, method, target", [
    ("events:append", "GET", "/v1/aggregates/a"), ("events:read", "PUT", "/v1/subscriptions/s"),
    ("events:read", "GET", "/v1/publications?state=parked"),
])  # fmt: skip
async def test_each_door_has_its_scope(house, scope, method, target):
    await house.enter([scope])
    got = await house(method, target, {"types": ["*"], "target": {"inbox": "a"}} if method == "PUT" else None)
    assert got.code == "missing_scope"
