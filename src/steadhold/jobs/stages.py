"""jobs: what the commit of a stage comes to."""

from __future__ import annotations

from typing import Any

from steadhold import events
from steadhold.jobs import moving
from steadhold.jobs.outcomes import Checkpoint, CheckpointConflict, Checkpointed
from steadhold.kit.plan import Plan


def again(kept: Checkpoint, item: dict[str, Any], revision: int) -> Checkpointed | CheckpointConflict:
    """Answer for a stage that is committed already."""
    if (kept.digest, kept.input_digest) != (item["digest"], item["input_digest"]):
        return CheckpointConflict(kept.stage, kept.digest)
    return Checkpointed(kept.stage, kept.digest, kept.result_ref, revision, again=True)


def committed(workspace: str, item: dict[str, Any], revision: int) -> Plan[Checkpointed]:
    """Record that a stage was committed."""
    data = {"stage": item["stage"], "fence": item["fence"]}
    yield from events.record(workspace, [moving.recorded(item["job"], revision, "checkpointed", data)])
    return Checkpointed(item["stage"], item["digest"], item["result_ref"], revision)
