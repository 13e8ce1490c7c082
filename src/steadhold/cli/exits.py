"""Exit codes, and the sentence that a failure leaves with: what happened, its code, and what to do next."""

from __future__ import annotations

import sys
from typing import Any, Final

import click

OK: Final = 0
ERROR: Final = 1
USAGE: Final = 2
CONFLICT: Final = 3
NOT_FOUND: Final = 4
UNKNOWN: Final = 5
UNAVAILABLE: Final = 6
FORBIDDEN: Final = 7
ONGOING: Final = 8
WARNING: Final = 9
LOST: Final = 10
INTERRUPTED: Final = 130

_BY_STATUS: Final = {
    400: USAGE,
    401: FORBIDDEN,
    403: FORBIDDEN,
    404: NOT_FOUND,
    409: CONFLICT,
    410: NOT_FOUND,
    412: CONFLICT,
    428: USAGE,
    429: UNAVAILABLE,
    503: UNAVAILABLE,
}
_NEXT: Final = {
    "reread": "Read it again, then decide anew.",
    "resend": "Nothing was changed. Run the command again.",
}

_BY_CODE: Final = {
    "already_used": "`steadhold approvals show ID` tells which use has it.",
    "artifact_mismatch": "`steadhold approvals show ID` tells what is decided about. Ask anew about what you have.",
    "bad_scope": "The guide of access lists all scopes; persons' keys are made with `--kind person`.",
    "bad_url": "What else may be reached is the operator's setting webhooks_allow; `steadhold dev` allows http://127.0.0.1.",
    "beyond_head": "Acknowledge what was read, at most; `steadhold inbox show NAME` tells the last number.",
    "condition_false": "Read it again, then decide anew: --if-match names the revision that you have read.",
    "gap_not_accepted": "Deal with what is gone, then say --accept-gap-through with the last number of it.",
    "inbox_restored": "`steadhold consumers show INBOX NAME` tells the epoch of now, and the position to read on from.",
    "lock_lost": "Stop what relied on it. `steadhold locks show NAME` tells who has it now.",
    "missing_scope": "Use a key that has this scope; `steadhold keys create SUBJECT --scope …` makes one.",
    "not_approver": "Another person decides: `steadhold keys create SUBJECT --kind person --scope approvals:vote`. Or "
    "ask anew with --allow-requester.",
    "not_needed": "`steadhold effects ls --reconciliation needed` lists those at which somebody has to look.",
    "plaintext_present": "Read what they hold, delete them, ask again, and write it by `client.private(keyring)`.",
    "plaintext_refused": "`client.private(keyring)` seals what it writes; /docs/envelopes of the server tells how.",
    "revision_pruned": "`steadhold state revisions NAME`, or `context revisions PATH`, lists those that are kept.",
    "unknown_op": "The guide of commits lists them, at /docs/commits of the server.",
}


