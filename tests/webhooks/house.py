"""Endpoints, events and attempts for the tests of webhooks, through plans."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

from steadhold.access import Actor
from steadhold.events import Event
from steadhold.kit.plan import single_operation
from steadhold.webhooks import delivering, plans, replaying
from steadhold.webhooks.model import Result, Spec

BY = Actor("tester", None)
AT = datetime(2026, 11, 29, tzinfo=UTC)
URL = "https://example.com/hook"


@single_operation
def fan_out(workspace: str, happened: list[Event]):
    """What the relay does with events that nobody has matched."""
    yield from delivering.fan_out(workspace, happened)


def event(aggregate="order:1", revision=1, type="order.placed", data=b'{"n":1.10}'):
    name = f"{aggregate}@{revision}"
    return Event(aggregate, revision, name, 1, AT, type, f"event:{name}#sha256:00", data, None, None)


def create(conn, workspace, *, enabled=True, **spec):
    id = str(uuid.uuid4())
    spec = {"url": URL, "types": ("*",), **spec}
    made = plans.create(conn, workspace, id, Spec(**spec), ((b"sealed", None),), by=BY)
    if enabled:
        made = plans.enable(conn, workspace, id, by=BY)
    return made.endpoint


def listed(conn, workspace, endpoint):
    found = replaying.deliveries(
        conn, workspace, endpoint.id, None, (datetime(9999, 1, 1, tzinfo=UTC), str(uuid.UUID(int=0))), 1000
    )
    return sorted(found, key=lambda d: (d.place, d.made_at))


def states(conn, workspace, endpoint):
    return [d.state for d in listed(conn, workspace, endpoint)]


class Sender:
    """Begins attempts at one endpoint and says what they came to."""

    def __init__(self, conn, workspace, endpoint, holder="me"):
        self.conn, self.workspace, self.webhook = conn, workspace, endpoint.id
        self.fence = delivering.lease(conn, workspace, endpoint.id, holder)

    def begin(self, limit=10):
        return delivering.begin(self.conn, self.workspace, self.webhook, self.fence, limit)

    def settle(self, sendings, state="delivered", **told):
        results = [Result(s.delivery, s.n, state, **told) for s in sendings]
        return delivering.settle(self.conn, self.workspace, self.webhook, results)

    def send(self, state="delivered", limit=10, **told):
        sendings = self.begin(limit).sendings
        self.settle(sendings, state, **told)
        return sendings
