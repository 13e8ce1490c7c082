"""Webhooks through a real server: made, enabled, delivered to, replayed, cancelled."""

from __future__ import annotations

import base64
import json
import time
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from steadhold import Problem, Webhook
from steadhold.events import WritersOpen
from steadhold.kit.ids import uuid7
from steadhold.sdk import Client
from steadhold.sdk.errors import NotFound, RevisionConflict
from steadhold.server.settings import Settings
from steadhold.testing.database import copied
from steadhold.web.problem import SOON
from steadhold.webhooks.doors import refused
from tests.sdk.site import operator_key, served
from tests.webhooks.listener import listening

pytestmark = [pytest.mark.database]


@pytest.fixture(scope="module")
def server(server_run):
    with copied(server_run, "webhooks") as database:
        settings = Settings(
            database_url=database.dsn,
            port=0,
            pool_size=6,
            sealing_key=base64.b64encode(bytes(32)).decode(),
            webhooks_allow=("http://127.0.0.0/8:*",),
        )
        with served(settings) as url:
            yield url, operator_key(database)


@pytest.fixture
def client(server):
    url, key = server
    with Client(url, key) as operator_client:
        made = operator_client.workspaces.create(f"t-{uuid.uuid4().hex[:12]}")
    with Client(url, made.key) as found:
        yield found


@pytest.fixture
def receiver():
    with listening() as found:
        yield found


def until(look, wanted):
    """Look again until it is as wanted; the test's own time limit ends what never is."""
    ends = time.monotonic() + 30
    while (found := look()) != wanted:
        assert time.monotonic() < ends, found
    return found


def test_a_change_is_delivered_signed_and_can_be_sent_again(client, receiver):
    made = client.webhooks.create(receiver.url, ["job.*"])
    assert (made.enabled, made.disabled_why, made.secret[:6]) == (False, "new", "whsec_")
    client.webhooks.enable(made.webhook_id)
    job = client.jobs.submit("report", {"n": 1})
    headers, body = receiver.some(1)[0]
    delivery = Webhook(made.secret).verify(headers, body)
    assert delivery.event_id == f"job:{job.job_id}@1"
    assert json.loads(body)["type"].startswith("job.")
    until(lambda: client.webhooks.delivery(delivery.delivery_id).state, "delivered")
    again = client.webhooks.resend(delivery.delivery_id)
    headers, same = next(
        seen for seen in receiver.some(2) if dict(seen[0])["x-steadhold-delivery-id"] == again.delivery_id
    )
    second = Webhook(made.secret).verify(headers, same)
    assert (second.event_id, second.delivery_id, second.replay) == (delivery.event_id, again.delivery_id, True)
    assert same == body
    told = client.webhooks.delivery(delivery.delivery_id)
    assert [(a.state, a.status, a.address) for a in told.attempted] == [("delivered", 200, "127.0.0.1")]


def test_a_secret_is_shown_once(client):
    key = str(uuid.uuid4())
    first = client.webhooks.create("https://example.com/", ["*"], operation_id=key)
    again = client.webhooks.create("https://example.com/", ["*"], operation_id=key)
    assert (again.webhook_id, again.secret) == (first.webhook_id, None)
    receipt = client.operations.get(key)
    assert first.secret.encode() not in bytes(receipt.raw)
    assert b'"secret_shown":true' in bytes(receipt.raw)
    assert first.secret not in str(client.webhooks.get(first.webhook_id))


def test_both_secrets_sign_within_the_grace(client, receiver):
    made = client.webhooks.create(receiver.url, ["*"], asymmetric=True)
    new = client.webhooks.rotate(made.webhook_id, grace_seconds=600)
    client.webhooks.ping(made.webhook_id)
    headers, body = receiver.some(1)[0]
    public = next(s.public_key for s in new.secrets if s.scheme == "v1a")
    ids = {Webhook(secret).verify(headers, body).event_id for secret in (made.secret, new.secret, public)}
    assert len(ids) == 1


def test_a_ping_verifies_before_it_is_enabled(client, receiver):
    made = client.webhooks.create(receiver.url, ["*"])
    placed = client.webhooks.ping(made.webhook_id, type="test.hello")
    headers, body = receiver.some(1)[0]
    assert Webhook(made.secret).verify(headers, body).delivery_id == placed.delivery_id
    assert json.loads(body)["type"] == "test.hello"
    until(lambda: client.webhooks.delivery(placed.delivery_id).state, "delivered")
    assert client.webhooks.get(made.webhook_id).enabled is False


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com:8443/",
        "https://169.254.169.254/latest",
        "https://u:p@example.com/",
        "http://10.0.0.1/",
        "x",
    ],
)
def test_where_a_webhook_may_not_go(client, url):
    with pytest.raises(Problem) as refused:
        client.webhooks.create(url, ["*"])
    assert (refused.value.status, refused.value.code) == (422, "bad_url")


