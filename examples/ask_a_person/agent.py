"""An agent that writes a text, asks a person, and publishes exactly what the person has seen.

Run it with `steadhold work agent:worker`, in this folder, under a key of its own.
"""

from __future__ import annotations

from typing import Any, Final

from steadhold import Client
from steadhold.sdk.approvals import Artifact, ArtifactMismatch
from steadhold.worker import Permanent, SyncContext, Worker

HOUR: Final = 3_600.0

worker = Worker()


@worker.job("publish")
def publish(ctx: SyncContext, input: dict[str, Any]) -> dict[str, Any]:
    """Draft, ask, wait, act. Each step is made once, whatever dies in between."""
    name, act = input["name"], f"publish-{ctx.job.root_job_id}"
    with Client() as client:
        ctx.stage("draft", lambda: draft(client, name, input["text"]))
        approval_id = ctx.stage("ask", lambda: ask(client, name, act))
        decided = ctx.wait_for("decision", approval=approval_id)
        if decided["state"] != "approved":
            raise Permanent(f"not_approved:{decided['state']}")
        return ctx.stage("act", lambda: publish_approved(client, name, approval_id, act))


def draft(client: Client, name: str, text: str) -> None:
    """Put the draft where people can see it."""
    client.state.update(f"drafts/{name}", lambda _: text, create=None)


def ask(client: Client, name: str, act: str) -> str:
    """Ask about the draft as it lies there. The act's own name makes a second try the same question."""
    artifact, _ = as_it_is(client, name)
    asked = client.approvals.request(
        artifact, action="publish", title=f"Publish {name}?", expires_in_seconds=HOUR, operation_id=f"ask-{act}"
    )
    return asked.approval_id


def publish_approved(client: Client, name: str, approval_id: str, act: str) -> dict[str, Any]:
    """Hash what is about to be published, take the grant for it, and only then act, under the act's own name."""
    artifact, raw = as_it_is(client, name)
    try:
        client.approvals.use(approval_id, artifact, use_id=act)
    except ArtifactMismatch as error:
        raise Permanent("changed_since_it_was_asked", error.detail) from error
    client.state.create(f"published/{name}", raw=raw, operation_id=act)
    return {"published": f"published/{name}", "approval": approval_id, "hash": artifact.hash}


def as_it_is(client: Client, name: str) -> tuple[Artifact, bytes]:
    """The draft's bytes at this moment, and the artifact that they are."""
    found = client.state.get(f"drafts/{name}")
    return Artifact.of(f"state:drafts/{name}", str(found.revision), found.raw), found.raw
