"""Things of events, inboxes and webhooks that suites ask about, made through the doors of a real server."""

from __future__ import annotations

from datetime import UTC, datetime

from steadhold.kit.ids import new_id

EVER = {"from": "2026-01-01T00:00:00Z", "to": "2999-01-01T00:00:00Z"}
HAPPENED = {"events": [{"type": "t", "event_id": "theirs", "data": "secret"}]}
SUBSCRIPTION = {"types": ["*"], "target": {"inbox": "secret"}}


def things_of_events(owner):
    """An aggregate, an inbox with a consumer, and a subscription whose publications wait; their ids."""
    made = {"if-none-match": "*", "content-type": "application/json"}
    kind = {"states": ["secret"], "edges": []}
    owner.put("/v1/aggregate-types/theirs", json=kind, headers=made).raise_for_status()
    owner.put("/v1/inboxes/secret", json={}, headers=made).raise_for_status()
    owner.put("/v1/inboxes/secret/consumers/secret", json={}, headers=made).raise_for_status()
    lease = {"owner": "a", "lease_seconds": 3_600}
    assert owner.post("/v1/inboxes/secret/consumers/secret/lease", json=lease).json()["fence"] == 1
    owner.post(
        "/v1/inboxes/secret/events", json={"type": "t", "data": "secret"}, headers={"idempotency-key": "secret"}
    ).raise_for_status()
    owner.put("/v1/subscriptions/theirs", json=SUBSCRIPTION, headers=made).raise_for_status()
    owner.post("/v1/aggregates/theirs/events", json=HAPPENED, headers=made).raise_for_status()
    again = owner.post("/v1/subscriptions/theirs/replay", json=EVER, headers={"idempotency-key": new_id()})
    assert again.json()["events"] >= 1, again.text
    [waits, *_] = owner.get("/v1/publications?state=pending").json()["items"]
    return {
        "aggregates": "theirs", "events": "theirs", "subscriptions": "theirs",
        "publications": waits["publication_id"],
    }  # fmt: skip


def things_of_webhooks(owner):
    """A webhook with a delivery and a replay; their ids."""

    def post(path, body=None):
        got = owner.post(path, json=body, headers={"idempotency-key": new_id()})
        return got.raise_for_status().json()

    hook = post("/v1/webhooks", {"url": "https://example.com/secret", "types": ["*"]})["webhook_id"]
    owner.post(f"/v1/webhooks/{hook}/enable").raise_for_status()
    sent = post(f"/v1/webhooks/{hook}/ping", {})["delivery_id"]
    again = post(f"/v1/webhooks/{hook}/replay", {"since": now()})["replay_id"]
    return {"webhooks": hook, "deliveries": sent, "webhook-replays": again}


def now():
    """This second, as doors take it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def things_of_effects(owner):
    """An effect that somebody has to look at, and a charge in a journal; the effect's id."""
    meant = {"effect_id": "theirs", "kind": "secret", "target": "secret", "request_digest": f"sha256:{'0' * 64}"}
    owner.post("/v1/effects", json=meant).raise_for_status()
    owner.post("/v1/effects/theirs/initiate", json={}, headers={"idempotency-key": new_id()}).raise_for_status()
    owner.post("/v1/effects/theirs/outcome", json={"execution": "unknown"}).raise_for_status()
    charge = {"entry_id": "theirs", "amount": "1", "currency": "EUR", "note": "secret"}
    owner.post("/v1/journals/secret/entries", json=charge).raise_for_status()
    return {"effects": "theirs"}