class Said(Exception):
    """A failure as it leaves: one sentence, its exit code, and what to do next."""

    def __init__(self, message: str, code: int = ERROR, *, next: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.next = message, code, next

    def show(self) -> None:
        """Write it to standard error."""
        click.echo(f"Error: {legible(self.message)}", err=True)
        if self.next:
            click.echo(f"Next: {self.next}", err=True)


def legible(text: str) -> str:
    """Text of others for a terminal: what would move its cursor, or do worse, is shown as a mark."""
    return "".join([char if char.isprintable() or char == "\n" else "\ufffd" for char in text])


def told(error: Exception) -> Said | None:
    """What a failure is to whoever typed the command; None for one that was not foreseen."""
    if isinstance(error, Said):
        return error
    if isinstance(error, click.exceptions.ClickException | click.exceptions.Exit | click.exceptions.Abort):
        return None
    if isinstance(error, ModuleNotFoundError):
        return _missing(error)
    if isinstance(error, BrokenPipeError):
        return None
    return _of_sdk(error) or _of_house(error) or _of_machine(error)


def _missing(error: ModuleNotFoundError) -> Said | None:
    if (error.name or "").partition(".")[0] == "steadhold":
        return None
    return Said(
        f"This command needs {error.name}, which is not installed.", next="pip install 'steadhold[server]'"
    )  # fmt: skip


def _of_sdk(error: Exception) -> Said | None:
    from steadhold.sdk import errors

    match error:
        case errors.OutcomeUnknown():
            return Said(
                f"Operation {error.operation_id} may or may not have taken effect: {error.why} [outcome_unknown]",
                UNKNOWN,
                next=f"`steadhold operations abandon {error.operation_id}` says which, for good; "
                f"or run the same command again with --idempotency-key {error.operation_id}.",
            )
        case errors.Unreachable():
            return Said(
                f"No server was reached: {error} [unreachable]",
                UNAVAILABLE,
                next="Nothing was sent. Is it running, and is STEADHOLD_URL right? `steadhold dev` starts one.",
            )
        case errors.Problem():
            return _problem(error)
        case errors.SteadholdError():
            return Said(str(error))
        case _:
            return None


def _problem(error: Any) -> Said:
    from steadhold.sdk.extras import flat

    extras = "".join(f", {name}={value}" for name, value in flat(error.extras))
    code = _BY_STATUS.get(error.status, ERROR)
    return Said(f"{error.detail or error.title} [{error.code}{extras}]", code, next=_next(error))


def _next(error: Any) -> str:
    if error.next == "wait" or error.retry_after is not None:
        pause = "a while" if error.retry_after is None else f"{error.retry_after:g} s"
        return f"Wait {pause}, then run the command again."
    if error.status == 401:
        return "Set STEADHOLD_API_KEY to a key of this server. `steadhold dev` prints its own."
    if str(error.extras.get("scope", "")).startswith("workspaces:"):
        return (
            "Workspaces are operators' matters: use an operator's key, or the database by --data-dir or --database-url."
        )
    return _BY_CODE.get(error.code) or _NEXT.get(error.next, "")


def _of_house(error: Exception) -> Said | None:
    """What the server's parts raise. They are looked for only where they were loaded: the base install has none."""
    for module, name, code, sentence, next in _HOUSE:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and isinstance(error, kind):
            return Said(sentence or str(error), code, next=next)
    return None


_LATER: Final = "Nothing was changed. Run the command again."
_HOUSE: Final = (
    ("steadhold.db.errors", "DatabaseError", ERROR, "", ""),
    ("steadhold.server.listening", "ListenError", ERROR, "", ""),
    ("steadhold.server.processes.parent", "EndedEarly", ERROR, "", ""),
    ("steadhold.server.sources", "SettingError", USAGE, "", ""),
    ("steadhold.server.retention", "OrderBroken", USAGE, "", ""),
    ("steadhold.play.single", "Busy", UNAVAILABLE, "", _LATER),
    ("steadhold.play.single", "Unavailable", UNAVAILABLE, "", _LATER),
    (
        "steadhold.worker.on_postgres",
        "WorkspaceMissing",
        NOT_FOUND,
        "",
        "`steadhold workspaces ls --database-url URL` lists them.",
    ),
    (
        "steadhold.play.single",
        "OutcomeUnknown",
        UNKNOWN,
        "The connection to the database broke while it committed.",
        "Look whether it took effect, then run the command again if it did not.",
    ),
    ("asyncpg", "PostgresError", ERROR, "", "`steadhold doctor` examines the database."),
    ("asyncpg", "InterfaceError", ERROR, "", "`steadhold doctor` examines the database."),
)


def _of_machine(error: Exception) -> Said | None:
    if isinstance(error, TimeoutError):
        return Said(str(error) or "Time is up.", ONGOING)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Said(f"{where}{error.strerror or error}", UNAVAILABLE if isinstance(error, ConnectionError) else ERROR)
    return None
