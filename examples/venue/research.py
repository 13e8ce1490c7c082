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
from steadhold.worker import Acted, OutcomeUnknown, Permanent, SyncContext, Worker

HOUR: Final = 3_600.0
VENUE_SECONDS: Final = 10.0

worker = Worker()


@worker.job("research")
def research(ctx: SyncContext, order: dict[str, Any]) -> dict[str, Any]:
    """Write, ask, wait, pay. Each step is made once, whatever dies in between, and whatever the venue does."""
    topic, price, act = order["topic"], order["price"], f"pay-{ctx.job.root_job_id}"
    with Client() as client:
        report = ctx.stage("report", lambda: write(client, topic))
        approval_id = ctx.stage("ask", lambda: ask(client, topic, price, act))
        decided = ctx.wait_for("decision", approval=approval_id)
        if decided["state"] != "approved":
            raise Permanent(f"not_approved:{decided['state']}")
        ctx.stage("use", lambda: use(client, topic, approval_id, act))
    paid = pay(ctx, topic, price)
    return {"report": report, "paid": paid}


def write(client: Client, topic: str) -> str:
    """The report, where people can read it."""
    name = f"reports/{topic}"
    client.state.update(name, lambda _: {"topic": topic, "findings": f"All about {topic}."}, create=None)
    return name


def ask(client: Client, topic: str, price: str, act: str) -> str:
    """Ask about the report as it lies there."""
    title = f"Pay {price} EUR for the report on {topic}?"
    asked = client.approvals.request(
        as_it_is(client, topic), action="pay", title=title, expires_in_seconds=HOUR, operation_id=f"ask-{act}"
    )
    return asked.approval_id


def use(client: Client, topic: str, approval_id: str, act: str) -> str:
    """Take the grant for this one payment; another report under the same name is not what was approved."""
    client.approvals.use(approval_id, as_it_is(client, topic), use_id=act)
    return act


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


def as_it_is(client: Client, topic: str) -> Artifact:
    """The report's bytes at this moment."""
    found = client.state.get(f"reports/{topic}")
    return Artifact.of(f"state:reports/{topic}", str(found.revision), found.raw)
