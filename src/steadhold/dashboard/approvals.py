"""Approvals: what is to be decided, exactly what about, and how it differs from what was approved last."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from steadhold.approvals import By, glance, plans, verdicts
from steadhold.approvals.model import STATES, Approval
from steadhold.context import model
from steadhold.dashboard import difference
from steadhold.dashboard.facts import Payload
from steadhold.dashboard.page import PAYLOADS, Action, Download, Outcome, Page, Refused, Room, View

READ, VOTE, ASK = "approvals:read", "approvals:vote", "approvals:request"
RESOLVE: Final = "/v1/context:resolve"


async def index(view: View) -> Outcome:
    """What waits to be decided, or all in some other state; the newest first."""
    state = view.query.get("state", "pending")
    listed = await view.get("/v1/approvals", state=state or None, limit=50, cursor=view.query.get("cursor"))
    return view.show("approvals/index.html", listed=listed, state=state, states=STATES)


async def one(view: View) -> Outcome:
    """An approval with its artifact."""
    return await _one(view, None)


async def _one(view: View, no: Refused | None) -> Outcome:
    id = view.params["id"]
    found, row = await asyncio.gather(
        view.get("/v1/approvals", id), view.play(plans.get.call(view.workspace, id))
    )  # fmt: skip
    approval = found.facts
    artifact, before = await asyncio.gather(
        _contents(view, approval["artifact"]["reference"]), _approved_before(view, row)
    )
    return view.show(
        "approvals/one.html", approval=approval, no=no, artifact=artifact, before=before,
        compared=await _compared(view, approval["artifact"]["reference"], artifact, before),
        lacks=_lacks(view, row), own=row.requester == view.session.who.subject,
    )  # fmt: skip


def _lacks(view: View, row: Approval) -> str | None:
    """Why this key does not decide about it, whoever has logged in and when; None where it does."""
    who = view.session.who
    refused = verdicts.not_approver(row, By(who.subject, who.kind, who.scopes, who.key_id))
    return None if refused is None else refused.why


# --- the artifact


async def _contents(view: View, reference: str) -> Payload | None:
    """The bytes that a reference names, or their beginning; None where it is not ours, or not to be read."""
    named = model.reference(reference)
    if named is None or not view.may("context:read", named.path):
        return None
    try:
        return await difference.beginning(view, RESOLVE, reference=reference)
    except Refused as no:
        if no.status in {403, 404, 410}:
            return None
        raise


async def _approved_before(view: View, row: Approval) -> Approval | None:
    """What was approved last of the same file."""
    named = model.reference(row.artifact.reference)
    if named is None:
        return None
    prefix = row.artifact.reference.rpartition("@")[0] + "@"
    return await view.play(glance.approved_before.call(view.workspace, row.id, prefix, row.ended_at))


async def _compared(
    view: View, reference: str, artifact: Payload | None, before: Approval | None
) -> difference.Compared | None:
    if artifact is None or before is None or not view.may(PAYLOADS):
        return None
    if before.artifact.reference == reference:
        return difference.Compared("same")
    earlier = await _contents(view, before.artifact.reference)
    return None if earlier is None else await difference.compare(earlier, artifact)


async def artifact(view: View) -> Download:
    """All bytes of the artifact, in a file."""
    approval = (await view.get("/v1/approvals", view.params["id"])).facts
    reference = approval["artifact"]["reference"]
    named = model.reference(reference)
    file = "artifact" if named is None else named.path.rpartition("/")[2]
    return view.download(RESOLVE, name=file, reference=reference)


# --- what may be done


async def vote(view: View) -> Outcome:
    """Approve or reject exactly what was shown: its hash came with the form."""
    said: dict[str, Any] = {"decision": view.form.get("decision", ""), "hash": view.form.get("hash", "")}
    if comment := view.text("comment").strip():
        said["comment"] = comment
    return await view.act("/approvals", "votes", _one, body=said)


async def withdraw(view: View) -> Outcome:
    """Take a question back."""
    return await view.act("/approvals", "withdraw", _one, body={})


async def revoke(view: View) -> Outcome:
    """End a grant before it is used."""
    return await view.act("/approvals", "revoke", _one, body={})


ROOM = Room(
    "approvals", "Approvals", "Work", scope=READ,
    pages=(
        Page("/approvals", index, READ),
        Page("/approvals/{id:uuid}", one, READ),
        Page("/approvals/{id:uuid}/artifact", artifact, READ),
    ),
    actions=(
        Action("/approvals/{id:uuid}/vote", vote, VOTE, done="Your vote is kept.", fresh=True),
        Action("/approvals/{id:uuid}/withdraw", withdraw, ASK, done="The question was taken back."),
        Action("/approvals/{id:uuid}/revoke", revoke, "", done="The grant was ended: nobody acts on it any more."),
    ),
)  # fmt: skip
