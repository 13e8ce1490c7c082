"""Consumers through the doors."""

from __future__ import annotations


async def test_a_consumer_comes_as_far_as_it_says(house):
    await house.make()
    for n in range(4):
        await house.send(f"k{n}")
    assert (await house.consume()).status == 201
    assert (await house.consume()).code == "condition_false"
    assert (await house.consume("d", "latest")).status == 201
    assert (await house.ack(3)).json["position"] == 3
    assert [(await house.ack(n)).json["position"] for n in (3, 1)] == [3, 3]
    assert (await house.ack(9)).code == "beyond_head"
    assert (await house.ack(4, epoch="other")).code == "inbox_restored"
    assert (await house.ack(4, name="nobody", epoch="x")).status == 404
    seen = (await house("GET", "/v1/inboxes/a/consumers/c")).json
    assert (seen["position"], seen["lag"], seen["gaps"], seen["revision"]) == (3, 1, [], 1)
    listed = (await house("GET", "/v1/inboxes/a/consumers?limit=1")).json
    assert [item["name"] for item in listed["items"]] == ["c"]
    rest = (await house("GET", f"/v1/inboxes/a/consumers?cursor={listed['next_cursor']}")).json
    assert [(item["name"], item["position"]) for item in rest["items"]] == [("d", 4)]
    place = {"epoch": seen["epoch"], "sequence": 2}
    assert (await house.consume("e", place)).status == 201
    assert (await house.consume("f", {**place, "sequence": 5})).code == "beyond_head"
    assert (await house.consume("f", {**place, "epoch": "x"})).code == "inbox_restored"
    assert (await house("DELETE", "/v1/inboxes/a/consumers/e", if_match='"1"')).status == 204
    assert (await house("GET", "/v1/inboxes/a/consumers/e")).status == 404


async def test_a_lease_keeps_others_out(house):
    await house.make()
    await house.send()
    await house.consume()
    at = "/v1/inboxes/a/consumers/c"
    got = await house("POST", f"{at}/lease", {"owner": "me", "lease_seconds": 30}, idempotency_key="op")
    assert (got.status, got.json["fence"], got.json["lease_seconds"]) == (200, 1, 30.0)
    same = await house("POST", f"{at}/lease", {"owner": "me", "lease_seconds": 30}, idempotency_key="op")
    assert same.json["fence"] == 1
    other = await house("POST", f"{at}/lease", {"owner": "you", "lease_seconds": 30})
    assert (other.status, other.code, other.json["holder"]) == (409, "consumer_leased", "me")
    assert 29 < other.json["expires_in_seconds"] <= 30
    assert (await house("GET", at)).json["holder"] == "me"
    assert (await house.ack(1)).code == "stale_fence"
    assert (await house.ack(1, fence=2)).code == "stale_fence"
    assert (await house.ack(1, fence=1)).status == 200
    held = '"consumer:a/c";fence=1'
    assert (await house.ack(1, held=held)).status == 200
    assert (await house.ack(1, held=held, fence=1)).code == "bad_member"
    assert (await house("POST", f"{at}/renew", {"fence": 1})).json["lease_seconds"] == 30.0
    assert (await house("POST", f"{at}/renew", {"fence": 1, "lease_seconds": 60})).json["lease_seconds"] == 60.0
    assert (await house("POST", f"{at}/release", {"fence": 2})).code == "stale_fence"
    assert [(await house("POST", f"{at}/release", {"fence": 1})).status for _ in range(2)] == [204, 204]
    assert (await house("POST", f"{at}/renew", {"fence": 1})).code == "stale_fence"
    assert (await house.ack(1)).status == 200


async def test_an_inbox_that_is_not_there_has_no_list_of_consumers(house):
    """It is missing, at each of its addresses; one that is there may have none."""
    missing = await house("GET", "/v1/inboxes/a/consumers")
    assert (missing.status, missing.json["code"]) == (404, "not_found")
    await house.make()
    assert (await house("GET", "/v1/inboxes/a/consumers")).json["items"] == []
    await house("DELETE", "/v1/inboxes/a", if_match='"1"')
    assert (await house("GET", "/v1/inboxes/a/consumers")).status == 404
