"""What helps against each code that a server refuses with, as far as a sentence can say.

A name in braces is that of an argument or option that was typed, or of a member of the refusal.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Final

NEXT: Final = {
    "reread": "Read it again, then decide anew.",
    "resend": "Nothing was changed. Run the command again.",
}
_APPROVAL: Final = "`steadhold approvals show {approval_id}` tells "

BY_CODE: Final = {
    "already_used": f"{_APPROVAL}which use has it.",
    "already_voted": f"{_APPROVAL}the votes; none of them changes.",
    "approval_ended": f"{_APPROVAL}how.",
    "artifact_mismatch": f"{_APPROVAL}what is decided about. Ask anew about what you have.",
    "bad_scope": "The guide of access lists all; `steadhold keys create SUBJECT --kind person` makes a person's key.",
    "bad_url": "What else may be reached is the operator's setting webhooks_allow; `steadhold dev` allows http://127.0.0.1.",
    "beyond_head": "Acknowledge what was read, at most; `steadhold inbox show {inbox}` tells the last number.",
    "deliveries_pruned": "Begin later: what is older is gone.",
    "delivery_ended": "`steadhold webhooks delivery {delivery_id}` tells how; "
    "`steadhold resend {delivery_id}` sends the event again.",
    "doors_full": "`steadhold doors ls {inbox}` lists them; "
    "`steadhold doors delete {inbox} ID --if-match N` closes one.",
    "effect_conflict": "`steadhold effects show ID` tells what has this id. Give another to another action.",
    "entry_conflict": "Give another id to another charge.",
    "event_taken": "Give another id to another event.",
    "events_pruned": "Begin later: what is older is gone.",
    "evidence_conflict": "`steadhold effects show {effect_id} --history` tells every fact that was kept.",
    "gap_not_accepted": "Deal with what is gone, then tell the last number of it: "
    "`steadhold inbox ack {inbox} {consumer} {epoch} {sequence} --accept-gap-through {to}`.",
    "inbox_restored": "`steadhold consumers show {inbox} {consumer}` tells the epoch of now, and the position to "
    "read on from.",
    "job_ended": "`steadhold jobs show {job_id}` tells how.",
    "key_conflict": "`steadhold jobs ls --unique-key {unique_key}` tells which job has it.",
    "key_ended": "`steadhold keys ls` tells which are active; `steadhold keys create SUBJECT --scope …` makes another.",
    "lock_lost": "Stop what relied on it. `steadhold locks show {lock}` tells who has it now.",
    "missing_scope": "Use a key that has this scope; `steadhold keys create SUBJECT --scope …` makes one.",
    "no_sealing_key": "Whoever runs the server gives it one: the setting sealing_key.",
    "not_approver": "Another person decides: `steadhold keys create SUBJECT --kind person --scope approvals:vote`. Or "
    "`steadhold approvals request --allow-requester` asks anew.",
    "not_needed": "`steadhold effects ls --reconciliation needed` lists those at which somebody has to look.",
    "not_usable": f"{_APPROVAL}why. Ask anew.",
    "operation_abandoned": "If it is still wanted, do it under another id.",
    "operation_expired": "Read what it would have changed; if that is not so, do it under another id.",
    "operation_mismatch": "One id is one request: say what was said under it at first, or choose another id.",
    "path_taken": "Name another path, or move away what is there: `steadhold context mv SOURCE TARGET --if-match N`.",
    "plaintext_present": "Read what they hold, delete them, ask again, and write it by `client.private(keyring)`.",
    "plaintext_refused": "`client.private(keyring)` seals what it writes; /docs/envelopes of the server tells how.",
    "publication_settled": "`steadhold publications ls` lists those that do not get on.",
    "replay_ended": "`steadhold webhooks replayed {replay_id}` tells how far it came.",
    "revision_pruned": "`steadhold state revisions NAME` or `steadhold context revisions PATH` lists what is kept.",
    "runs_pruned": "Begin later: what is older is gone.",
    "subscriptions_full": "`steadhold subscriptions ls` lists them; one that nobody needs can be deleted.",
    "transition_not_permitted": "`steadhold events types` lists the edges of each type.",
    "unknown_op": "The guide of commits lists them, at /docs/commits of the server.",
    "webhook_disabled": "`steadhold webhooks enable {webhook_id}` lets its deliveries begin.",
    "workspace_exists": "`steadhold workspaces ls` lists those that there are.",
}
_HOLDERS: Final = {"lock": "locks show", "job": "jobs show", "consumer": "consumers show"}
"""What tells who has a grant, by its kind."""


class _Named(dict[str, str]):
    """What was typed, and a word in capitals for what was not."""

    def __missing__(self, name: str) -> str:
        return name.rpartition("_")[2].upper()


def against(code: str, extras: Mapping[str, Any], typed: Mapping[str, str]) -> str:
    """What helps against a code, with the names that were `typed`; empty where no more is known than the code."""
    if code == "stale_fence":
        return _replaced(str(extras.get("subject") or ""))
    numbers = {name: str(value) for name, value in extras.items() if isinstance(value, int)}
    return BY_CODE.get(code, "").format_map(_Named({**numbers, **typed}))


def _replaced(grant: str) -> str:
    """What to do where a grant is not current."""
    kind, _, name = grant.partition(":")
    said = "Stop what relied on this grant: it has ended, or somebody else has it."
    if kind not in _HOLDERS or not name:
        return said
    words = shlex.join(name.split("/")) if kind == "consumer" else shlex.quote(name)
    return f"{said} `steadhold {_HOLDERS[kind]} {words}` tells how it stands."