@pytest.mark.parametrize(
    "name", ["Host", "content-type", "Webhook-Id", "X-Steadhold-Hops", "a b", "Transfer-Encoding", "Cookie"]
)
def test_fields_that_a_webhook_may_not_have(client, name):
    with pytest.raises(Problem) as refused:
        client.webhooks.create("https://example.com/", ["*"], headers={name: "x"})
    assert refused.value.code == "bad_webhook_header"


def test_its_own_fields_are_sent_and_not_shown(client, receiver):
    made = client.webhooks.create(receiver.url, ["*"], headers={"Authorization": "Bearer hidden"})
    placed = client.webhooks.ping(made.webhook_id)
    assert dict(receiver.some(1)[0][0])["Authorization"] == "Bearer hidden"
    until(lambda: client.webhooks.delivery(placed.delivery_id).state, "delivered")
    assert made.header_names == ("Authorization",)
    assert "hidden" not in str((client.webhooks.get(made.webhook_id), client.webhooks.delivery(placed.delivery_id)))


def test_it_is_changed_and_removed_at_its_revision(client):
    made = client.webhooks.create("https://example.com/", ["*"], rate=5)
    now = client.webhooks.change(made.webhook_id, if_revision=1, types=["job.*"], rate=None, ordered="aggregate")
    assert (now.revision, now.types, now.rate, now.ordered) == (2, ("job.*",), None, "aggregate")
    with pytest.raises(RevisionConflict):
        client.webhooks.change(made.webhook_id, if_revision=1, types=["*"])
    client.webhooks.delete(made.webhook_id, if_revision=2)
    with pytest.raises(NotFound):
        client.webhooks.get(made.webhook_id)
    assert [w.webhook_id for w in client.webhooks.list()] == []


def test_a_failing_delivery_is_tried_again_and_can_be_cancelled(client, receiver):
    receiver.status = 500
    made = client.webhooks.create(receiver.url, ["job.*"], retry_seconds=[0, 3600])
    client.webhooks.enable(made.webhook_id)
    client.jobs.submit("report", {})
    receiver.some(1)
    until(lambda: [d.tries for d in client.webhooks.deliveries(made.webhook_id)][:1], [1])
    (pending, *_) = client.webhooks.deliveries(made.webhook_id, state="pending")
    cancelled = client.webhooks.cancel(pending.delivery_id)
    assert (cancelled.state, cancelled.outcome) == ("cancelled", "not_delivered")
    receiver.status = 200
    again = client.webhooks.replay(made.webhook_id, since=datetime.now(UTC) - timedelta(hours=1), only="failed")
    assert again.state == "running"


def test_a_replay_is_of_a_range_and_one_under_its_operation_and_ends_when_it_is_cancelled(client):
    made = client.webhooks.create("https://example.com/", ["*"])
    client.webhooks.enable(made.webhook_id)
    since, to = (datetime.now(UTC) - timedelta(hours=hours) for hours in (2, 1))
    key = str(uuid.uuid4())
    first, again = (
        client.webhooks.replay(made.webhook_id, since=since, until=to, only="all", operation_id=key) for _ in range(2)
    )
    assert (again.replay_id, again.since, again.until) == (first.replay_id, since, to)
    until(lambda: client.webhooks.replayed(first.replay_id).state, "done")
    with pytest.raises(Problem) as refused:
        client.webhooks.cancel_replay(first.replay_id)
    assert (refused.value.status, refused.value.code) == (409, "replay_ended")
    with pytest.raises(NotFound):
        client.webhooks.cancel_replay(str(uuid.uuid4()))


def test_a_replay_older_than_what_is_kept_is_refused(client):
    made = client.webhooks.create("https://example.com/", ["*"])
    client.webhooks.enable(made.webhook_id)
    with pytest.raises(Problem) as refused:
        client.webhooks.replay(made.webhook_id, since=datetime.now(UTC) - timedelta(days=40))
    assert (refused.value.status, refused.value.code) == (410, "deliveries_pruned")


def test_what_is_as_old_as_what_was_removed_is_gone(client):
    old, hooks = uuid7(int(time.time() - 31 * 86_400) * 1_000, bytes(10)), client.webhooks
    for ask in (hooks.delivery, hooks.resend, hooks.cancel, hooks.replayed, hooks.cancel_replay):
        with pytest.raises(Problem) as refused:
            ask(old)
        assert (refused.value.status, refused.value.code) == (410, "deliveries_pruned")


def test_what_is_not_there_is_missing(client):
    nothing = str(uuid.uuid4())
    for ask in (client.webhooks.get, client.webhooks.enable, client.webhooks.delivery, client.webhooks.cancel):
        with pytest.raises(NotFound):
            ask(nothing)
    with pytest.raises(NotFound):
        list(client.webhooks.deliveries(nothing))


def test_who_finds_writers_in_the_way_is_told_when_to_come_again():
    assert refused(WritersOpen()).headers == SOON
