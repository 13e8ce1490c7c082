"""`steadhold approvals`: ask, decide, verify and use; what is decided about is a file or its hash."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from steadhold.cli.amounts import Measure, Whole, limited
from steadhold.cli.connect import asks, changes, named
from steadhold.cli.exits import CONFLICT, Said, waiting
from steadhold.cli.naming import if_match
from steadhold.cli.show import Out, printed

if TYPE_CHECKING:
    from steadhold.sdk.approvals_shapes import Artifact
    from steadhold.sdk.client import Client

COLUMNS: Final = ("approval_id", "state", "title", "requester", "expires_at")
STATES: Final = ("pending", "approved", "rejected", "expired", "withdrawn")


@click.group()
def approvals() -> None:
    """People decide about an exact artifact: one outcome, used once."""


def _seen(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--file` and `--hash`: what was seen."""
    file = click.option(
        "-f", "--file", type=click.Path(exists=True, dir_okay=False), help="The bytes that are meant; they are hashed."
    )
    return file(click.option("--hash", metavar="HASH", help="Their hash, as in sha256:9f86….")(command))


def _matching(command: Callable[..., Any]) -> Callable[..., Any]:
    return if_match("Only at this revision.")(command)


def _steers(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an approval; a revision and an operation id are passed on as they are."""
    return click.argument("approval_id")(_matching(named(printed(changes(command)))))


@approvals.command()
@click.option("--state", type=click.Choice(STATES))
@limited(100)
@printed
@asks
def ls(client: Client, limit: int, out: Out, **which: Any) -> None:
    """List approvals, the newest first. `--state pending` are those to decide."""
    out.many(islice(client.approvals.list(**which), limit), COLUMNS)


@approvals.command()
@click.argument("approval_id")
@printed
@asks
def show(client: Client, approval_id: str, out: Out) -> None:
    """Show an approval: what is asked, by whom, the votes and the grant."""
    out.one(client.approvals.get(approval_id))


@approvals.command()
@click.argument("reference")
@click.argument("version")
@_seen
@click.option("--action", required=True, help="What would be done.")
@click.option("--title", required=True, help="The question, in a sentence.")
@click.option("--expires-in-seconds", type=Measure(min=0, min_open=True), required=True, metavar="N",
              help="How long there is to decide.")  # fmt: skip
@click.option("--note", help="More for whoever decides.")
@click.option("--approver", "subjects", multiple=True, metavar="SUBJECT", help="Who decides; several may be given.")
@click.option("--approver-scope", metavar="SCOPE", help="Who decides: every person whose key has it.")
@click.option("--quorum", type=Whole(min=1), metavar="N", help="So many have to approve. [default: 1]")
@click.option("--usable-seconds", type=Measure(min=0, min_open=True), metavar="N", help="[default: a day]")
@click.option("--allow-requester", is_flag=True, help="Let who asks decide as well.")
@click.option("--wait", is_flag=True, help="Wait for the outcome, as `approvals watch` does.")
@named
@printed
@changes
def request(
    client: Client, reference: str, version: str, file: str | None, hash: str | None, subjects: tuple[str, ...],
    approver_scope: str | None, allow_requester: bool, wait: bool, out: Out, **said: Any,  # noqa: FBT001
) -> None:  # fmt: skip
    """Ask whether something may be done. It is about VERSION of REFERENCE; one to context says its hash itself."""
    if subjects and approver_scope:
        raise click.UsageError("Give --approver or --approver-scope, not both.")
    asked = client.approvals.request(
        _artifact(reference, version, file, hash), approvers=list(subjects) or approver_scope,
        allow_requester=allow_requester or None, **said,
    )  # fmt: skip
    out.one(asked)
    if wait:
        with waiting(f"It was asked. `steadhold approvals watch {asked.approval_id}` waits for the outcome again."):
            _watched(client, asked.approval_id, None, out)


def _decides(decision: str) -> Callable[..., Any]:
    @approvals.command(decision, help=f"{decision.capitalize()} what you have seen: the bytes, or their hash.")
    @click.argument("approval_id")
    @_seen
    @click.option("--comment", help="Kept with the vote.")
    @_matching
    @named
    @printed
    @changes
    def decide(client: Client, approval_id: str, file: str | None, hash: str | None, out: Out, **said: Any) -> None:
        out.one(getattr(client.approvals, decision)(approval_id, _hash(file, hash), **said))

    return decide


approve, reject = _decides("approve"), _decides("reject")


@approvals.command()
@_steers
def withdraw(client: Client, approval_id: str, out: Out, **said: Any) -> None:
    """Take back a question of yours that has no outcome."""
    out.one(client.approvals.withdraw(approval_id, **said))


@approvals.command()
@_steers
def revoke(client: Client, approval_id: str, out: Out, **said: Any) -> None:
    """End a grant that nobody has used; the decision stays."""
    out.one(client.approvals.revoke(approval_id, **said))


@approvals.command()
@click.argument("approval_id")
@click.argument("reference")
@click.argument("version")
@_seen
@click.option("--use-id", metavar="ID", help="Also yes if this use has the grant already.")
@printed
@asks
def verify(
    client: Client, approval_id: str, reference: str, version: str, file: str | None, hash: str | None,
    use_id: str | None, out: Out,
) -> None:  # fmt: skip
    """Tell whether exactly this may be acted on now. Exit code 0 is yes, 3 is no."""
    verdict = client.approvals.verify(approval_id, _artifact(reference, version, file, hash), use_id=use_id)
    out.one(verdict)
    if not verdict.approved:
        raise Said(f"This may not be acted on: {verdict.reason}.", CONFLICT)


@approvals.command()
@click.argument("approval_id")
@click.argument("reference")
@click.argument("version")
@_seen
@click.option("--use-id", required=True, metavar="ID", help="Names the act: the same again is the same use.")
@_matching
@named
@printed
@changes
def use(
    client: Client, approval_id: str, reference: str, version: str, file: str | None, hash: str | None, out: Out,
    **said: Any,
) -> None:  # fmt: skip
    """Take the grant for one act. Exit code 0: act now."""
    out.one(client.approvals.use(approval_id, _artifact(reference, version, file, hash), **said))


@approvals.command()
@click.argument("approval_id")
@click.option("--for", "seconds", type=Measure(min=0), metavar="SECONDS",
              help="Only print it once it has its outcome; exit code 8 after this long.")  # fmt: skip
@printed
@asks
def watch(client: Client, approval_id: str, seconds: float | None, out: Out) -> None:
    """Print an approval whenever it changed. That ends when it has its outcome.

    Exit code 0 tells that it is approved, 1 that it is not.
    """
    _watched(client, approval_id, seconds, out)


def _watched(client: Client, id: str, seconds: float | None, out: Out) -> None:
    room = client.approvals
    for found in room.watch(id) if seconds is None else [room.wait(id, timeout_seconds=seconds)]:
        out.each(found, ("revision", "state", "expires_at", "title"))
        if found.ended and found.state != "approved":
            raise Said(f"Approval {id} is not approved: {found.state}.")


def _artifact(reference: str, version: str, file: str | None, hash: str | None) -> Artifact:
    from steadhold.sdk.approvals_shapes import Artifact

    in_context, _, digest = reference.partition("#sha256:")
    if file is None and hash is None and digest and in_context.startswith("context:"):
        hash = f"sha256:{digest}"
    if file is not None and hash is None:
        return Artifact.of(reference, version, Path(file).read_bytes())
    return Artifact(reference, version, _hash(file, hash))


def _hash(file: str | None, hash: str | None) -> str:
    """What was seen, as it is compared. Raises where that is not said in exactly one way."""
    from steadhold.sdk.approvals_shapes import Artifact

    if (file is None) == (hash is None):
        raise click.UsageError("Give what you have seen: --file or --hash, one of them.")
    return hash if hash is not None else Artifact.of("", "", Path(file or "").read_bytes()).hash
