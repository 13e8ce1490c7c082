"""Exit codes, and the sentence that a failure leaves with: what happened, its code, and what to do next."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final

import click

from steadhold.cli import steps
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
_BY_CODE: Final = {"operation_mismatch": CONFLICT}
"""Codes that say something else than their status."""
AS_URL: Final = ": give that address as url"
"""What the SDK says of a redirect; whoever types a command has another name for it."""
ELSEWHERE: Final = (
    "Something before the server answered, or another server: does STEADHOLD_URL, or --url, name the server itself?"
)
NOTHING: Final[Mapping[str, str]] = {}
_IN_FLIGHT: Final = re.compile(r"(Operation (\S+) was in flight): client\.operations\.resolve tells its fate\.")
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


@contextmanager
def waiting(next: str) -> Iterator[None]:
    """Requests in the block only wait for what was changed before: `next` says how to wait again where one fails."""
    try:
        yield
    except Exception as error:
        said = _of_sdk(error)
        if said is None:
            raise
        raise Said(said.message, said.code, next=next) from error


def unforeseen(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Write what nobody foresaw as Python does, but for what a terminal would obey (a hook of `sys`)."""
    click.echo(legible("".join(traceback.format_exception(error)), "\n\t"), err=True, nl=False)


def unsaid() -> None:
    """Forget what standard output could not take: the interpreter would try again, and end with a code of its own."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def left_with(error: Exception) -> int | None:
    """Say what a failure is, and with which code the command ends; None for one that was not foreseen."""
    said = told(error)
    if said is None:
        return None
    said.show()
    if isinstance(error, OSError) and error.errno in FULL:
        unsaid()
    return said.code


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
        case errors.BadAnswer() if AS_URL in str(error):
            return Said(_typed(str(error)), next=ELSEWHERE)
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
    why = f"{what} may or may not have taken effect: {_typed(error.why)} [outcome_unknown]"
    return Said(why, UNKNOWN, next=_certain(error, again))


def _certain(error: Any, again: str) -> str:
    """How to learn what became of a change. To abandon it says so only where a workspace keeps its receipt."""
    same = again or "run the same command again"
    if getattr(error.request, "identity", None) == "own":
        return f"It has no receipt, what it touches answers for itself: {same}.{error.ended}"
    if getattr(error.request, "of_the_house", False):
        return f"No workspace keeps its receipt: {same}."
    tells = f"`steadhold operations abandon {error.operation_id}` says which, for good"
    return f"{tells}; or {same}." if again else f"{tells}. Then {same}, if it has not."


def _typed(why: str) -> str:
    """Why something failed, without what the SDK tells programs to do."""
    return why.replace(AS_URL, "")


def interrupted(note: str) -> str:
    """What the SDK notes of a change that was interrupted, in words of the command line."""
    return _IN_FLIGHT.sub(r"\1: `steadhold operations abandon \2` says for good whether it took effect.", note)


def refusal(error: Any, next: str = "") -> Said:
    """What a server refused, as it leaves; `next` says more than its code alone can tell."""
    from steadhold.sdk.extras import flat

    extras = "".join(f", {name}={value}" for name, value in flat(error.extras))
    code = _BY_CODE.get(error.code) or _BY_STATUS.get(error.status, ERROR)
    return Said(f"{error.detail or error.title} [{error.code}{extras}]", code, next=next or next_of(error))


def next_of(error: Any, typed: Mapping[str, str] = NOTHING) -> str:
    """What helps against a refusal, as far as its code tells; with the names that were `typed`."""
    from steadhold.sdk.problem import FOREIGN

    if error.next == "wait" or error.retry_after is not None:
        pause = "a while" if error.retry_after is None else f"{error.retry_after:g} s"
        return f"Wait {pause}, then run the command again."
    if error.code.startswith(FOREIGN):
        return ELSEWHERE
    if error.status == 401:
        return "Set STEADHOLD_API_KEY to a key of this server. `steadhold dev` prints its own."
    if str(error.extras.get("scope", "")).startswith("workspaces:"):
        return (
            "Workspaces are operators' matters: use an operator's key, or ask the database itself, as in "
            "`steadhold workspaces ls --data-dir DIR`."
        )
    return steps.against(error.code, error.extras, typed) or steps.NEXT.get(error.next, "")


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
            next="What this command changed, if anything, stays so. Make room, and read it again.",
        )
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Said(f"{where}{error.strerror or error}", UNAVAILABLE if isinstance(error, ConnectionError) else ERROR)
    return None
