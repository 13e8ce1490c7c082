"""Release a file that a person approved, exactly as it was approved, once, and by one at a time.

    python release.py ask build.tar --version 1.4        # prints the approval's id; a person decides
    steadhold approvals approve ID --file build.tar
    python release.py finish build.tar --version 1.4

Who decides has another key than who asks.

What `finish` comes to is one commit: use the approval, put the new state, finish the job, if the lock is still held.
All of it happens, or none: whatever crashes, whoever came first, and whatever the file holds by now.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from steadhold import Client
from steadhold.kit.fields import FenceRef
from steadhold.sdk.approvals import Artifact
from steadhold.sdk.errors import NotFound, Problem
from steadhold.sdk.job_shapes import Claimed
from steadhold.sdk.state import Written

TYPE: Final = "release"
CURRENT: Final = "releases/current"
LOCK: Final = "deploy"
DECIDE_SECONDS: Final = 86_400


def artifact_of(file: Path, version: str) -> Artifact:
    """Exactly what is released: the hash is of the bytes that the file has now."""
    return Artifact.of(f"file:{file.name}", version, file.read_bytes())


def ask(client: Client, artifact: Artifact) -> str:
    """Ask a person, and submit the job that will release what was approved; the approval's id."""
    title = f"Release {artifact.reference} {artifact.version}?"
    approval = client.approvals.request(
        artifact, action="release", title=title, expires_in_seconds=DECIDE_SECONDS, approvers="approvals:vote"
    )
    client.jobs.submit(TYPE, {"approval_id": approval.approval_id})
    return approval.approval_id


def finish(client: Client, job: Claimed, lock: FenceRef, artifact: Artifact) -> Written:
    """Use the approval, put the new state, finish the job: together, and only while the lock is held.

    The job's id names the use. Should its answer be lost, and another attempt come after this one, it is the same use.
    """
    approval_id = job.input["approval_id"]
    told = {"reference": artifact.reference, "version": artifact.version, "hash": artifact.hash}
    current = revision_of(client, CURRENT)
    with client.commit() as commit:
        commit.require.grant(lock)
        commit.apply.approvals.use(approval_id, artifact, use_id=job.job_id)
        if current is None:
            released = commit.apply.state.create(CURRENT, told)
        else:
            released = commit.apply.state.put(CURRENT, told, if_revision=current)
        commit.apply.jobs.complete(job.job_id, job.fence, told)
    return released.result


def revision_of(client: Client, name: str) -> int | None:
    """The revision of a name, or None where it holds nothing."""
    try:
        return client.state.get(name).revision
    except NotFound:
        return None


def release(client: Client, artifact: Artifact) -> Written | Problem | None:
    """Do one approved release, if there is a job for it: what was written, or why nothing was."""
    with client.locks.hold(LOCK, ttl=30) as lock:
        for job in client.jobs.claim("releaser", [TYPE], limit=1):
            try:
                return finish(client, job, lock.grant, artifact)
            except Problem as refused:
                client.jobs.release(job.job_id, job.fence, after_seconds=1)  # nothing was changed: another may try
                return refused
    return None


def main() -> None:
    """Do what the first lines of this file promise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("verb", choices=("ask", "finish"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--version", required=True)
    said = parser.parse_args()
    artifact = artifact_of(said.file, said.version)
    with Client() as client:
        if said.verb == "ask":
            print(ask(client, artifact))
            return
        match release(client, artifact):
            case None:
                print("there is no release to do")
            case Written(name, revision):
                print(f"released: {name} is at revision {revision}")
            case Problem() as refused:
                raise SystemExit(f"nothing was released: {refused}")


if __name__ == "__main__":
    main()
