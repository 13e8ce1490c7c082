"""Exit codes, and the sentence that a failure leaves with: what happened, its code, and what to do next."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final

import click

from steadhold.kit.legible import legible

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
    "bad_scope": "The guide of access lists all; `steadhold keys create SUBJECT --kind person` makes a person's key.",
    "bad_url": "What else may be reached is the operator's setting webhooks_allow; `steadhold dev` allows http://127.0.0.1.",
    "beyond_head": "Acknowledge what was read, at most; `steadhold inbox show NAME` tells the last number.",
    "gap_not_accepted": "Deal with what is gone, then tell the last number of it: "
    "`steadhold inbox ack NAME CONSUMER EPOCH SEQUENCE --accept-gap-through N`.",
    "inbox_restored": "`steadhold consumers show INBOX NAME` tells the epoch of now, and the position to read on from.",
    "lock_lost": "Stop what relied on it. `steadhold locks show NAME` tells who has it now.",
    "missing_scope": "Use a key that has this scope; `steadhold keys create SUBJECT --scope …` makes one.",
    "not_approver": "Another person decides: `steadhold keys create SUBJECT --kind person --scope approvals:vote`. Or "
    "`steadhold approvals request --allow-requester` asks anew.",
    "not_needed": "`steadhold effects ls --reconciliation needed` lists those at which somebody has to look.",
    "plaintext_present": "Read what they hold, delete them, ask again, and write it by `client.private(keyring)`.",
    "plaintext_refused": "`client.private(keyring)` seals what it writes; /docs/envelopes of the server tells how.",
    "revision_pruned": "`steadhold state revisions NAME` or `steadhold context revisions PATH` lists what is kept.",
    "path_taken": "Name another path, or move away what is there: `steadhold context mv SOURCE TARGET --if-match N`.",
    "unknown_op": "The guide of commits lists them, at /docs/commits of the server.",
    "webhook_disabled": "`steadhold webhooks enable ID` lets its deliveries begin.",
    "workspace_exists": "`steadhold workspaces ls` lists those that there are.",
}


FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class Said(Exception):
    """A failure as it leaves: one sentence, its exit code, and what to do next."""

    def __init__(self, message: str, code: int = ERROR, *, next: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.next = message, code, next

    def show(self) -> None:
        """Write it to standard error."""
        click.echo(f"Error: {legible(self.message)}", err=True)
        if self.next:
            click.echo(f"Next: {legible(self.next)}", err=True)


def all_taken(codes: Sequence[str | None], what: str) -> None:
    """Fail where some of what was sent together was refused, each under its code. Raises Said."""
    refused = [code for code in codes if code]
    if refused:
        told = f"{len(refused)} of {len(codes)} {what} were refused. [{', '.join(sorted({*refused}))}]"
        raise Said(told, CONFLICT if "stale_fence" in refused else ERROR)


def unforeseen(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Write what nobody foresaw as Python does, but for what a terminal would obey (a hook of `sys`)."""
    click.echo(legible("".join(traceback.format_exception(error)), "\n\t"), err=True, nl=False)


def unsaid() -> None:
    """Forget what standard output could not take: the interpreter would try again, and end with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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
            return unknown(error)
        case errors.Unreachable():
            return Said(f"No server was reached: {error} [unreachable]", UNAVAILABLE, next=_unreachable(str(error)))
        case errors.Problem():
            return refusal(error)
        case errors.SteadholdError():
            return Said(str(error))
        case _:
            return None


def _unreachable(why: str) -> str:
    """What to look at first. Whether an address speaks TLS shows in what broke, and nowhere else."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "Its certificate is not trusted here. SSL_CERT_FILE names a file of those that are."
    if "(https:" in why and "SSL" in why:
        return "What answers there does not speak TLS: should STEADHOLD_URL begin with http:// instead of https://?"
    return "Nothing was changed. Is it running, and is STEADHOLD_URL right? `steadhold dev` starts one."


def unknown(error: Any, again: str = "") -> Said:
    """A change whose fate nobody knows, as it leaves; `again` says how to say the same once more."""
    what = f"Operation {error.operation_id}" if error.operation_id else "The change"
    why = f"{what} may or may not have taken effect: {error.why} [outcome_unknown]"
    again = again or "run the same command again"
    if getattr(error.request, "identity", None) == "own":
        return Said(why, UNKNOWN, next=f"It has no receipt, what it touches answers for itself: {again}.{error.ended}")
    tells = f"`steadhold operations abandon {error.operation_id}` says which, for good"
    return Said(why, UNKNOWN, next=f"{tells}; or {again}.")


def refusal(error: Any, next: str = "") -> Said:
    """What a server refused, as it leaves; `next` says more than its code alone can tell."""
    from steadhold.sdk.extras import flat

    extras = "".join(f", {name}={value}" for name, value in flat(error.extras))
    code = _BY_STATUS.get(error.status, ERROR)
    return Said(f"{error.detail or error.title} [{error.code}{extras}]", code, next=next or next_of(error))


def next_of(error: Any) -> str:
    """What helps against a refusal, as far as its code tells."""
    if error.next == "wait" or error.retry_after is not None:
        pause = "a while" if error.retry_after is None else f"{error.retry_after:g} s"
        return f"Wait {pause}, then run the command again."
    if error.status == 401:
        return "Set STEADHOLD_API_KEY to a key of this server. `steadhold dev` prints its own."
    if str(error.extras.get("scope", "")).startswith("workspaces:"):
        return (
            "Workspaces are operators' matters: use an operator's key, or ask the database itself, as in "
            "`steadhold workspaces ls --data-dir DIR`."
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
    if isinstance(error, OSError) and error.errno in FULL and not error.filename:
        return Said(
            f"What there is to say could not be written: {error.strerror}.",
            next="What was changed by this command stays so. Make room, and read it again.",
        )
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Said(f"{where}{error.strerror or error}", UNAVAILABLE if isinstance(error, ConnectionError) else ERROR)
    return None
