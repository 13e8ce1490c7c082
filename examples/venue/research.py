"""A research job: it writes a report, asks whether exactly this report is worth its price, and pays for it, once.

Run it with `steadhold work research:worker`, in this folder. VENUE_URL says where the venue is.
"""

from __future__ import annotations

import json
import os
import urllib.request
from typing import Any, Final

from steadhold import Client
from steadhold.sdk.approvals import Artifact
from steadhold.worker import Acted, Done, OutcomeUnknown, Permanent, SyncContext, Worker

HOUR: Final = 3_600.0
VENUE_SECONDS: Final = 10.0

worker = Worker()


@worker.job("research")
def research(ctx: SyncContext, order: dict[str, Any]) -> Done:
    """Write, ask, wait, pay. Each step is made once, whatever dies in between, and whatever the venue does."""
    topic, price, act = order["topic"], order["price"], f"pay-{ctx.job.root_job_id}"
    with Client() as client:
        report = ctx.stage("report", lambda: write(client, topic))
        approval_id = ctx.stage("ask", lambda: ask(client, report, price, act))
        decided = ctx.wait_for("decision", approval=approval_id)
        if decided["state"] != "approved":
            raise Permanent(f"not_approved:{decided['state']}")
        ctx.stage("use", lambda: use(client, report, approval_id, act))
    paid = pay(ctx, topic, price)
    with Client() as client:
        bought = ctx.stage("bought", lambda: keep(client, topic, report, paid))
    return Done(result_ref=bought)


def keep(client: Client, topic: str, report: str, paid: str) -> str:
    """What came of it is a file, too: the job keeps it as long as it is kept itself."""
    told = json.dumps({"report": report, "paid": paid}).encode()
    return client.context.edit(f"receipts/{topic}.json", lambda _: told, create=b"").reference


def write(client: Client, topic: str) -> str:
    """The notes and the report, where people can read them. What names this very report goes on from here."""
    client.context.edit(f"notes/{topic}.md", lambda had: had + f"- read about {topic}\n".encode(), create=b"")
    path, text = f"reports/{topic}.md", f"# {topic}\n\nAll about {topic}.\n"
    return client.context.edit(path, lambda _: text.encode(), create=b"").reference


def ask(client: Client, report: str, price: str, act: str) -> str:
    """Ask about exactly this report: it stays readable as it is, whatever becomes of the file."""
    title = f"Pay {price} EUR for {report.partition('@')[0]}?"
    asked = client.approvals.request(
        artifact(report), action="pay", title=title, expires_in_seconds=HOUR, operation_id=f"ask-{act}"
    )
    return asked.approval_id


def use(client: Client, report: str, approval_id: str, act: str) -> str:
    """Take the grant for this one payment; another report in the same file is not what was approved."""
    client.approvals.use(approval_id, artifact(report), use_id=act)
    return act


def artifact(report: str) -> Artifact:
    """The report as what is decided about: its reference says its revision and its hash."""
    revision, _, digest = report.rpartition("@")[2].partition("#")
    return Artifact(report, revision, digest)


def pay(ctx: SyncContext, topic: str, price: str) -> str:
    """Charge at the venue: begun once, and never again where nobody knows what came of it."""
    request = {"topic": topic, "price": price}
    with ctx.effect(
        "pay", key="report", request=request, target="venue", amount=price, currency="EUR", reconcile=look
    ) as effect:
        try:
            effect.call(charge, effect.id, price)
        except OutcomeUnknown:
            told = ctx.wait_for("paid", effect=effect.id, timeout_seconds=30 * 86_400)
            if told.get("state") != "succeeded":
                raise Permanent("not_paid", json.dumps(told)) from None
    with Client() as client:
        return client.effects.get(effect.id).venue_ref or "unknown"


def charge(id: str, price: str) -> Acted:
    """Ask the venue to charge. Whatever breaks here, it may have done so."""
    told = venue("POST", "/charges", {"id": id, "amount": price})
    return Acted(told["ref"], venue_ref=told["ref"])


def look(unknown: OutcomeUnknown) -> Acted | None:
    """Ask the venue what it has. That it has nothing yet says nothing: it may act late."""
    refs = venue("GET", f"/charges/{unknown.effect_id}")["refs"]
    return Acted(refs[0], venue_ref=refs[0], evidence_ref="asked the venue") if len(refs) == 1 else None


def venue(method: str, path: str, body: dict[str, str] | None = None) -> Any:
    """Talk to the venue."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(os.environ["VENUE_URL"] + path, data, method=method)  # noqa: S310 - http alone
    with urllib.request.urlopen(asked, timeout=VENUE_SECONDS) as answer:  # noqa: S310
        return json.load(answer)
