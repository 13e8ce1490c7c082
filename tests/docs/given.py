"""What a guide's programs take for given, by page and by the block's place among those of the page: run before it."""

from __future__ import annotations

PERSON = """
from steadhold.sdk import Client

anna = client.keys.create("anna", scopes=["approvals:*", "context:read"], kind="person")
person = closing.enter_context(Client(url, anna.key))


class Asked:
    def __init__(self, mine):
        self.mine = mine

    def __getattr__(self, verb):
        return getattr(self.mine, verb)

    def request(self, artifact, **more):
        asked = self.mine.request(artifact, **more)
        person.approvals.approve(asked.approval_id, artifact)
        return asked


class Answered:
    approvals, context = Asked(client.approvals), client.context


bare, client, data, deploy = client, Answered(), b"replicas: 3", len
"""
"""Somebody who approves what is asked."""

GIVEN = {
    ("approvals", 0): PERSON,
    ("approvals", 1): 'client.context.write("reports/tea.md", "Tea", if_revision=None)',
    ("approvals", 2): """
from steadhold import approvals

id, seen = asked.approval_id, asked.artifact
artifact = approvals.Artifact(seen.reference, seen.version, seen.hash)
""",
    ("commits", 0): """
for inbox in ("orders", "invoices"):
    client.inboxes[inbox].create()
client.inboxes["orders"].consumer("billing").create()
client.inboxes["orders"].append("order.paid", {"amount": 12}, key="7")
client.jobs.submit("bill", {})
(job,) = client.jobs.claim("w", ["bill"])
""",
    ("commits", 1): """
for _ in range(3):
    fence = client.locks.acquire("deploy", owner="anna", ttl=30).fence
    if fence < 3:
        client.locks.release("deploy", fence)
""",
    ("commits", 2): """
from steadhold.sdk.approvals import Artifact

client.locks.release("deploy", 3)
plan = Artifact.of("plan/deploy", "7", b"replicas: 3")
approval_id = client.approvals.request(
    plan, action="deploy", title="Deploy?", expires_in_seconds=60, allow_requester=True
).approval_id
client.approvals.approve(approval_id, plan)
client.jobs.submit("release", {})
(job,) = client.jobs.claim("w", ["release"])
""",
    ("effects", 0): """
from steadhold.worker import Worker

worker = Worker(url=url, api_key=api_key)
""",
    ("effects", 1): """
client.effects.plan("charge:order-7", kind="charge", target="venue", request_digest="sha256:" + 64 * "0")
client.effects.initiate("charge:order-7")
client.effects.outcome("charge:order-7", "unknown")
""",
    ("effects", 2): 'digest = "sha256:" + 64 * "0"',
    ("inboxes", 0): """
import sqlite3
from types import SimpleNamespace
from steadhold.inboxes.applied_table import TABLES

with sqlite3.connect("shop.db") as there:
    there.executescript(TABLES["sqlite"] + "create table orders (id, paid); insert into orders values ('order:7', 0)")
event = SimpleNamespace(event_id="e", aggregate_id="order:7", aggregate_revision=1, ack=lambda: None)
""",
    ("inboxes", 1): """
client.inboxes["orders"].create()
client.inboxes["orders"].consumer("billing").create()
client.inboxes["orders"].append("order.paid", {"id": 7}, key="7")
apply = lambda conn, event: None
""",
    ("inboxes", 2): """
with psycopg.connect(dsn) as owner:
    owner.execute("create table if not exists orders (id int, paid bool)")
""",
    ("locks", 0): """
client.state.create("release", 0)
for revision in range(1, 7):
    client.state.put("release", revision, if_revision=revision)
""",
    ("state", 0): 'client.state.create("orders/limits", {"daily": 1})',
    ("webhooks", 0): 'secret, keep = "whsec_" + 43 * "A" + "=", lambda event_id, body: True',
    ("webhooks", 1): "import sqlite3",
}

SENT = {
    ("access", 0): "speaks = operator",
    ("access", 1): "speaks = api_key",
    ("approvals", 1): """
speaks = client.keys.create("anna", scopes=["approvals:*"], kind="person").key
""",
    ("commits", 0): """
for _ in range(3):
    fence = client.locks.acquire("deploy", owner="anna", ttl=30).fence
    if fence < 3:
        client.locks.release("deploy", fence)
""",
    ("events", 0): """
from steadhold.sdk.events import NewEvent

client.aggregates.append("order-7", [NewEvent(type="order.placed")], state="placed")
""",
    ("events", 1): 'client.inboxes["billing"].create()',
    ("inboxes", 0): 'client.inboxes["orders"].create()',
    ("locks", 0): """
for _ in range(2):
    client.locks.release("deploy", client.locks.acquire("deploy", owner="anna", ttl=30).fence)
""",
    ("locks", 1): """
client.state.create("release", 0)
for revision in range(1, 7):
    client.state.put("release", revision, if_revision=revision)
""",
}
"""The same for the requests of a page. `speaks` is the key that sends them."""

WRITTEN = {
    "sha256:9f86d0…": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"secret": "…"': '"secret": "0123456789abcdef"',
    "\n\n…\n": '\n\n{"hello": "world"}\n',
}
"""What a page leaves out, and what is sent for it."""

REFUSED = {("sinks", 0): "target_unknown"}
"""Requests that this server refuses, because its operator has set up no sink."""
